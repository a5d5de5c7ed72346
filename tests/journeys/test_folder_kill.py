"""kill -9 of workers that import the files of a folder: each once, and in their order (I1, I3)."""

import os
import random
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.journeys.rows import ask
from tests.processes import Installation, wait_until
from tests.sizes import seed_of

FILES, KILLS = 24, 4
DONE = "select count(*) from properties_deliveredfile where state = 'DONE'"
TITLE = "select new from properties_change where path = 'title' order by id"
GONE = """
select object_reference_id from properties_change as change
join properties_property as home on home.id = real_estate_property_id
where origin = 'MISSING' order by change.id
"""


def as_csv(folder: Path, number: int) -> None:
    (folder / f"{number + 10}.csv").write_text(f"objectReferenceId,title\nR-1,title {number}\n")


def as_openimmo(folder: Path, number: int) -> None:
    """First the whole stock; then parts, each of which changes one title and deletes one object."""
    brought = {"R-1": number}
    if number == 0:
        brought |= {f"G-{n}": n for n in range(1, FILES)}
    gone = [f"G-{number}"] if number else []
    text = transmission(brought, gone, "TEIL" if number else "VOLL")
    if number % 2:
        with zipfile.ZipFile(folder / f"{number + 10}.zip", "w") as packed:
            packed.writestr("openimmo.xml", text)
            packed.writestr("front.jpg", b"\xff\xd8\xff")
    else:
        (folder / f"{number + 10}.xml").write_text(text)


def transmission(brought: dict[str, int], gone: list[str], scope: str) -> str:
    changed = "".join(
        f"<immobilie><freitexte><objekttitel>title {number}</objekttitel></freitexte>"
        f"<verwaltung_techn><objektnr_extern>{name}</objektnr_extern></verwaltung_techn>"
        "<verwaltung_objekt><vermietet>false</vermietet></verwaltung_objekt></immobilie>"
        for name, number in brought.items()
    )
    deleted = "".join(
        f'<immobilie><verwaltung_techn><objektnr_extern>{name}</objektnr_extern><aktion aktionart="'
        'DELETE"/></verwaltung_techn></immobilie>'
        for name in gone
    )
    return (
        f'<openimmo><uebertragung umfang="{scope}"/>'
        f"<anbieter>{changed}{deleted}</anbieter></openimmo>"
    )


@pytest.mark.rule("I1", "I3")
@pytest.mark.processes
@pytest.mark.parametrize(
    ("write", "properties", "gone"),
    [(as_csv, 1, 0), (as_openimmo, FILES, FILES - 1)],
    ids=["csv", "OpenImmo"],
)
def test_workers_that_are_killed_import_each_file_once_in_its_order(
    tmp_path: Path,
    database_url: str,
    write: Callable[[Path, int], None],
    properties: int,
    gone: int,
):
    served, rng = tmp_path / "served", random.Random(seed_of("folder"))
    served.mkdir()
    for number in range(FILES):
        write(served, number)
    for path in served.iterdir():
        os.utime(path, (time.time() - 3600,) * 2)
    installation = Installation(tmp_path / "data", database_url, SOURCE_FOLDERS=str(served))
    installation.folder.mkdir()
    try:
        installation.run("-m", "tests.journeys.folder", str(served))
        for kill in range(KILLS):
            installation.start_loop("one")
            installation.start_loop("other")
            before = done(database_url)
            if before == FILES:  # a quick machine had them all before the last kills
                break
            wait_until("one goes on", lambda: done(database_url) > before, limit=60)  # noqa: B023
            time.sleep(rng.random())
            installation.kill("one")
            time.sleep(rng.random() / 2)
            installation.kill("other")
            print(f"kill {kill}: {done(database_url)} of {FILES} done")
        installation.start_loop("last")
        wait_until("all are done", lambda: done(database_url) == FILES, limit=120)
    finally:
        installation.stop()
    names = ask(
        database_url, "select name, state from properties_import where name <> '' order by id"
    )
    assert [name.partition(".") for name, _ in names] == [
        p.name.partition(".") for p in sorted(served.iterdir())
    ]
    assert {state for _, state in names} == {"DONE"}
    assert len(ask(database_url, "select id from properties_property")) == properties
    titles = [str(value).strip('"') for (value,) in ask(database_url, TITLE)]
    assert titles == [f"title {number}" for number in range(1, FILES)]  # the first created it
    assert [name for (name,) in ask(database_url, GONE)] == [f"G-{n + 1}" for n in range(gone)]


def done(database_url: str) -> int:
    ((count,),) = ask(database_url, DONE)
    return int(count)

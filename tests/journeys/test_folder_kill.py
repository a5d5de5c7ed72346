"""kill -9 of workers that import the files of a folder: each once, and in their order (I1, I3)."""

import os
import random
import time
from pathlib import Path

import pytest

from tests.journeys.rows import ask
from tests.processes import Installation, wait_until
from tests.sizes import seed_of

FILES, KILLS = 24, 4
DONE = "select count(*) from properties_deliveredfile where state = 'DONE'"
TITLE = "select new from properties_change where path = 'title' order by id"


@pytest.mark.rule("I1", "I3")
@pytest.mark.processes
def test_workers_that_are_killed_import_each_file_once_in_its_order(
    tmp_path: Path, database_url: str
):
    served, rng = tmp_path / "served", random.Random(seed_of("folder"))
    served.mkdir()
    for number in range(FILES):
        path = served / f"{number + 10}.csv"
        path.write_text(f"objectReferenceId,title\nR-1,title {number}\n")
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
    assert names == [(f"{number + 10}.csv", "DONE") for number in range(FILES)]
    assert len(ask(database_url, "select id from properties_property")) == 1
    titles = [str(value).strip('"') for (value,) in ask(database_url, TITLE)]
    assert titles == [f"title {number}" for number in range(1, FILES)]  # the first created it


def done(database_url: str) -> int:
    ((count,),) = ask(database_url, DONE)
    return int(count)

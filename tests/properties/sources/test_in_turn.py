"""Files that a sender delivers one after the other: each is imported once, in their order."""

import io
import os
import unicodedata
import zipfile
from contextlib import nullcontext
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
import time_machine
from django.utils import timezone
from hypothesis import given, strategies as st

from crm_sync.expiry import clear
from crm_sync.hooks import Verdict
from crm_sync.work import leases
from properties.imports import upload
from properties.models import Change, DeliveredFile, Fetch, Import, Property, Sender, Source
from properties.plugged import doctor
from properties.plugged.retention import expired
from properties.sources import source_look
from properties.sources.delivered_files import KnownFiles, Skipped, skip
from properties.sources.fetch.transfer import FileVersion, Listed
from properties.sources.file_order import in_order, order
from tests.crm_sync.test_outside import certificate
from tests.hostile import HOSTILE
from tests.properties.sources.servers import ftp_server, sftp_server
from tests.properties.sources.test_fetch import put
from tests.properties.sources.test_worker import (  # noqa: F401 - fixtures
    NOON,
    clock,
    drain,
    fresh,
    here,
    history,
    left,
    source,
)
from tests.properties.test_full_feed_guard import TEN, as_openimmo
from tests.properties.uploaded import states

OLD = NOON.timestamp() - 86_400


@pytest.fixture
def folder(tmp_path) -> Path:
    place = tmp_path / "served"
    place.mkdir()
    return place


@pytest.fixture
def row(agency, folder, clock) -> Source:  # noqa: F811
    """Return a source whose first file a person has released before."""
    made = source(agency, f"{folder}/", delivery="IN_TURN", set_at=NOON)
    Import.objects.create(
        workspace=agency.workspace,
        sender=agency,
        source=made,
        name="before",
        state="DONE",
        uploaded_at=NOON,
        released_at=NOON,
        ended_at=NOON,
    )
    return made


def full(references=TEN) -> bytes:
    return as_openimmo(references).encode()


def part(brought=(), gone=()) -> bytes:
    return as_openimmo(brought, gone, "TEIL").encode()


def packed(content: bytes, name: str = "objects.xml") -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(name, content)
        archive.writestr("1.jpg", b"\xff\xd8")
    return made.getvalue()


def deliver(folder: Path, name: str, content: bytes, at: float = OLD) -> None:
    put(folder / name, content, at=at)


def work(row: Source, times: int = 20) -> list[str]:
    """Fetch and import until nothing more happens; return the outcome of each fetch."""
    Source.objects.filter(pk=row.pk).update(due_at=timezone.now())
    found: list[str] = []
    for _ in range(times):
        counts = drain("sources", row.workspace)
        drain("imports", row.workspace)
        if not counts:
            return found
        found += [str(name) for name, count in counts.items() for _ in range(count)]
    return found


def imported(row: Source) -> list[tuple[str, str]]:
    found = Import.objects.filter(source=row).exclude(name="before").order_by("pk")
    return list(found.values_list("name", "state"))


def known(row: Source) -> dict[str, str]:
    return dict(DeliveredFile.objects.filter(source=row).values_list("name", "state"))


# --- the way of the files ---
def test_the_first_file_waits_for_a_person_and_those_behind_it_wait_too(
    agency,
    admin_user,
    folder,
    clock,  # noqa: F811
):
    deliver(folder, "1-voll.xml", full())
    deliver(folder, "2-teil.xml", part(["R-NEW"]))
    row = source(agency, f"{folder}/", delivery="IN_TURN")
    assert work(row) == ["new"]
    assert work(row) == ["under way"]
    assert imported(row) == [("1-voll.xml", "PREVIEWED")]
    assert (known(row), fresh(row).files_waiting) == ({"1-voll.xml": "TAKEN"}, 1)
    upload.release(Import.objects.all(), actor=admin_user, now=timezone.now())
    drain("imports", row.workspace)
    assert work(row) == ["new", "unchanged"]
    assert imported(row) == [("1-voll.xml", "DONE"), ("2-teil.xml", "DONE")]
    assert set(known(row).values()) == {"DONE"}
    assert Property.objects.count() == 11


@pytest.mark.rule("I1")
@pytest.mark.parametrize("kind", ["folder", "sftp", "ftp"])
def test_each_file_is_imported_once_in_the_order_of_the_names(row, folder, kind):
    deliver(folder, "10-teil.xml", part(["R-2"], gone=["R-1"]))
    deliver(folder, "9-teil.xml", part(["R-1"], gone=["R-2"]))
    deliver(folder, "1-voll.zip", packed(full()))
    deliver(folder, "1.jpg", b"\xff\xd8")
    deliver(folder, "11-teil.xml.part", b"half")
    (folder / "done").mkdir()
    server = {"sftp": sftp_server, "ftp": ftp_server}.get(kind)
    names = ["1-voll.zip", "9-teil.xml", "10-teil.xml"]
    if server is None:
        assert work(row) == ["new", "new", "new", "unchanged"]
    else:
        with server(folder) as port:
            Source.objects.update(address=f"{kind}://127.0.0.1:{port}/")
            assert work(row) == ["new", "new", "new", "unchanged"]
            assert work(row) == ["unchanged"]
    assert imported(row) == [(name, "DONE") for name in names]
    assert known(row) == dict.fromkeys(names, "DONE")
    assert (states()["R-1"], states()["R-2"]) == ("PRIVATE", "ACTIVE")
    assert (fresh(row).files_waiting, left()) == (0, [])
    assert sorted(path.name for path in folder.iterdir())[0] == "1-voll.zip"  # all stay there


def test_a_backlog_of_many_files_needs_no_schedule_between_them(row, folder):
    for number in range(12):
        deliver(folder, f"{number}.csv", f"objectReferenceId,title\nR-1,t{number}\n".encode())
    assert work(row) == [*["new"] * 12, "unchanged"]
    assert [name for name, _ in imported(row)] == [f"{number}.csv" for number in range(12)]
    assert Property.objects.get().desired["title"] == "t11"


def test_a_file_that_is_replaced_is_imported_again_and_one_that_was_only_touched_is_not(
    row, folder
):
    deliver(folder, "a.xml", full())
    deliver(folder, "b.xml", part(["R-NEW"]))
    work(row)
    deliver(folder, "a.xml", full(), at=OLD + 5)
    assert work(row) == ["unchanged"]
    assert work(row) == ["unchanged"]
    deliver(folder, "a.xml", full([*TEN, "R-11"]), at=OLD + 9)
    assert work(row) == ["new", "unchanged"]
    assert [name for name, _ in imported(row)] == ["a.xml", "b.xml", "a.xml"]
    last = Fetch.objects.filter(source=row, outcome="IMPORT").last()
    assert last.text == "its name comes before b.xml, which is imported already"


def test_a_name_is_the_same_with_composed_and_decomposed_letters(row, folder):
    name = "Köln-1.xml"
    deliver(folder, name, full())
    work(row)
    (folder / name).unlink()
    deliver(folder, unicodedata.normalize("NFD", name), full())
    assert work(row) == ["unchanged"]
    assert imported(row) == [(name, "DONE")]
    # Both at once are two files.
    deliver(folder, name, full([*TEN, "R-11"]))
    assert work(row) == ["new", "new", "unchanged"]
    assert work(row) == ["unchanged"]


def test_a_name_that_is_no_utf_8_is_taken_too(row, folder):
    deliver(folder, os.fsdecode(b"K\xf6ln.xml"), full())
    assert work(row) == ["new", "unchanged"]
    assert imported(row) == [("Köln.xml", "DONE")]


@pytest.fixture(scope="module")  # before the clock of a test is set
def pem(tmp_path_factory) -> Path:
    """Return the certificate of a server."""
    return certificate(tmp_path_factory.mktemp("server"), "localhost")


@pytest.mark.parametrize("kind", ["folder", "sftp", "ftp", "ftps"])
def test_a_file_of_any_name_is_taken_once_and_known_by_that_name(pem, row, folder, kind, settings):
    names = [f"{text[:50]}.csv" for text in HOSTILE.values() if "/" not in text]
    if kind in ("ftp", "ftps"):  # whose lists of names have one on a line
        names = [one for one in names if not set(one) & set("\r\n")]
    for number, name in enumerate(names):
        line = f"objectReferenceId,title\nR-{number},t\n".encode()
        deliver(folder, name, line)
    settings.SOURCE_INTERNAL_HOSTS = ["localhost"]
    settings.CA_BUNDLE = str(pem)
    server = {
        "sftp": sftp_server,
        "ftp": ftp_server,
        "ftps": partial(ftp_server, certificate=pem),
    }.get(kind)
    with server(folder) if server else nullcontext() as port:
        if server:
            Source.objects.update(address=f"{kind}://localhost:{port}/")
        work(row, times=40)
        assert work(row) == ["unchanged"]
    assert known(row) == dict.fromkeys(names, "DONE")
    assert sorted(imported(row)) == sorted((name, "DONE") for name in names)
    assert Property.objects.count() == len(names)


IN_A_ZIP = {name: text for name, text in HOSTILE.items() if not text.startswith("../")}  # hidden


@pytest.mark.parametrize("text", IN_A_ZIP.values(), ids=IN_A_ZIP)
def test_a_feed_of_any_name_in_a_zip_is_read_and_what_is_beside_it_is_named(row, folder, text):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(f"{text}.xml", full())
        archive.writestr(f"{text}.jpg", b"\xff\xd8")
    deliver(folder, "1.zip", made.getvalue())
    assert work(row) == ["new", "unchanged"]
    assert imported(row) == [("1.zip", "DONE")]
    (fetch,) = Fetch.objects.filter(source=row, outcome="IMPORT")
    assert (fetch.beside, fetch.beside_count) == ([f"{text}.jpg"], 1)


# --- what waits, and what stops the order ---
def test_a_file_that_is_still_written_waits_and_none_overtakes_it(row, folder, clock):  # noqa: F811
    deliver(folder, "1.xml", full()[:-40], at=NOON.timestamp() - 30)
    deliver(folder, "2.xml", part(["R-NEW"]))
    assert work(row) == ["waits"]
    assert (imported(row), known(row)) == ([], {"1.xml": "WAITING"})
    assert fresh(row).due_at == NOON + timedelta(seconds=91)
    clock.move_to(fresh(row).due_at)
    deliver(folder, "1.xml", full()[:-20], at=NOON.timestamp() + 60)
    assert work(row) == ["waits"]
    deliver(folder, "1.xml", full(), at=NOON.timestamp() + 80)
    clock.move_to(NOON + timedelta(seconds=80 + 121))
    assert work(row) == ["new", "new", "unchanged"]
    assert imported(row) == [("1.xml", "DONE"), ("2.xml", "DONE")]


def test_what_is_imported_and_only_written_again_is_not_imported_while_it_is_fresh(
    row,
    folder,
    clock,  # noqa: F811
):
    """Else the older file would put back what the newer one has brought since."""
    deliver(folder, "1.xml", full())
    deliver(folder, "2.xml", full())
    assert work(row) == ["new", "new", "unchanged"]
    deliver(folder, "1.xml", full(), at=NOON.timestamp() - 30)
    assert work(row) == ["waits"]
    assert known(row) == {"1.xml": "DONE", "2.xml": "DONE"}
    clock.move_to(fresh(row).due_at)
    assert work(row) == ["unchanged"]
    assert imported(row) == [("1.xml", "DONE"), ("2.xml", "UNCHANGED")]


def stopped(row: Source, folder: Path) -> DeliveredFile:
    """Let a broken file stop the order before a good one."""
    deliver(folder, "1.xml", full())
    deliver(folder, "2.zip", packed(part(["R-1"]))[:-30])
    deliver(folder, "3.xml", part(["R-NEW"]))
    assert work(row) == ["new", "refused"]
    assert work(row) == ["stopped"]
    assert imported(row) == [("1.xml", "DONE")]
    found = DeliveredFile.objects.get(source=row, state="STOPPED")
    assert (found.name, found.problem) == (
        "2.zip",
        "the ZIP breaks off: it has no list of its files",
    )
    assert fresh(row).problem == (
        "the file 2.zip stops the order: the ZIP breaks off: it has no list of its files"
    )
    assert fresh(row).files_waiting == 2
    return found


def test_a_broken_file_stops_the_order_until_a_person_skips_it(row, folder):
    file = stopped(row, folder)
    assert skip(DeliveredFile.objects.filter(pk=file.pk), timezone.now()) == 1
    assert work(row) == ["new", "unchanged"]
    assert known(row) == {"1.xml": "DONE", "2.zip": "SKIPPED", "3.xml": "DONE"}
    assert (fresh(row).attempts, fresh(row).problem) == (0, "")
    assert skip(DeliveredFile.objects.all(), timezone.now()) == 0


def test_a_broken_file_stops_the_order_until_a_newer_one_of_its_name_comes(row, folder):
    stopped(row, folder)
    deliver(folder, "2.zip", packed(part(["R-1"])), at=OLD + 5)
    assert work(row) == ["new", "new", "unchanged"]
    assert set(known(row).values()) == {"DONE"}


def test_a_broken_file_that_is_removed_stops_nothing(row, folder):
    stopped(row, folder)
    (folder / "2.zip").unlink()
    assert work(row) == ["new", "unchanged"]
    assert [name for name, _ in imported(row)] == ["1.xml", "3.xml"]


def test_a_skipped_file_that_is_replaced_is_imported(row, folder):
    file = stopped(row, folder)
    skip(DeliveredFile.objects.filter(pk=file.pk), timezone.now())
    work(row)
    deliver(folder, "2.zip", packed(part(["R-1"])), at=OLD + 5)
    assert work(row) == ["new", "unchanged"]
    assert known(row)["2.zip"] == "DONE"


def test_a_full_feed_that_lacks_too_much_stops_the_order_until_a_person_insists(row, folder):
    deliver(folder, "1.xml", full())
    deliver(folder, "2.xml", full(TEN[:3]))
    deliver(folder, "3.xml", part(["R-NEW"]))
    assert work(row) == ["new", "new", "stopped"]
    assert imported(row) == [("1.xml", "DONE"), ("2.xml", "FAILED")]
    assert "it lacks 7 of the 10 properties" in fresh(row).problem
    Source.objects.filter(pk=row.pk).update(is_asked=True, insists=True)
    assert work(row) == ["new", "new", "unchanged"]
    assert imported(row)[2:] == [("2.xml", "DONE"), ("3.xml", "DONE")]


def test_an_import_that_a_person_cancels_stops_the_order(row, folder):
    deliver(folder, "1.xml", full())
    deliver(folder, "2.xml", part(["R-NEW"]))
    drain("sources", row.workspace)
    upload.cancel(Import.objects.filter(source=row), now=timezone.now())
    drain("imports", row.workspace)
    assert work(row) == ["stopped"]
    assert fresh(row).problem == "the file 1.xml stops the order: its import was cancelled"
    Source.objects.filter(pk=row.pk).update(is_asked=True)
    assert work(row) == ["new", "new", "unchanged"]


def test_a_file_that_is_too_large_stops_the_order_and_a_server_that_is_away_does_not(
    row, folder, settings
):
    settings.SOURCE_FILE_LIMIT = 100
    deliver(folder, "1.xml", full())
    assert work(row) == ["refused"]
    assert known(row) == {"1.xml": "STOPPED"}
    Source.objects.update(address=f"{folder}/away/")
    assert work(row) == ["refused"]
    assert known(row) == {"1.xml": "STOPPED"}
    assert history(row) == ["REFUSED", "REFUSED"]


def test_a_file_that_a_person_skips_while_it_is_fetched_is_not_imported(row, folder):
    file = stopped(row, folder)
    one = Listed("2.zip", FileVersion(modified="1", size=2))
    files = KnownFiles(row, {"2.zip": one})
    skip(DeliveredFile.objects.filter(pk=file.pk), timezone.now())
    with pytest.raises(Skipped):
        files.write("2.zip", timezone.now(), state="TAKEN")
    assert known(row)["2.zip"] == "SKIPPED"


# --- without a schedule ---
@pytest.fixture
def off(row) -> Source:
    Source.objects.update(is_enabled=False, due_at=None)
    return fresh(row)


def press(row: Source) -> list[str]:
    """Press *Fetch now*; return the outcome of each fetch that follows without another press."""
    Source.objects.filter(pk=row.pk).update(is_asked=True, due_at=timezone.now())
    found: list[str] = []
    while counts := drain("sources", row.workspace):
        found += [str(name) for name, count in counts.items() for _ in range(count)]
        drain("imports", row.workspace)
    return found


def test_one_press_takes_all_files_of_a_source_without_a_schedule(off, folder):
    for number in range(12):
        deliver(folder, f"{number}.csv", f"objectReferenceId,title\nR-1,t{number}\n".encode())
    assert press(off) == [*["new"] * 12, "unchanged"]
    assert set(known(off).values()) == {"DONE"}
    assert (fresh(off).due_at, fresh(off).fetches, fresh(off).files_waiting) == (None, False, 0)
    deliver(folder, "12.csv", b"objectReferenceId,title\nR-1,t12\n")
    assert drain("sources", off.workspace) == {}  # nobody asks
    assert press(off) == ["new", "unchanged"]


def test_one_press_goes_as_far_as_the_order_allows_and_tries_a_file_that_fails_once(off, folder):
    deliver(folder, "1.xml", full())
    deliver(folder, "2.xml", full(TEN[:3]))  # lacks too much
    deliver(folder, "3.zip", packed(part(["R-1"]))[:-30])
    deliver(folder, "4.xml", part(["R-NEW"]))
    assert press(off) == ["new", "new", "stopped"]
    assert (fresh(off).due_at, fresh(off).fetches) == (None, False)
    assert press(off) == ["new", "stopped"]  # once more, as the press wants it
    skip(DeliveredFile.objects.filter(name="2.xml"), timezone.now())
    assert drain("sources", off.workspace) == {}
    assert press(off) == ["refused"]
    assert (fresh(off).due_at, fresh(off).fetches) == (None, False)
    assert known(off) == {"1.xml": "DONE", "2.xml": "SKIPPED", "3.zip": "STOPPED"}


def test_a_press_goes_on_if_a_worker_died_after_the_end_of_an_import(off, folder):
    deliver(folder, "1.xml", full())
    deliver(folder, "2.xml", part(["R-NEW"]))
    Source.objects.update(is_asked=True, due_at=NOON)
    drain("sources", off.workspace)
    later = NOON + timedelta(hours=1)
    assert fresh(off).due_at == later
    drain("imports", off.workspace)
    Source.objects.update(due_at=later)  # as if the end had not made it due
    with time_machine.travel(later, tick=False):
        assert drain("sources", off.workspace) == {"new": 1}
    assert known(off) == {"1.xml": "DONE", "2.xml": "TAKEN"}


def test_a_source_that_is_switched_off_while_it_imports_takes_no_other_file(row, folder):
    deliver(folder, "1.xml", full())
    deliver(folder, "2.xml", part(["R-NEW"]))
    assert drain("sources", row.workspace) == {"new": 1}
    Source.objects.update(is_enabled=False, due_at=None)
    drain("imports", row.workspace)
    assert drain("sources", row.workspace) == {}
    assert imported(row) == [("1.xml", "DONE")]


def test_a_press_that_waits_for_a_person_goes_on_when_they_release_the_file(
    off, folder, admin_user
):
    Import.objects.all().delete()
    deliver(folder, "1.xml", full())
    deliver(folder, "2.xml", part(["R-NEW"]))
    assert press(off) == ["new"]
    upload.release(Import.objects.all(), actor=admin_user, now=timezone.now())
    drain("imports", off.workspace)
    assert drain("sources", off.workspace) == {"new": 1}
    drain("imports", off.workspace)
    assert drain("sources", off.workspace) == {"unchanged": 1}
    assert imported(off) == [("1.xml", "DONE"), ("2.xml", "DONE")]


# --- workers that die ---
def test_a_file_whose_memory_is_lost_is_imported_again_without_effect(row, folder):
    deliver(folder, "1.xml", full())
    deliver(folder, "2.xml", part(["R-1"], gone=["R-2"]))
    work(row)
    before = states(), Change.objects.count()
    DeliveredFile.objects.filter(name="2.xml").delete()
    assert work(row) == ["new", "unchanged"]
    assert [name for name, _ in imported(row)] == ["1.xml", "2.xml", "2.xml"]
    assert (states(), Change.objects.count()) == before


def test_an_import_that_was_removed_is_done_again_before_the_next_file(row, folder):
    deliver(folder, "1.xml", full())
    deliver(folder, "2.xml", part(["R-1"], gone=["R-2"]))
    drain("sources", row.workspace)
    Import.objects.filter(name="1.xml").delete()
    assert work(row) == ["new", "new", "unchanged"]
    assert imported(row) == [("1.xml", "DONE"), ("2.xml", "DONE")]


@pytest.mark.rule("I3")
def test_a_worker_that_has_lost_the_source_writes_neither_import_nor_memory(row, folder):
    deliver(folder, "1.xml", full())
    claim = leases.claim(Source.objects.all(), now=NOON)
    Source.objects.update(lease_token=None, lease_until=None, due_at=NOON)
    with pytest.raises(leases.LeaseLost):
        source_look.work([claim], None)
    assert (imported(row), known(row), history(row)) == ([], {}, [])
    assert work(row) == ["new", "unchanged"]
    assert imported(row) == [("1.xml", "DONE")]


def test_the_schedule_goes_on_if_a_worker_died_after_the_end_of_an_import(row, folder):
    deliver(folder, "1.xml", full())
    deliver(folder, "2.xml", part(["R-NEW"]))
    drain("sources", row.workspace)
    drain("imports", row.workspace)
    Source.objects.update(due_at=NOON + timedelta(hours=1))  # as if the end had not made it due
    with time_machine.travel(NOON + timedelta(hours=1), tick=False):
        assert drain("sources", row.workspace) == {"new": 1}
    assert known(row) == {"1.xml": "DONE", "2.xml": "TAKEN"}


# --- how long files are remembered ---
def test_a_file_is_forgotten_a_year_after_it_left_the_folder_and_never_before(row, folder, clock):  # noqa: F811
    deliver(folder, "1.xml", full())
    deliver(folder, "2.xml", part(["R-NEW"]))
    work(row)
    (folder / "1.xml").unlink()
    work(row)
    clock.shift(timedelta(days=300))
    assert clear({"files": expired(timezone.now())["delivered files"]}, budget=5) == {}
    clock.shift(timedelta(days=66))
    assert clear({"files": expired(timezone.now())["delivered files"]}, budget=5) == {"files": 1}
    assert known(row) == {"2.xml": "DONE"}


def test_a_file_that_comes_back_is_remembered(row, folder):
    deliver(folder, "1.xml", full())
    work(row)
    (folder / "1.xml").unlink()
    work(row)
    assert DeliveredFile.objects.get().gone_at == NOON
    deliver(folder, "1.xml", full())
    assert work(row) == ["unchanged"]
    assert DeliveredFile.objects.get().gone_at is None


# --- the order ---
NAMES = st.lists(st.text("aäÄ019-.é", max_size=6).map(lambda text: f"{text}.xml"), max_size=8)


@given(NAMES)
def test_the_order_of_names_is_one_and_the_same_however_a_server_lists_them(names):
    files = [Listed(name, FileVersion(size=1)) for name in names]
    found = list(in_order(files))
    assert list(in_order(reversed(files))) == found
    assert found == sorted(found, key=order)
    hidden = {name for name in names if name.startswith(".")}
    assert set(found) == set(names) - hidden


@pytest.mark.rule("S13")
def test_a_name_that_leads_out_of_the_folder_is_none_of_its_files():
    names = ["../a.xml", "/etc/a.xml", "b/a.xml", ".a.xml", "a.xml.part", "a.jpg", "x" * 501]
    assert in_order(Listed(name, FileVersion(size=1)) for name in names) == {}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("stock-9.xml", "stock-10.xml"),
        ("2026-01-31_0900.xml", "2026-02-01_0800.xml"),
        ("a.xml", "b.xml"),
        ("01.xml", "1.xml"),
        ("1-2.zip", "1-10.csv"),
    ],
)
def test_numbers_in_names_count_as_numbers(first, second):
    assert min(first, second, key=order) == first


def test_the_doctor_names_the_file_that_stops_those_behind_it(main):
    sender = Sender.objects.create(workspace=main, name="Office")
    source = Source.objects.create(
        workspace=main, sender=sender, address="/in/", delivery="IN_TURN", due_at=timezone.now()
    )
    known = {"source": source, "problem": "no XML"}
    DeliveredFile.objects.create(**known, name="1.xml", state="SKIPPED")
    assert list(doctor._stopped_sources(main.pk)) == []
    DeliveredFile.objects.create(**known, name="2.xml", state="STOPPED")
    (found,) = doctor._stopped_sources(main.pk)
    assert (found.verdict, found.found) == (
        Verdict.FAILED,
        "2.xml of Office stops the files behind it: no XML",
    )

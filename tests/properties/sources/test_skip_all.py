"""A person skips all files that lie in a folder: those are never imported, and later ones are."""

from contextlib import ExitStack
from datetime import timedelta

import pytest
from django.utils import timezone

from crm_sync.work import leases
from properties.imports import upload
from properties.models import DeliveredFile, Fetch, Import, Source
from properties.sources import source_look
from properties.sources.delivered_files import skip_all
from tests.properties.sources.servers import ftp_server, sftp_server
from tests.properties.sources.test_in_turn import (  # noqa: F401 - fixtures
    deliver,
    folder,
    full,
    imported,
    known,
    part,
    row,
    stopped,
    work,
)
from tests.properties.sources.test_worker import (  # noqa: F401 - fixtures
    NOON,
    clock,
    drain,
    fresh,
    here,
    source,
)

SERVERS = {"sftp": sftp_server, "ftp": ftp_server}
MANY = 1_200  # more than one statement writes


def skip(row: Source) -> None:  # noqa: F811
    assert skip_all(Source.objects.filter(pk=row.pk), timezone.now()) == 1


def told(row: Source) -> list[str]:  # noqa: F811
    return [str(one.text) for one in Fetch.objects.filter(source=row).order_by("pk") if one.text]


def test_many_old_files_are_skipped_at_once_and_later_ones_are_imported(row, folder, clock):  # noqa: F811
    for number in range(MANY):
        deliver(folder, f"Büro-{number}.csv", b"objectReferenceId,title\nR-1,old\n")
    skip(row)
    assert work(row) == ["unchanged"]
    assert (imported(row), set(known(row).values())) == ([], {"SKIPPED"})
    assert len(known(row)) == MANY
    assert (fresh(row).files_waiting, fresh(row).skips_before) == (0, None)
    assert told(row) == ["1,200 files that were there are skipped"]
    deliver(folder, "Büro-2000.xml", full(), at=NOON.timestamp() + 1)
    clock.move_to(NOON + timedelta(minutes=5))
    assert work(row) == ["new", "unchanged"]
    assert imported(row) == [("Büro-2000.xml", "DONE")]


@pytest.mark.parametrize("kind", ["folder", *SERVERS])
def test_a_file_that_came_after_the_press_is_imported_and_so_is_a_new_one_of_an_old_name(
    row,  # noqa: F811
    folder,  # noqa: F811
    clock,  # noqa: F811
    kind,
):
    deliver(folder, "1.xml", full())
    deliver(folder, "2.xml", part(["R-NEW"]))
    skip(row)
    deliver(folder, "3.xml", full(), at=NOON.timestamp() + 1)  # before a worker comes to it
    clock.move_to(NOON + timedelta(minutes=5))
    with ExitStack() as open_servers:
        if kind != "folder":
            port = open_servers.enter_context(SERVERS[kind](folder))
            Source.objects.update(address=f"{kind}://127.0.0.1:{port}/")
        assert work(row) == ["new", "unchanged"]
        assert known(row) == {"1.xml": "SKIPPED", "2.xml": "SKIPPED", "3.xml": "DONE"}
        deliver(folder, "2.xml", part(["R-OTHER"]), at=NOON.timestamp() + 2)
        assert work(row) == ["new", "unchanged"]
    assert imported(row) == [("3.xml", "DONE"), ("2.xml", "DONE")]


def test_the_first_file_that_waits_for_a_person_is_cancelled_and_skipped_with_the_others(
    agency,
    folder,  # noqa: F811
    clock,  # noqa: F811
):
    deliver(folder, "1.xml", full())
    deliver(folder, "2.xml", part(["R-NEW"]))
    row = source(agency, f"{folder}/", delivery="IN_TURN")  # noqa: F811
    assert work(row) == ["new"]
    assert imported(row) == [("1.xml", "PREVIEWED")]
    skip(row)
    assert work(row) == ["unchanged"]
    assert imported(row) == [("1.xml", "CANCELLED")]
    assert known(row) == {"1.xml": "SKIPPED", "2.xml": "SKIPPED"}
    assert (fresh(row).problem, fresh(row).attempts) == ("", 0)
    deliver(folder, "3.xml", full(), at=NOON.timestamp() + 1)
    clock.move_to(NOON + timedelta(minutes=5))
    assert work(row) == ["new"]
    assert imported(row)[1:] == [("3.xml", "PREVIEWED")]  # still the first that a person sees


def test_a_file_that_stops_the_order_is_skipped_with_those_behind_it(row, folder):  # noqa: F811
    stopped(row, folder)
    skip(row)
    assert work(row) == ["unchanged"]
    assert known(row) == {"1.xml": "DONE", "2.zip": "SKIPPED", "3.xml": "SKIPPED"}
    assert (fresh(row).problem, fresh(row).attempts) == ("", 0)
    assert told(row)[-1] == "2 files that were there are skipped"


def test_an_import_that_is_under_way_ends_before_the_others_are_skipped(row, folder):  # noqa: F811
    deliver(folder, "1.xml", full())
    deliver(folder, "2.xml", part(["R-NEW"]))
    assert drain("sources", row.workspace) == {"new": 1}
    skip(row)
    assert drain("sources", row.workspace) == {"under way": 1}
    assert work(row) == ["under way", "unchanged"]
    assert imported(row) == [("1.xml", "DONE")]
    assert known(row) == {"1.xml": "DONE", "2.xml": "SKIPPED"}


def test_a_source_without_a_schedule_skips_and_fetches_nothing(row, folder, clock):  # noqa: F811
    Source.objects.update(is_enabled=False, due_at=None)
    deliver(folder, "1.xml", full())
    skip(row)
    deliver(folder, "2.xml", part(["R-NEW"]), at=NOON.timestamp() + 1)
    clock.move_to(NOON + timedelta(minutes=5))
    assert drain("sources", row.workspace) == {"unchanged": 1}
    assert (imported(row), known(row)) == ([], {"1.xml": "SKIPPED"})
    assert (fresh(row).files_waiting, fresh(row).due_at) == (1, None)


def test_a_server_that_is_away_is_asked_again_until_the_files_are_skipped(row, folder):  # noqa: F811
    deliver(folder, "1.xml", full())
    Source.objects.update(address="sftp://127.0.0.1:1/")
    skip(row)
    assert work(row, times=1) == ["did not come"]
    assert fresh(row).skips_before == NOON
    Source.objects.update(address=f"{folder}/")
    assert work(row) == ["unchanged"]
    assert known(row) == {"1.xml": "SKIPPED"}


@pytest.mark.rule("I3")
def test_a_worker_that_has_lost_the_source_or_a_second_press_skips_nothing(row, folder, clock):  # noqa: F811
    deliver(folder, "1.xml", full())
    skip(row)
    claim = leases.claim(Source.objects.all(), now=NOON)
    clock.move_to(NOON + timedelta(seconds=1))
    skip(row)  # while a worker is at it
    with pytest.raises(leases.LeaseLost):
        source_look.work([claim], None)
    assert (known(row), told(row)) == ({}, [])
    Source.objects.update(lease_token=None, lease_until=None)
    with pytest.raises(leases.LeaseLost):
        source_look.work([claim], None)
    assert (known(row), told(row)) == ({}, [])
    assert work(row) == ["unchanged"]
    assert known(row) == {"1.xml": "SKIPPED"}


def test_a_person_who_has_released_the_first_file_before_loses_nothing_of_it(
    agency,
    folder,  # noqa: F811
    admin_user,
    clock,  # noqa: F811
):
    deliver(folder, "1.xml", full())
    deliver(folder, "2.xml", part(["R-NEW"]))
    row = source(agency, f"{folder}/", delivery="IN_TURN")  # noqa: F811
    work(row)
    upload.release(Import.objects.all(), actor=admin_user, now=timezone.now())
    skip(row)
    work(row)
    assert imported(row) == [("1.xml", "DONE")]
    assert set(DeliveredFile.objects.values_list("name", "state")) == {
        ("1.xml", "DONE"),
        ("2.xml", "SKIPPED"),
    }

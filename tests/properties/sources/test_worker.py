"""A source on its schedule, against real servers: what is new is imported once, and all is told."""

import io
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

import pytest
import time_machine
from django.conf import settings as django_settings
from django.core import mail
from django.db import connection
from django.utils import timezone

from crm_sync import hooks
from crm_sync.models import Workspace
from crm_sync.work import leases, queues, turn
from properties.imports import upload
from properties.models import Fetch, Import, Property, Sender, Source
from properties.sources import source_look
from tests.crm_sync.admin_pages import client_of
from tests.crm_sync.sockets import free_port
from tests.journeys.mail_server import mail_server
from tests.properties.sources.servers import (
    PASSWORD,
    USER,
    ftp_server,
    greeting,
    host_keys,
    sftp_server,
)
from tests.properties.sources.test_fetch import put
from tests.properties.test_full_feed_guard import TEN, as_idx

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
Outcome = Fetch.Outcome


@pytest.fixture
def clock() -> Iterator[time_machine.Traveller]:
    with time_machine.travel(NOON, tick=False) as traveller:
        yield traveller


@pytest.fixture(autouse=True)
def here(settings, tmp_path) -> None:
    settings.DATA_DIR = tmp_path / "data"
    settings.SOURCE_INTERNAL_HOSTS = ["127.0.0.1"]
    settings.SOURCE_FOLDERS = [str(tmp_path)]
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"


@pytest.fixture
def agency(main) -> Sender:
    return Sender.objects.create(workspace=main, name="Agency")


@pytest.fixture
def folder(tmp_path) -> Path:
    place = tmp_path / "served"
    serve(place, TEN)
    return place


def serve(folder: Path, references: list[str]) -> None:
    """Put a feed there as IDX is delivered, in a ZIP."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data/unload.txt", as_idx(references).encode("latin-1"))
        archive.writestr("images/1.jpg", b"\xff\xd8")
    put(folder / "out.zip", made.getvalue(), at=len(references) * 1000.0)


def source(agency: Sender, address: str, **columns) -> Source:
    whole = {"user": USER, "secret": PASSWORD, "due_at": timezone.now()} | columns
    return Source.objects.create(
        workspace=agency.workspace, sender=agency, address=address, **whole
    )


def drain(queue: str, workspace: Workspace) -> dict[str, int]:
    return turn.take(hooks.queue(queue), workspace.pk, seconds=20.0).counts


def look(row: Source, clock: time_machine.Traveller | None = None) -> str:
    """Do what a worker does when the source is due; returns what came of it."""
    Source.objects.filter(pk=row.pk).update(due_at=timezone.now())
    (outcome,) = drain("sources", row.workspace)
    drain("imports", row.workspace)
    if clock is not None:
        clock.shift(timedelta(minutes=60))
    return outcome


def release(row: Source, user) -> None:
    waiting = Import.objects.filter(source=row)
    upload.release(waiting, actor=user, now=timezone.now())
    drain("imports", row.workspace)


def fresh(row: Source) -> Source:
    return Source.objects.get(pk=row.pk)


def history(row: Source) -> list[str]:
    found = Fetch.objects.filter(source=row).order_by("pk")
    return list(found.values_list("outcome", flat=True))


def states(row: Source) -> list[str]:
    return list(Import.objects.filter(source=row).order_by("pk").values_list("state", flat=True))


def left() -> list[str]:
    return [path.name for path in (Path(django_settings.DATA_DIR) / "sources").glob("*")]


# --- the way of a feed ---
@pytest.mark.parametrize(("server", "scheme"), [(ftp_server, "ftp"), (sftp_server, "sftp")])
def test_the_first_feed_waits_for_a_person_and_later_ones_are_imported_by_themselves(
    agency, admin_user, folder, clock, server, scheme
):
    with server(folder) as port:
        row = source(agency, f"{scheme}://127.0.0.1:{port}/out.zip")
        assert look(row, clock) == "new"
        assert (states(row), Property.objects.count()) == (["PREVIEWED"], 0)
        release(row, admin_user)
        assert (states(row), Property.objects.count()) == (["DONE"], 10)
        assert [look(row, clock) for _ in range(2)] == ["unchanged", "unchanged"]
        serve(folder, [*TEN, "NEW"])
        assert look(row, clock) == "new"
        assert (states(row), Property.objects.count()) == (["DONE", "DONE"], 11)
    assert history(row) == ["IMPORT", "UNCHANGED", "UNCHANGED", "IMPORT"]
    first = Fetch.objects.filter(source=row).first()
    assert (first.name, first.beside, first.imported.name) == (
        "out.zip",
        ["images/1.jpg"],
        "unload.txt",
    )
    assert (first.imported.uploaded_by, first.imported.sender) == (None, agency)
    assert set(Property.objects.values_list("fed_by", flat=True)) == {agency.feed_key}
    assert left() == []


def test_a_file_without_a_date_is_told_by_its_digest(agency, admin_user, folder, clock):
    # So new that it may change again unseen, and old enough to be whole.
    put(folder / "out.zip", (folder / "out.zip").read_bytes(), at=NOON.timestamp() - 90)
    row = source(agency, str(folder / "out.zip"))
    with time_machine.travel(NOON, tick=False):
        assert look(row) == "new"
        release(row, admin_user)
        assert look(row) == "unchanged"
    assert fresh(row).modified == ""
    assert Fetch.objects.filter(source=row).last().size > 0


def test_a_feed_that_shrinks_is_not_imported_and_told_once(agency, admin_user, folder, clock):
    row = source(agency, str(folder / "out.zip"))
    look(row, clock)
    release(row, admin_user)
    serve(folder, TEN[:3])
    assert [look(row, clock), look(row, clock)] == ["new", "unchanged"]
    last = Import.objects.filter(source=row).last()
    assert (last.state, Property.objects.filter(fed_by__isnull=False).count()) == ("FAILED", 10)
    assert "it lacks 7 of the 10 properties that the last feed held" in last.problem
    Source.objects.filter(pk=row.pk).update(is_asked=True, insists=True)
    assert look(row, clock) == "new"
    assert states(row)[-1] == "DONE"
    assert (fresh(row).is_asked, fresh(row).insists) == (False, False)


def test_a_newer_file_takes_the_place_of_one_that_still_waits(agency, admin_user, folder, clock):
    row = source(agency, str(folder / "out.zip"))
    look(row, clock)
    serve(folder, TEN[:9])
    look(row, clock)
    assert states(row) == ["CANCELLED", "PREVIEWED"]
    release(row, admin_user)
    assert Property.objects.count() == 9


def test_another_profile_reads_the_same_file_anew(agency, admin_user, folder, clock):
    row = source(agency, str(folder / "out.zip"))
    look(row, clock)
    release(row, admin_user)
    Sender.objects.filter(pk=agency.pk).update(language="fr")
    assert look(row, clock) == "new"
    assert states(row) == ["DONE", "DONE"]


def test_whoever_asks_gets_a_file_again_that_was_not_taken(agency, admin_user, folder, clock):
    row = source(agency, str(folder / "out.zip"))
    look(row, clock)
    upload.cancel(Import.objects.all(), now=timezone.now())
    assert look(row, clock) == "unchanged"
    Source.objects.filter(pk=row.pk).update(is_asked=True)
    assert look(row, clock) == "new"
    release(row, admin_user)
    Source.objects.filter(pk=row.pk).update(is_asked=True)
    assert look(row, clock) == "unchanged"


def test_what_is_no_feed_ends_in_words(agency, folder, clock):
    put(folder / "out.zip", b"<html>Wartung</html>")
    row = source(agency, str(folder / "out.zip"))
    assert look(row, clock) == "new"
    (failed,) = Import.objects.filter(source=row)
    assert (failed.state, failed.problem[:9]) == ("FAILED", "out.zip: ")


# --- what can go wrong ---
def bomb() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data/unload.txt", bytes(20 * 1024**2))
    return made.getvalue()


def escape() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("../data/unload.txt", as_idx(TEN))
    return made.getvalue()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda row, folder: setattr(row, "secret", "wrong"), "does not accept the user"),
        (lambda row, folder: setattr(row, "host_key", key_of(1)), "shows another key than before"),
        (lambda row, folder: (folder / "out.zip").unlink(), "nothing is at this address"),
        (
            lambda row, folder: put(folder / "out.zip", bytes(2 * 1024**2)),
            "larger than 1,048,576 bytes",
        ),
        (lambda row, folder: put(folder / "out.zip", bomb()), "larger than 1.0"),
        (lambda row, folder: put(folder / "out.zip", escape()), "leads out of it"),
        (
            lambda row, folder: setattr(row, "address", "ftp://a b:x/"),
            "the address is not an address",
        ),
    ],
)
def test_each_refusal_is_told_in_words_and_leaves_nothing(
    agency, folder, settings, clock, change, told
):
    settings.SOURCE_FILE_LIMIT = 1024**2
    with sftp_server(folder) as port:
        row = source(agency, f"sftp://127.0.0.1:{port}/out.zip", mail_to="a@b.test")
        change(row, folder)
        row.save()
        assert look(row) == "refused"
    seen = Fetch.objects.get(source=row)
    assert (seen.outcome, told in seen.text, fresh(row).problem) == ("REFUSED", True, seen.text)
    assert fresh(row).due_at == NOON + timedelta(minutes=60)
    assert (left(), Import.objects.count()) == ([], 0)
    assert PASSWORD not in seen.text


def key_of(number: int) -> str:
    key = host_keys()[number]
    return f"{key.get_name()} {key.get_base64()}"


def test_the_key_of_a_host_is_pinned_by_the_first_file(agency, folder, clock):
    with sftp_server(folder) as port:
        row = source(agency, f"sftp://127.0.0.1:{port}/out.zip")
        look(row)
    assert fresh(row).host_key == key_of(0)


@pytest.mark.parametrize("server", [ftp_server, sftp_server])
def test_a_server_that_breaks_off_leaves_nothing_half_and_is_asked_again_soon(
    agency, folder, clock, server
):
    put(folder / "out.zip", b"IDX3.01" + bytes(300_000))
    with server(folder, cut_after=100_000) as port:
        scheme = server.__name__.partition("_")[0]
        row = source(agency, f"{scheme}://127.0.0.1:{port}/out.zip")
        assert look(row) == "did not come"
    row = fresh(row)
    assert (row.attempts, "failed" in row.problem) == (1, True)
    assert NOON + timedelta(minutes=1) <= row.due_at <= NOON + timedelta(minutes=60)
    assert (left(), Import.objects.count(), history(row)) == ([], 0, ["FAILED"])


def test_a_file_that_may_still_be_uploaded_waits_for_its_end(agency, admin_user, folder, clock):
    row = source(agency, f"{folder}/out.zip", every_minutes=60)
    content = (folder / "out.zip").read_bytes()
    put(folder / "out.zip", content[:-40], at=NOON.timestamp() - 10)
    assert look(row) == "waits"
    assert (history(row), states(row), left()) == (["WAITS"], [], [])
    assert fresh(row).due_at - NOON <= timedelta(minutes=2)
    assert fresh(row).problem == (
        "the file out.zip was changed 10 seconds ago: it may still be uploaded, so it is taken"
        " later"
    )
    clock.shift(timedelta(minutes=2))
    put(folder / "out.zip", content, at=NOON.timestamp() + 20)
    assert look(row) == "new"
    assert (states(row), fresh(row).problem) == (["PREVIEWED"], "")


def test_a_fetch_that_takes_too_long_is_ended(agency, folder, settings):
    settings.SOURCE_DEADLINE = 0.0
    row = source(agency, str(folder / "out.zip"))
    assert look(row) == "did not come"
    assert fresh(row).problem == "not all of it came within 0 seconds"


def test_a_server_that_goes_on_without_an_end_is_left_and_the_history_says_so(agency, settings):
    settings.SOURCE_DEADLINE = 0.5
    with greeting([b"220-hello\r\n"] * 20, pause=0.2) as port:
        row = source(agency, f"ftp://127.0.0.1:{port}/out.zip")
        assert look(row) == "did not come"
    seen = Fetch.objects.get(source=row)
    assert (seen.outcome, seen.text) == ("FAILED", "not all of it came in time")
    assert (seen.seconds < 2.0, fresh(row).problem) == (True, seen.text)


def test_a_worker_that_ends_gives_the_source_back_as_it_was(agency, folder, clock):
    row = source(agency, str(folder / "out.zip"))
    queues.ending.set()
    try:
        assert turn.take(hooks.queue("sources"), agency.workspace_id, seconds=20.0).counts == {}
    finally:
        queues.ending.clear()
    assert (fresh(row).due_at, fresh(row).lease_token, history(row)) == (NOON, None, [])


def test_a_worker_that_has_lost_the_source_writes_nothing(agency, folder, clock):
    row = source(agency, str(folder / "out.zip"))
    claim = leases.claim(Source.objects.all(), now=NOON)
    Source.objects.update(lease_token=None, lease_until=None, due_at=NOON)
    with pytest.raises(leases.LeaseLost):
        source_look.work([claim], None)
    assert (history(row), Import.objects.count(), fresh(row).digest) == ([], 0, "")
    assert left() == []
    assert list((Path(django_settings.DATA_DIR) / "imports").glob("*")) == []


def test_what_a_dead_worker_left_goes_with_the_next_look(agency, folder, clock):
    row = source(agency, str(folder / "out.zip"))
    place = Path(django_settings.DATA_DIR) / "sources"
    put(place / f"{row.pk}-dead.packed", b"half")
    put(place / f"{row.pk}1-other.packed", b"of another source")
    look(row)
    assert left() == [f"{row.pk}1-other.packed"]


def test_a_secret_that_cannot_be_read_is_the_problem_of_its_source_alone(agency, folder, clock):
    broken = source(agency, str(folder / "out.zip"))
    with_raw_secret(broken, "no token of ours")
    other = source(agency, str(folder / "out.zip"))
    assert drain("sources", agency.workspace) == {"refused": 1, "new": 1}
    problem = Source.objects.defer("secret").get(pk=broken.pk).problem
    assert "cannot be decrypted" in problem
    assert history(other) == ["IMPORT"]


def with_raw_secret(row: Source, text: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE properties_source SET secret = %s WHERE id = %s", [text, row.pk])


# --- the schedule ---
def test_a_schedule_that_was_due_while_no_worker_ran_is_made_up_for_once(agency, folder, clock):
    row = source(agency, str(folder / "out.zip"), due_at=NOON - timedelta(days=3))
    assert drain("sources", agency.workspace) == {"new": 1}
    assert drain("sources", agency.workspace) == {}
    assert fresh(row).due_at == NOON + timedelta(minutes=60)


def test_once_a_day_is_by_the_clock_of_the_installation(agency, folder, clock):
    row = source(agency, str(folder / "out.zip"), every_minutes=None, daily_at=time(5, 30))
    look(row)
    assert fresh(row).due_at == datetime(2026, 3, 2, 5, 30, tzinfo=UTC)


def test_a_source_that_is_switched_off_is_fetched_only_when_somebody_asks(agency, folder, clock):
    row = source(agency, str(folder / "out.zip"), is_enabled=False)
    assert look(row) == "off"
    assert fresh(row).due_at is None
    Source.objects.update(is_asked=True)
    assert look(row) == "new"
    assert fresh(row).due_at is None


# --- mail, and alarms ---
def mails(agency: Sender) -> list[tuple[str, str]]:
    """Send what is due; return subjects and bodies."""
    del mail.outbox[:]
    drain("source_mails", agency.workspace)
    return [(one.subject, one.body) for one in mail.outbox]


def test_each_import_is_told_by_mail_once_with_its_report(agency, admin_user, folder, clock):
    row = source(agency, str(folder / "out.zip"), mail_to="a@agency.test\nb@agency.test")
    look(row, clock)
    (subject, body), same = mails(agency)
    assert (subject, same) == ("Feed of Agency: waits for you", (subject, body))
    assert "nothing was imported yet" in body
    assert "     10 new" in body
    assert f"/admin/properties/import/{Import.objects.get().pk}/change/" in body
    assert [one.to for one in mail.outbox] == [["a@agency.test"], ["b@agency.test"]]
    release(row, admin_user)
    assert [subject for subject, _ in mails(agency)] == ["Feed of Agency: imported"] * 2
    assert look(row, clock) == "unchanged"
    serve(folder, TEN[:3])
    look(row, clock)
    (subject, body), _ = mails(agency)
    assert (subject, "it lacks 7 of the 10" in body) == ("Feed of Agency: not imported", True)
    assert mails(agency) == []


def test_a_source_that_fails_is_told_at_the_third_time_and_once(agency, folder, clock):
    row = source(agency, f"http://127.0.0.1:{free_port()}/feed.xml", mail_to="a@agency.test")
    told = []
    for _ in range(5):
        look(row, clock)
        told.append([subject for subject, _ in mails(agency)])
    assert told == [[], [], ["Feed of Agency: does not come"], [], []]


def test_what_is_refused_is_told_at_once_and_again_after_it_went_well(agency, folder, clock):
    row = source(agency, str(folder / "out.zip"), mail_to="a@agency.test", user="")
    there = (folder / "out.zip").read_bytes()
    told = []
    for is_there in (False, False, True, False):
        if is_there:
            put(folder / "out.zip", there)
        else:
            (folder / "out.zip").unlink(missing_ok=True)
        look(row, clock)
        told.append([subject for subject, _ in mails(agency)])
    refused = ["Feed of Agency: cannot be fetched"]
    assert told == [refused, [], ["Feed of Agency: waits for you"], refused]


def test_a_feed_that_stays_away_is_told_once_until_it_comes(agency, folder, clock):
    row = source(agency, str(folder / "out.zip"), mail_to="a@agency.test", expect_hours=24)
    look(row)
    mails(agency)
    told = []
    for hours in (24, 1, 1):
        clock.shift(timedelta(hours=hours))
        look(row)
        told += mails(agency)
    ((subject, body),) = told
    assert subject == "Feed of Agency: stays away"
    assert "Nothing new for 25 hours; expected is something within 24." in body
    assert (history(row)[-3:], fresh(row).away_since is None) == (
        ["UNCHANGED", "AWAY", "UNCHANGED"],
        False,
    )
    serve(folder, TEN[:9])
    look(row)
    assert fresh(row).away_since is None


def test_nobody_is_told_without_an_address_or_without_a_mail_server(
    agency, folder, clock, settings
):
    source(agency, str(folder / "nothing.zip"))
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    source(agency, str(folder / "nothing.zip"), mail_to="a@agency.test")
    assert drain("sources", agency.workspace) == {"refused": 2}
    assert not Fetch.objects.filter(due_at__isnull=False).exists()


def test_a_mail_that_does_not_go_is_tried_again(agency, folder, clock, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", free_port()
    row = source(agency, str(folder / "nothing.zip"), mail_to="a@agency.test")
    everybody, nobody = client_of("properties.view_source"), client_of("orders.view_order")
    look(row)
    assert (no_mail(everybody), no_mail(nobody)) == ([], [])
    assert drain("source_mails", agency.workspace) == {"put off": 1}
    seen = Fetch.objects.get(source=row)
    assert no_mail(everybody) == [f"1 mail about a feed waits: {seen.problem}"]
    assert no_mail(nobody) == []
    assert (seen.attempts, seen.told_at, seen.due_at > NOON, seen.problem != "") == (
        1,
        None,
        True,
        True,
    )


def test_an_address_that_is_refused_keeps_the_mail_from_nobody_and_repeats_it_for_nobody(
    agency, folder, clock, settings
):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    with mail_server() as server:
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.server_address[1]
        server.refused = {"b@agency.test"}
        addresses = "b@agency.test\na@agency.test\nc@agency.test"
        row = source(agency, str(folder / "nothing.zip"), mail_to=addresses)
        look(row)
        for _ in range(3):
            assert drain("source_mails", agency.workspace) == {"put off": 1}
            clock.shift(timedelta(hours=1))
        assert [one["To"] for one in server.mails] == ["a@agency.test", "c@agency.test"]
        assert "b@agency.test" in Fetch.objects.get(source=row).problem
        server.refused.clear()
        assert drain("source_mails", agency.workspace) == {"sent": 1}
        assert [one["To"] for one in server.mails][2:] == ["b@agency.test"]
    sent = Fetch.objects.get(source=row)
    assert (sent.problem, sent.due_at) == ("", None)


def no_mail(client) -> list[str]:
    """Return the lines of the overview about mails that wait."""
    found = client.get("/admin/").context["attention"]
    return [str(one.text) for one in found if "No mail" in one.badge]


def test_the_history_keeps_the_last_looks_of_each_kind(agency, folder, clock, monkeypatch):
    monkeypatch.setattr("properties.sources.look.LOOKS", 3)
    row = source(agency, str(folder / "nothing.zip"))
    look(row, clock)
    put(folder / "nothing.zip", b"IDX3.01#")
    for _ in range(6):
        look(row, clock)
    assert history(row) == ["REFUSED", "IMPORT", "UNCHANGED", "UNCHANGED", "UNCHANGED"]

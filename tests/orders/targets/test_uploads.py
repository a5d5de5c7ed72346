"""Each version of a delivered file is at each target once and whole, under a name of its own."""

import errno
import threading
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.db import connection
from django.db.models import Model
from django.utils import timezone

from crm_sync import hooks
from crm_sync.models import hold
from crm_sync.platform.errors import TransientError
from crm_sync.platform.work_kind import WorkKind
from crm_sync.work import leases, turn
from orders.materials import file_requests
from orders.materials.download import storage
from orders.models import Material, MaterialFile, Target, TargetFile
from orders.targets import target_files, uploads
from orders.targets.put import local_folder
from orders.targets.put.local_folder import FolderConnection
from orders.targets.put.target_connection import Limits, TargetPlace
from properties.sources.address import parsed
from tests.crm_sync.admin_pages import make_workspace
from tests.crm_sync.sockets import free_port
from tests.crm_sync.test_outside import certificate
from tests.orders.targets.stock import (
    delivered,
    make_target,
    material,
    now_due,
    state,
    store,
    there,
    upload,
)
from tests.properties.sources.servers import ftp_server, host_keys, sftp_server
from tests.together import behind, crossing, on_postgresql

pytestmark = pytest.mark.django_db


ENDLESS = SimpleNamespace(is_over=lambda: False)  # a turn whose time is not over


class Asked:
    """Notes what an SFTP server was asked to change; a test lets a call fail or wait."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self.fail: dict[str, list[int]] = {}
        self.wait = threading.Event()
        self.waits_at = ""

    def __call__(self, kind: str, path: str) -> None:
        self.calls.append((kind, path))
        if kind == self.waits_at:
            self.wait.wait(30)
        if self.fail.get(kind):
            raise OSError(self.fail[kind].pop(0), "refused")


@pytest.fixture
def ready(main):
    return delivered(main)


@pytest.fixture
def asked() -> Asked:
    return Asked()


@pytest.fixture
def sftp(crm, asked, main):
    with sftp_server(crm, asked=asked) as port:
        yield make_target(main, "SFTP", f"sftp://127.0.0.1:{port}/")


@pytest.fixture(params=["FOLDER", "SFTP", "FTPS"])
def target(request, crm, main, asked, tmp_path, settings):
    if request.param == "FOLDER":
        yield make_target(main, "FOLDER", str(crm))
    elif request.param == "SFTP":
        with sftp_server(crm, asked=asked) as port:
            yield make_target(main, "SFTP", f"sftp://127.0.0.1:{port}/")
    else:
        pem = certificate(tmp_path, "localhost")
        settings.CA_BUNDLE = str(pem)
        with ftp_server(crm, certificate=pem, is_writable=True) as port:
            yield make_target(main, "FTPS", f"ftps://localhost:{port}/")


# --- the way of a file ---
def test_a_stored_file_is_uploaded_once_under_the_name_of_the_pattern(target, ready, main, crm):
    assert store(material(ready, "m1"), b"\xff\xd8\xff one") == 1
    assert upload(main) == {"uploaded": 1}
    assert there(crm) == {"R-1/ground_photo/01.jpg": b"\xff\xd8\xff one"}
    row = TargetFile.objects.get()
    assert (row.due_at, row.problem, row.size, row.attempts) == (None, "", 7, 0)
    assert row.digest == MaterialFile.objects.get().digest
    assert (upload(main), store(Material.objects.get(), b"\xff\xd8\xff one")) == ({}, 0)
    target.refresh_from_db()
    assert (target.problem, target.attempts, target.failing_since) == ("", 0, None)
    assert target.uploaded_at is not None


def test_a_newer_version_replaces_the_file_under_its_name(target, ready, main, crm):
    one = material(ready, "m1")
    for body in (b"first", b"second, which is longer", b"3"):
        assert store(one, body) == 1
        assert upload(main) == {"uploaded": 1}
        assert there(crm) == {"R-1/ground_photo/01.jpg": body}


def test_the_number_is_the_position_in_the_list_whichever_file_comes_first(
    target, ready, main, crm
):
    rows = [material(ready, f"m{n}") for n in range(4)]
    for n in (2, 0, 3, 1):
        store(rows[n], f"{n}".encode())
        upload(main)
    photos = {f"R-1/ground_photo/0{n + 1}.jpg": f"{n}".encode() for n in range(4)}
    assert there(crm) == photos


def test_two_materials_never_get_the_same_name(target, ready, main, crm):
    Target.objects.update(pattern="{reference}/{name}")
    store(material(ready, "m1", file_name="Front.jpg"), b"one")
    store(material(ready, "m2", file_name="front.JPG"), b"two")
    again = delivered(main, "5001")  # another order of the same property
    store(material(again, "m3", file_name="front.jpg"), b"three")
    upload(main)
    assert there(crm) == {
        "R-1/Front.jpg": b"one",
        "R-1/front-2.jpg": b"two",
        "R-1/front-3.jpg": b"three",
    }


@pytest.mark.parametrize(
    ("name", "there_as"),
    [
        ("Bahnhofstr. 12 Küche", "Bahnhofstr. 12 Küche"),
        ("St.Gallen", "St.Gallen"),
        ("Front.v2.JPEG", "Front.v2"),
        (".jpg", "jpg"),
    ],
)
def test_only_an_ending_is_left_out_of_the_name_of_a_file(ready, main, crm, name, there_as):
    make_target(main, "FOLDER", str(crm), pattern="{name}")
    store(material(ready, "m1", file_name=name), b"x")
    upload(main)
    assert there(crm) == {f"{there_as}.jpg": b"x"}


def test_a_file_of_somebody_else_is_never_replaced(target, ready, main, crm):
    (crm / "R-1" / "ground_photo").mkdir(parents=True)
    (crm / "R-1" / "ground_photo" / "01.jpg").write_bytes(b"theirs")
    store(material(ready, "m1"), b"ours")
    upload(main)
    assert there(crm) == {"R-1/ground_photo/01.jpg": b"theirs", "R-1/ground_photo/02.jpg": b"ours"}


@pytest.mark.parametrize(
    ("columns", "taken"),
    [
        ({}, {"hd", "web", "plan", "pdf"}),
        ({"quality": "HD"}, {"hd", "plan", "pdf"}),
        ({"quality": "WEB"}, {"web", "plan", "pdf"}),
        ({"content": "PICTURES"}, {"hd", "web", "plan"}),
        ({"content": "DOCUMENTS"}, {"pdf"}),
        ({"products": ["FLOOR_PLAN"]}, {"plan", "pdf"}),
        ({"products": ["FLOOR_PLAN"], "content": "PICTURES"}, {"plan"}),
    ],
)
def test_a_target_takes_what_was_chosen_for_it(crm, ready, main, columns, taken):
    make_target(main, "FOLDER", str(crm), pattern="{name}", **columns)
    store(material(ready, "hd"), b"hd")
    store(material(ready, "web", visual_type="POST_WEB"), b"web")
    plan = {"product": "FLOOR_PLAN", "visual_type": "DOCUMENT"}
    store(material(ready, "plan", **plan), b"plan", "image/png")
    store(material(ready, "pdf", **plan), b"pdf", "application/pdf")
    upload(main)
    assert {name.partition(".")[0] for name in there(crm)} == taken


def test_a_target_of_another_workspace_gets_nothing(crm, ready):
    other = make_workspace("other")
    make_target(other, "FOLDER", str(crm))
    assert store(material(ready, "m1"), b"one") == 0
    assert (upload(other), there(crm)) == ({}, {})


def test_a_paused_target_gets_its_files_when_it_goes_on(target, ready, main, crm):
    Target.objects.update(is_enabled=False)
    assert store(material(ready, "m1"), b"one") == 1
    assert (upload(main), there(crm)) == ({}, {})
    Target.objects.update(is_enabled=True)
    assert (upload(main), len(there(crm))) == ({"uploaded": 1}, 1)


@pytest.mark.django_db(transaction=True)
def test_a_target_that_is_paused_during_an_upload_gets_no_further_file(target, ready, main, crm):
    for key in ("m1", "m2"):
        store(material(ready, key), key.encode())
    crossing(
        lambda: upload(main),
        lambda: Target.objects.update(is_enabled=False),
        at='FROM "orders_materialfile"',
    )
    assert len(there(crm)) == 1
    assert TargetFile.objects.filter(due_at=None).count() == 1


@pytest.mark.rule("I34")
def test_nothing_is_uploaded_while_a_person_holds_what_leaves(target, ready, main, crm):
    store(material(ready, "m1"), b"one")
    hold.pause(main.pk, [WorkKind.MESSAGES], reason="", now=timezone.now())
    assert (upload(main), there(crm)) == ({}, {})
    hold.resume(main.pk, [WorkKind.MESSAGES], now=timezone.now())
    assert upload(main) == {"uploaded": 1}


def test_what_was_stored_before_is_uploaded_when_a_person_asks(crm, ready, main):
    store(material(ready, "m1"), b"one")
    store(material(ready, "m2", withdrawn_at=timezone.now()), b"two")
    target = make_target(main, "FOLDER", str(crm))
    assert upload(main) == {}
    files = target_files.stored_for(target)
    assert target_files.want_at(target, files, now=timezone.now()) == 1
    assert upload(main) == {"uploaded": 1}
    assert target_files.want_at(target, files, now=timezone.now()) == 0


def test_a_material_that_moves_to_another_set_keeps_its_file(target, ready, main, crm):
    old = material(ready, "m1")
    store(old, b"one")
    upload(main)
    heir = material(delivered(main, "5001"), "m1")
    file_requests.move(Material.objects.filter(pk=old.pk), [heir])
    old.delete()
    assert store(heir, b"new") == 1
    upload(main)
    assert there(crm) == {"R-1/ground_photo/01.jpg": b"new"}


@pytest.mark.rule("S23")
def test_a_name_in_which_a_person_was_blanked_is_chosen_anew(target, ready, main, crm):
    Target.objects.update(pattern="{name}")
    rows = [material(ready, f"m{n}", file_name=f"Ann Lee {n}.jpg") for n in range(2)]
    for one in rows:
        store(one, b"first")
    upload(main)
    Material.objects.update(file_name="….jpg")
    TargetFile.objects.update(name="….jpg")
    for n, one in enumerate(rows):
        one.refresh_from_db()
        store(one, f"second {n}".encode())
    upload(main)
    assert there(crm) == {
        "Ann Lee 0.jpg": b"first",
        "Ann Lee 1.jpg": b"first",
        "….jpg": b"second 0",
        "…-2.jpg": b"second 1",
    }


# --- a worker that dies ---
class Died(BaseException):
    """The process is gone: nothing after it happens."""


def die_at(monkeypatch, cls: type, name: str, *, after: bool) -> None:
    """Let a worker die before or after a call, once."""
    real, left = getattr(cls, name), [1]

    def dying(*args):
        if left and not after:
            left.pop()
            raise Died
        result = real(*args)
        if left:
            left.pop()
            raise Died
        return result

    monkeypatch.setattr(cls, name, dying)


def lease_ends() -> None:
    over = timezone.now() - timedelta(seconds=1)
    Target.objects.exclude(lease_until=None).update(lease_until=over, due_at=over)


@pytest.mark.rule("I3")
@pytest.mark.parametrize("after", [False, True], ids=["before the rename", "after the rename"])
@pytest.mark.parametrize("is_first", [True, False], ids=["the first version", "a newer version"])
def test_a_file_is_there_once_and_whole_after_a_worker_died(
    ready, main, crm, monkeypatch, after, is_first
):
    make_target(main, "FOLDER", str(crm))
    one, name = material(ready, "m1"), "R-1/ground_photo/01.jpg"
    if not is_first:
        store(one, b"old")
        upload(main)
    store(one, b"new")
    die_at(monkeypatch, FolderConnection, "rename", after=after)
    claims = hooks.queue("targets").claim(main.pk, 1)
    with pytest.raises(Died):
        uploads.work(claims, ENDLESS)
    seen = there(crm)
    assert seen.get(name) == (b"new" if after else None if is_first else b"old")
    assert upload(main) == {}  # its lease is not over
    lease_ends()
    assert upload(main) == {"uploaded": 1}
    assert there(crm) == {name: b"new"}
    assert TargetFile.objects.get().due_at is None


@pytest.mark.rule("I3")
def test_a_name_that_waits_for_its_file_is_given_to_no_other_target_at_the_same_place(
    ready, main, crm, monkeypatch
):
    make_target(main, "FOLDER", str(crm), quality="HD")
    make_target(main, "FOLDER", f"{crm}/", quality="WEB")
    store(material(ready, "m1"), b"hd")
    die_at(monkeypatch, FolderConnection, "rename", after=False)
    with pytest.raises(Died):
        uploads.work(hooks.queue("targets").claim(main.pk, 1), ENDLESS)
    store(material(ready, "m2", visual_type="POST_WEB"), b"web")
    assert upload(main) == {"uploaded": 1}
    lease_ends()
    assert upload(main) == {"uploaded": 1}
    assert there(crm) == {"R-1/ground_photo/01.jpg": b"hd", "R-1/ground_photo/02.jpg": b"web"}


@pytest.mark.django_db(transaction=True)
def test_two_targets_that_upload_to_one_place_at_once_replace_no_file(
    ready, main, crm, monkeypatch
):
    make_target(main, "FOLDER", str(crm), quality="HD")
    make_target(main, "FOLDER", str(crm), quality="WEB")
    store(material(ready, "m1"), b"hd")
    store(material(ready, "m2", visual_type="POST_WEB"), b"web")
    real, both = FolderConnection.exists, threading.Barrier(2)

    def exists(*args):
        found = real(*args)
        with suppress(threading.BrokenBarrierError):
            both.wait(3)
        return found

    monkeypatch.setattr(FolderConnection, "exists", exists)
    workers = [threading.Thread(target=upload_of, args=(main.pk,)) for _ in range(2)]
    for one in workers:
        one.start()
    for one in workers:
        one.join(30)
    now_due()
    upload(main)
    assert sorted(there(crm).values()) == [b"hd", b"web"]
    assert set(Target.objects.values_list("failing_since", "problem")) == {(None, "")}


@pytest.fixture
def three(main, crm) -> list[Target]:
    """Return three targets at one place. Only the first one is not paused."""
    rows = [make_target(main, "FOLDER", str(crm), is_enabled=not n) for n in range(3)]
    Target.objects.filter(pk=rows[1].pk).update(attempts=0)  # it moves behind the third one
    analyze(Target)
    return rows


def analyze(model: type[Model]) -> None:
    """Let PostgreSQL know that the table is small. So it reads it as its rows stand there."""
    if connection.vendor == "postgresql":
        connection.cursor().execute(f"ANALYZE {model._meta.db_table}")


@on_postgresql
@pytest.mark.django_db(transaction=True)
def test_an_upload_that_takes_its_name_and_a_person_who_tests_targets_meet_and_neither_fails(
    three, ready, main, crm, boss
):
    store(material(ready, "m1"), b"one")
    act = {"action": "test", "_selected_action": [row.pk for row in three]}
    second = Target.objects.filter(pk=three[1].pk)
    outcomes, answer = behind(
        lambda: upload(main), lambda: boss.post("/admin/orders/target/", act), locked=second
    )
    assert (outcomes.get("uploaded"), answer.status_code) == (1, 302)


@on_postgresql
@pytest.mark.django_db(transaction=True)
def test_a_newer_file_and_a_person_who_uploads_its_first_version_again_meet_and_neither_fails(
    three, ready, main, boss
):
    one = material(ready, "m1")
    store(one, b"one")
    rows = list(TargetFile.objects.order_by("pk"))
    for row in rows:  # the first two move behind the third one
        TargetFile.objects.filter(pk=row.pk).update(due_at=None, problem="refused")
    for row in rows[:2]:
        TargetFile.objects.filter(pk=row.pk).update(attempts=1)
    analyze(TargetFile)

    act = {"action": "upload_again", "_selected_action": [row.pk for row in rows]}
    second = TargetFile.objects.filter(pk=rows[1].pk)
    count, answer = behind(
        lambda: store(one, b"two"),
        lambda: boss.post("/admin/orders/targetfile/", act),
        locked=second,
    )
    assert (count, answer.status_code) == (3, 302)
    assert TargetFile.objects.exclude(due_at=None).count() == 3


@pytest.mark.rule("I3")
@pytest.mark.parametrize("method", ["exists", "put"])
def test_a_worker_that_lost_its_lease_renames_and_writes_nothing(
    ready, main, crm, monkeypatch, method
):
    make_target(main, "FOLDER", str(crm))
    store(material(ready, "m1"), b"one")
    real = getattr(FolderConnection, method)

    def losing(*args):
        found = real(*args)
        Target.objects.update(lease_token="12345678-1234-5678-1234-567812345678")
        return found

    monkeypatch.setattr(FolderConnection, method, losing)
    (claim,) = hooks.queue("targets").claim(main.pk, 1)
    with pytest.raises(leases.LeaseLost):
        uploads.work([claim], ENDLESS)
    assert "R-1/ground_photo/01.jpg" not in there(crm)
    row = TargetFile.objects.get()
    assert (row.digest, row.due_at is not None, row.problem) == ("", True, "")


# --- what goes wrong ---
def test_a_target_that_is_away_waits_and_gets_everything_when_it_is_back(crm, ready, main, asked):
    port = free_port()
    target = make_target(main, "SFTP", f"sftp://127.0.0.1:{port}/")
    for n in range(3):
        store(material(ready, f"m{n}"), b"x")
    assert upload(main) == {"put off": 1}
    target.refresh_from_db()
    assert (target.attempts, "connection" in target.problem) == (1, True)
    assert target.failing_since is not None
    assert set(TargetFile.objects.values_list("attempts", flat=True)) == {0}
    with sftp_server(crm, asked=asked) as back:
        Target.objects.update(address=f"sftp://127.0.0.1:{back}/")
        now_due()
        assert upload(main) == {"uploaded": 1}
    assert len(there(crm)) == 3


@pytest.mark.rule("S13")
@pytest.mark.parametrize("host", ["127.0.0.1", "10.0.0.1", "localhost"])
def test_a_target_in_our_own_network_is_refused_unless_a_setting_names_it(
    settings, ready, main, crm, host
):
    settings.OUTGOING_INTERNAL_HOSTS = []
    target = make_target(main, "SFTP", f"sftp://{host}/")
    store(material(ready, "m1"), b"x")
    assert upload(main) == {"refused": 1}
    target.refresh_from_db()
    assert "leads into our own network" in target.problem
    assert target.due_at > timezone.now() + timedelta(minutes=59)


def test_a_folder_that_no_setting_names_is_refused(settings, ready, main, crm, tmp_path):
    settings.TARGET_FOLDERS = [str(crm / "below")]
    target = make_target(main, "FOLDER", str(crm))
    store(material(ready, "m1"), b"x")
    assert (upload(main), there(crm)) == ({"refused": 1}, {})
    target.refresh_from_db()
    assert "TARGET_FOLDERS" in target.problem


def test_a_link_does_not_lead_out_of_the_folder(ready, main, crm, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (crm / "R-1").symlink_to(outside)
    make_target(main, "FOLDER", str(crm))
    store(material(ready, "m1"), b"x")
    upload(main)
    assert there(outside) == {}
    assert "a link leads out of the folder" in TargetFile.objects.get().problem


def test_a_server_with_another_key_gets_no_password_and_no_file(crm, ready, main, asked):
    first, second = host_keys()
    with sftp_server(crm, asked=asked, key=first) as port:
        target = make_target(main, "SFTP", f"sftp://127.0.0.1:{port}/")
        store(material(ready, "m1"), b"x")
        assert upload(main) == {"uploaded": 1}
    target.refresh_from_db()
    assert target.host_key.startswith("ecdsa")
    asked.calls.clear()
    with sftp_server(crm, asked=asked, key=second) as port:
        Target.objects.update(address=f"sftp://127.0.0.1:{port}/")
        store(material(ready, "m2"), b"y")
        assert upload(main) == {"refused": 1}
    target.refresh_from_db()
    assert "shows another key than before" in target.problem
    assert asked.calls == []


def test_a_file_that_is_refused_delays_no_other(sftp, asked, ready, main, crm):
    asked.fail = {"open": [errno.EACCES]}
    for n in range(3):
        store(material(ready, f"m{n}"), b"x")
    assert upload(main)
    rows = list(TargetFile.objects.order_by("pk"))
    assert [row.due_at is None for row in rows] == [True] * 3
    assert "does not let the user write" in rows[0].problem
    assert [bool(row.digest) for row in rows] == [False, True, True]
    TargetFile.objects.filter(digest="").update(due_at=timezone.now())
    assert (upload(main), len(there(crm))) == ({"uploaded": 1}, 3)


def test_a_file_on_which_the_server_fails_is_tried_after_the_others(sftp, asked, ready, main, crm):
    asked.fail = {"rename": [errno.EIO], "plain rename": [errno.EIO]}
    for n in range(3):
        store(material(ready, f"m{n}"), b"x")
    assert upload(main) == {"put off": 1}
    first = TargetFile.objects.order_by("pk").first()
    assert (first.attempts, "did not take" in first.problem) == (1, True)
    assert first.due_at > timezone.now()
    # Else it is due on a slow machine before the others are there.
    TargetFile.objects.filter(pk=first.pk).update(due_at=timezone.now() + timedelta(hours=1))
    Target.objects.update(due_at=timezone.now())
    upload(main)
    assert len([one for one in there(crm) if "upload-" not in one]) == 2
    now_due()
    upload(main)
    now_due()
    upload(main)
    assert sorted(there(crm)) == [f"R-1/ground_photo/0{n}.jpg" for n in (1, 2, 3)]


def test_a_file_that_is_no_longer_in_the_storage_says_so(target, ready, main, crm):
    store(material(ready, "m1"), b"x")
    MaterialFile.objects.all().delete()
    store(material(ready, "m2"), b"y")
    upload(main)
    row = TargetFile.objects.order_by("pk").first()
    assert state(row)[1:] == (False, "it is no longer in the storage")
    assert there(crm) == {"R-1/ground_photo/02.jpg": b"y"}


def test_a_file_of_a_storage_that_fails_now_is_tried_again(target, ready, main, crm):
    store(material(ready, "m1"), b"x")
    there_it_is = Path(storage().path(MaterialFile.objects.get().name))
    there_it_is.unlink()
    there_it_is.symlink_to(there_it_is)  # a file system that answers with an error
    upload(main)
    row = TargetFile.objects.get()
    assert (row.due_at is None, row.attempts, "symbolic" in row.problem) == (False, 1, True)
    there_it_is.unlink()
    there_it_is.write_bytes(b"x")
    now_due()
    assert upload(main) == {"uploaded": 1}
    assert there(crm) == {"R-1/ground_photo/01.jpg": b"x"}


def test_a_target_that_hangs_delays_no_other(crm, ready, main, asked, tmp_path, settings):
    asked.waits_at = "open"
    folder = tmp_path / "crm" / "local"
    folder.mkdir()
    with sftp_server(crm, asked=asked) as port:
        make_target(main, "SFTP", f"sftp://127.0.0.1:{port}/", name="hangs")
        store(material(ready, "m1"), b"x")
        hanging = threading.Thread(target=upload_of, args=(main.pk,))
        hanging.start()
        for _ in range(100):
            if asked.calls:
                break
            time.sleep(0.05)
        make_target(main, "FOLDER", str(folder), name="answers")
        store(material(ready, "m2"), b"y")
        upload(main)
        assert there(folder) == {"R-1/ground_photo/02.jpg": b"y"}
        assert hanging.is_alive()
        asked.wait.set()
        hanging.join(20)


class SlowFile:
    """A file whose only block comes when a test says so."""

    def __init__(self) -> None:
        self.begun, self.goes_on, self.blocks = threading.Event(), threading.Event(), [b"x", b""]

    def read(self, size: int = -1) -> bytes:
        self.begun.set()
        self.goes_on.wait(20)
        return self.blocks.pop(0)


def opened(folder: Path, seconds: float):
    place = TargetPlace(parsed(str(folder)), "", "", "", [], [str(folder)])
    return local_folder.opened(place, Limits(time.monotonic() + seconds, lambda: None))


def test_a_folder_that_takes_another_file_right_now_is_not_called_one_that_hangs(crm):
    slow = SlowFile()

    def put() -> None:
        with opened(crm, 20) as connection:
            connection.put("slow.jpg", slow, 1, "")

    other = threading.Thread(target=put)
    other.start()
    assert slow.begun.wait(10)
    with opened(crm, 20) as connection:
        assert connection.exists("any.jpg") is False
    slow.goes_on.set()
    other.join(20)
    assert there(crm) == {"slow.jpg": b"x"}


def test_a_folder_that_was_given_up_gets_no_second_thread_until_it_answers(crm):
    slow = SlowFile()
    with opened(crm, 1) as connection:
        with pytest.raises(TransientError, match="not all of it was sent in time"):
            connection.put("slow.jpg", slow, 1, "")
        with pytest.raises(TransientError, match="an earlier attempt still waits for it"):
            opened(crm, 20).__enter__()
    slow.goes_on.set()
    for _ in range(100):
        with suppress(TransientError), opened(crm, 20) as connection:
            assert connection.exists("any.jpg") is False
            return
        time.sleep(0.1)
    pytest.fail("the folder answers, and is still said to hang")


test_a_target_that_hangs_delays_no_other.pytestmark = [pytest.mark.django_db(transaction=True)]


def upload_of(workspace_id: int) -> None:
    from django.db import connection

    try:
        turn.take(hooks.queue("targets"), workspace_id, seconds=3.0)
    finally:
        connection.close()


def test_a_backlog_larger_than_a_turn_goes_on_in_the_next(target, ready, main, crm, monkeypatch):
    monkeypatch.setattr(uploads, "permits", Slow())
    for n in range(5):
        store(material(ready, f"m{n}"), b"x")
    counted = [turn.take(hooks.queue("targets"), main.pk, seconds=0.3) for _ in range(5)]
    assert counted[0].more
    assert len(there(crm)) == 5
    assert [one.more for one in counted][-1] is False


class Slow:
    """Each call takes a moment."""

    def away(self):
        from crm_sync import permits

        time.sleep(0.05)
        return permits.away()


# --- the test of a target ---
def test_a_test_writes_and_removes_a_small_file(target, main, crm):
    Target.objects.update(is_test_asked=True, is_enabled=False)
    assert upload(main) == {"tested": 1}
    target.refresh_from_db()
    assert (target.is_test_asked, target.problem) == (False, "")
    assert target.tested_at is not None
    assert there(crm) == {}


def test_a_test_that_fails_says_why(sftp, asked, main, crm):
    asked.fail = {"open": [errno.EACCES]}
    Target.objects.update(is_test_asked=True, is_enabled=False)
    assert upload(main) == {"refused": 1}
    sftp.refresh_from_db()
    assert (sftp.is_test_asked, sftp.tested_at) == (False, None)
    assert "does not let the user write" in sftp.problem


def test_a_server_without_posix_rename_replaces_an_older_version(sftp, asked, ready, main, crm):
    asked.fail = {"rename": [errno.ENOSYS] * 2}
    one = material(ready, "m1")
    for body in (b"first", b"second"):
        store(one, body)
        assert upload(main) == {"uploaded": 1}
    assert there(crm) == {"R-1/ground_photo/01.jpg": b"second"}
    assert [kind for kind, _ in asked.calls].count("plain rename") == 2


def test_a_path_of_sftp_is_below_the_folder_of_the_address(crm, ready, main, asked):
    (crm / "in").mkdir()
    with sftp_server(crm, asked=asked) as port:
        make_target(main, "SFTP", f"sftp://127.0.0.1:{port}/in/")
        store(material(ready, "m1"), b"x")
        assert upload(main) == {"uploaded": 1}
    assert there(crm) == {"in/R-1/ground_photo/01.jpg": b"x"}
    assert isinstance(crm, Path)

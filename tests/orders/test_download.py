"""A file is here whole and checked, or not at all (I27), whatever the server does."""

import fcntl
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest
from django.core.files.storage import storages
from django.db import connections, transaction
from django.db.models import Value
from django.db.models.functions import Replace
from django.utils import timezone

from crm_sync import hooks
from crm_sync.work import leases, turn
from orders.materials import download
from orders.materials.download import storage
from orders.materials.file_requests import move, try_again, want
from orders.materials.part_file import Busy, PartFile
from orders.models import Material, MaterialFile, MaterialSet, TargetFile
from sandbox.state.deliverables import content
from tests.conftest import PLATFORM
from tests.orders.admin_rows import NOW, make_assignment, make_order
from tests.orders.file_server import PNG, FileServer, serving_file
from tests.orders.targets.stock import make_target

pytestmark = pytest.mark.django_db


@pytest.fixture
def ready(main) -> MaterialSet:
    order = make_order(main)
    return MaterialSet.objects.create(
        workspace=main,
        order=order,
        assignment=make_assignment(order),
        product="GROUND_PHOTO",
        visual_type="POST",
        ready_at=NOW,
        fetched_at=NOW,
    )


@pytest.fixture
def files(folder):
    with serving_file() as one:
        yield one


def material(ready: MaterialSet, files: FileServer, **columns) -> Material:
    columns = {"file_name": "1.png", "url": f"{files.url}/1.png", "modified_at": NOW} | columns
    return Material.objects.create(material_set=ready, platform_id="m1", **columns)


def wanted(ready: MaterialSet, files: FileServer, **columns) -> MaterialFile:
    material(ready, files, **columns)
    assert want(Material.objects.all(), now=timezone.now()) == 1
    return MaterialFile.objects.get()


def drain(ready: MaterialSet) -> dict[str, int]:
    return turn.take(hooks.queue("files"), ready.workspace_id, seconds=20.0).counts


def now_due() -> None:
    MaterialFile.objects.exclude(due_at=None).update(due_at=timezone.now())


def there(folder: Path) -> list[bytes]:
    """What is in the storage, and that nothing else lies about."""
    parts = folder.parent / "downloads"
    assert list(parts.glob("*")) == []
    return [one.read_bytes() for one in sorted(folder.rglob("*")) if one.is_file()]


def test_a_file_is_stored_whole_with_its_type_size_and_digest(ready, files, folder):
    row = wanted(ready, files, size=len(files.body), mime_type="image/png")
    assert drain(ready) == {"stored": 1}
    row.refresh_from_db()
    assert (row.content_type, row.size, row.problem, row.due_at) == ("image/png", 1008, "", None)
    assert (row.modified_at, len(row.digest)) == (NOW, 64)
    assert row.name == f"main/{ready.order_id}/{row.material_id}-file-{row.digest[:16]}.png"
    assert there(folder) == [files.body]
    with storages["materials"].open(row.name) as stored:
        assert stored.read() == files.body


def test_nothing_is_downloaded_while_the_setting_is_off(ready, files, folder, settings):
    row = wanted(ready, files)
    settings.MATERIALS_DOWNLOAD = False
    assert (drain(ready), turn.waiting(timezone.now()), files.server.requests) == ({}, [], [])
    row.delete()
    assert (want(Material.objects.all(), now=NOW), MaterialFile.objects.count()) == (0, 0)


@pytest.mark.rule("I27")
def test_what_broke_off_goes_on_where_it_ended(ready, files, folder, monkeypatch):
    monkeypatch.setattr(download, "PROGRESS", 100)
    files.cut = [400, 300]
    row = wanted(ready, files)
    assert drain(ready) == {"goes on": 2, "stored": 1}
    assert files.asked == ["", "400-", "700-"]
    assert there(folder) == [files.body]
    row.refresh_from_db()
    assert (row.problem, row.attempts) == ("", 0)


@pytest.mark.rule("I27")
@pytest.mark.parametrize("change", ["another version", "no ranges", "no tag"])
def test_where_the_rest_cannot_be_had_it_begins_anew(ready, files, folder, change):
    files.cut = [400]
    if change == "no tag":
        files.tag = ""
    wanted(ready, files)
    assert drain(ready) == {"put off": 1}
    if change == "another version":
        files.tag, files.body = '"v2"', PNG + b"y" * 500
    if change == "no ranges":
        files.knows_ranges = False
    now_due()
    assert drain(ready) == {"stored": 1}
    assert files.asked == ["", "" if change == "no tag" else "400-"]
    assert there(folder) == [files.body]


def test_a_worker_that_died_leaves_no_bytes_that_are_trusted(ready, files, folder):
    files.cut = [400]
    row = wanted(ready, files)
    drain(ready)
    now_due()
    leases.claim(MaterialFile.objects.all(), now=timezone.now())
    over = timezone.now() - timedelta(seconds=1)
    MaterialFile.objects.filter(pk=row.pk).update(due_at=over, lease_until=over)
    (folder.parent / "downloads" / f"{row.pk}.part").write_bytes(b"\0" * 400)
    assert drain(ready) == {"stored": 1}
    assert there(folder) == [files.body]


def test_a_file_that_was_moved_before_its_worker_died_is_stored_once(ready, files, folder):
    row = wanted(ready, files)
    drain(ready)
    empty = {"name": "", "stored_at": None, "digest": "", "due_at": timezone.now()}
    MaterialFile.objects.filter(pk=row.pk).update(**empty)
    assert drain(ready) == {"stored": 1}
    assert there(folder) == [files.body]


def lose(folder: Path) -> None:
    """Let the storage lose its files, as a disk that was not in the backup."""
    for one in folder.rglob("*"):
        if one.is_file():
            one.unlink()


@pytest.mark.rule("I27")
def test_a_file_that_the_storage_lost_is_downloaded_again_when_a_person_asks(ready, files, folder):
    row = wanted(ready, files)
    drain(ready)
    lose(folder)
    try_again(MaterialFile.objects.all(), now=timezone.now())
    assert drain(ready) == {"stored": 1}
    assert there(folder) == [files.body]
    row.refresh_from_db()
    assert (row.name != "", row.due_at, row.problem) == (True, None, "")


def test_a_file_that_the_storage_has_is_not_downloaded_again(ready, files, folder):
    wanted(ready, files)
    drain(ready)
    try_again(MaterialFile.objects.all(), now=timezone.now())
    assert drain(ready) == {"stored": 1}
    assert (there(folder), len(files.asked)) == ([files.body], 1)
    assert MaterialFile.objects.get().due_at is None


@pytest.mark.rule("I27")
def test_a_lost_file_with_an_expired_address_says_so_and_comes_with_the_next_list(
    ready, files, folder
):
    row = wanted(ready, files)
    drain(ready)
    lose(folder)
    try_again(MaterialFile.objects.all(), now=timezone.now())
    files.status = "403 Forbidden"
    assert drain(ready) == {"refused": 1}
    row.refresh_from_db()
    assert (row.name, row.due_at, row.problem[:23]) == ("", None, "the address answers 403")
    files.status = ""
    assert want(Material.objects.all(), now=timezone.now()) == 1
    assert drain(ready) == {"stored": 1}
    assert there(folder) == [files.body]


@pytest.mark.rule("I27")
def test_a_newer_version_with_the_same_bytes_is_stored_where_the_older_one_was_lost(
    ready, files, folder
):
    wanted(ready, files)
    drain(ready)
    lose(folder)
    Material.objects.update(modified_at=NOW + timedelta(days=1))
    assert want(Material.objects.all(), now=timezone.now()) == 1
    assert drain(ready) == {"stored": 1}
    assert there(folder) == [files.body]


def test_nobody_has_files_checked_while_the_setting_is_off(ready, files, folder, settings):
    wanted(ready, files)
    drain(ready)
    settings.MATERIALS_DOWNLOAD = False
    assert try_again(MaterialFile.objects.all(), now=timezone.now()) == 1
    assert MaterialFile.objects.get().due_at is None


@pytest.mark.rule("I27")
@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"status": "404 Not Found"}, "the address answers 404: it has expired, or nothing is"),
        ({"status": "403 Forbidden"}, "the address answers 403"),
        ({"content_type": "text/html"}, "files of the type text/html are not downloaded"),
        ({"content_type": "image/svg+xml"}, "files of the type image/svg+xml are not downloaded"),
        ({"content_type": "image/jpeg"}, "its first bytes are not those of image/jpeg"),
        ({"body": b"<html>", "content_type": ""}, "not those of a type that is kept"),
        ({"body": b"<html>"}, "its first bytes are not those of image/png"),
        ({"body": b""}, "its first bytes are not those of image/png"),
        ({"body": PNG * 1000}, "it is larger than 5,000 bytes, the most that is kept"),
        ({"body": PNG * 1000, "has_length": False}, "it is larger than 5,000 bytes"),
    ],
)
def test_what_is_not_kept_says_why_and_waits_for_a_person(
    ready, files, folder, settings, wrong, problem
):
    settings.MATERIALS_FILE_LIMIT = 5000
    for name, value in wrong.items():
        setattr(files, name, value)
    row = wanted(ready, files)
    assert drain(ready) == {"refused": 1}
    row.refresh_from_db()
    assert (row.due_at, row.name, problem in row.problem) == (None, "", True)
    assert there(folder) == []
    assert drain(ready) == {}


@pytest.mark.parametrize("mime_type", ["image/svg+xml", "text/html", "application/x-msdownload"])
def test_a_type_that_the_list_names_counts_whatever_the_server_says(
    ready, files, folder, mime_type
):
    row = wanted(ready, files, mime_type=mime_type)
    assert drain(ready) == {"refused": 1}
    row.refresh_from_db()
    assert row.problem == f"files of the type {mime_type} are not downloaded"


JPEG = b"\xff\xd8\xff" + b"x" * 100


@pytest.mark.rule("I27")
@pytest.mark.parametrize(
    ("announced", "answered", "body", "problem"),
    [
        ("image/png", "image/jpeg", JPEG, "the server answers with image/jpeg, the list says"),
        ("image/png", "", JPEG, "its first bytes are not those of image/png"),
        ("image/png", "image/png", JPEG, "its first bytes are not those of image/png"),
        ("", "image/png", JPEG, "its first bytes are not those of image/png"),
        ("image/jpeg", "application/octet-stream", PNG, "its first bytes are not those of image/j"),
    ],
)
def test_a_type_that_differs_from_the_announced_one_is_not_kept(
    ready, files, folder, announced, answered, body, problem
):
    files.body, files.content_type = body, answered
    row = wanted(ready, files, mime_type=announced)
    assert drain(ready) == {"refused": 1}
    row.refresh_from_db()
    assert (row.due_at, row.name, problem in row.problem) == (None, "", True)
    assert there(folder) == []


@pytest.mark.parametrize("announced", ["image/jpg", "IMAGE/JPEG; q=1", "", "binary/octet-stream"])
def test_the_same_type_in_another_spelling_is_kept(ready, files, folder, announced):
    files.body, files.content_type = JPEG, "image/jpeg"
    row = wanted(ready, files, mime_type=announced)
    assert drain(ready) == {"stored": 1}
    row.refresh_from_db()
    assert (row.content_type, there(folder)) == ("image/jpeg", [JPEG])


@pytest.mark.rule("I27")
@pytest.mark.parametrize("is_kept", [True, False])
def test_the_file_of_a_second_copy_goes_with_its_row(
    ready, files, folder, is_kept, django_capture_on_commit_callbacks
):
    columns = {"workspace": ready.workspace, "order": ready.order, "ready_at": NOW}
    other = MaterialSet.objects.create(
        assignment=ready.assignment, product="GROUND_PHOTO", fetched_at=NOW, **columns
    )
    heir = material(ready, files)
    material(other, files)
    assert want(Material.objects.all(), now=timezone.now()) == 2
    assert drain(ready) == {"stored": 2}
    assert len(there(folder)) == 2
    with django_capture_on_commit_callbacks(execute=is_kept):
        move(other.materials.all(), [heir])
    if is_kept:
        (row,) = MaterialFile.objects.all()
        assert (row.material, storage().exists(row.name)) == (heir, True)
        assert there(folder) == [files.body]
    else:  # a transaction that is rolled back still needs it
        assert len(there(folder)) == 2


@pytest.mark.rule("I27")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("has_heir_a_file", [True, False])
def test_a_material_that_gets_an_heir_during_its_download_leaves_no_unknown_file(
    ready, files, folder, has_heir_a_file
):
    target = make_target(ready.workspace, "FOLDER", "/nowhere", is_enabled=False)
    heir = material(ready, files)
    if has_heir_a_file:
        assert want([heir], now=timezone.now()) == 1
        assert drain(ready) == {"stored": 1}
    columns = {"workspace": ready.workspace, "order": ready.order, "ready_at": NOW}
    other = MaterialSet.objects.create(
        assignment=ready.assignment, product="GROUND_PHOTO", fetched_at=NOW, **columns
    )
    copy = material(other, files, url=f"{files.url}/2.png")
    assert want([copy], now=timezone.now()) == 1

    def inherit() -> None:
        with transaction.atomic():
            move(other.materials.all(), [heir])
            copy.delete()
        connections.close_all()

    files.before = inherit
    drain(ready)
    files.before = None
    now_due()
    drain(ready)
    (row,) = MaterialFile.objects.all()
    assert (row.material, row.problem, storage().exists(row.name)) == (heir, "", True)
    assert there(folder) == [files.body]
    assert TargetFile.objects.get().material == heir
    assert target.files.count() == 1


@pytest.mark.rule("I27")
def test_an_address_that_has_expired_has_its_list_read_again_once(ready, files, folder):
    row = wanted(ready, files)
    asked = []
    files.status = "503 Unavailable"
    assert drain(ready) == {"put off": 1}
    for status in ("403 Forbidden", "403 Forbidden", ""):
        files.status = status
        now_due()
        drain(ready)
        asked.append(MaterialSet.objects.get().due_at is not None)
        MaterialSet.objects.update(due_at=None)
        row.refresh_from_db()
        assert (row.due_at, row.problem[:23]) == (None, "the address answers 403" if status else "")
        want(Material.objects.all(), now=timezone.now())  # as the read of the list does it
    assert asked == [True, False, False]
    assert there(folder) == [files.body]


def test_a_file_that_is_not_kept_has_no_list_read_again(ready, files, folder):
    files.body = b"<html>"
    wanted(ready, files)
    assert drain(ready) == {"refused": 1}
    assert MaterialSet.objects.get().due_at is None


@pytest.mark.rule("I27")
def test_of_three_copies_one_file_stays(ready, files, folder, django_capture_on_commit_callbacks):
    columns = {"workspace": ready.workspace, "order": ready.order, "ready_at": NOW}
    columns |= {"assignment": ready.assignment, "product": "GROUND_PHOTO", "fetched_at": NOW}
    target = make_target(ready.workspace, "FOLDER", "/nowhere", is_enabled=False)
    for visual_type in ("DOCUMENT", "RAW"):
        other = MaterialSet.objects.create(visual_type=visual_type, **columns)
        copy = material(other, files)
        TargetFile.objects.create(
            workspace=ready.workspace, target=target, material=copy, due_at=timezone.now()
        )
    assert want(Material.objects.all(), now=timezone.now()) == 2
    assert drain(ready) == {"stored": 2}
    heir = material(ready, files)
    with django_capture_on_commit_callbacks(execute=True):
        move(Material.objects.exclude(pk=heir.pk), [heir])
    (row,), (at_target,) = MaterialFile.objects.all(), TargetFile.objects.all()
    assert (row.material, at_target.material, there(folder)) == (heir, heir, [files.body])


def test_a_size_that_was_announced_is_kept_to_and_asked_for_again_a_few_times(ready, files, folder):
    files.has_length = False  # so that a body that is cut ends like a whole one
    row = wanted(ready, files, size=5_000)
    for _ in range(download.MAX_MISMATCHES - 1):
        assert drain(ready) == {"put off": 1}
        now_due()
    assert drain(ready) == {"refused": 1}
    row.refresh_from_db()
    assert (row.due_at, row.name) == (None, "")
    assert row.problem == "1,008 bytes came, 5,000 were announced"
    assert there(folder) == []


@pytest.mark.parametrize("status", ["500 Oh", "503 Busy", "429 Slow", "302 Found", "204 None"])
def test_a_server_that_has_trouble_is_asked_again_later(ready, files, folder, status):
    files.status = status
    row = wanted(ready, files)
    before = timezone.now()
    assert drain(ready) == {"put off": 1}
    row.refresh_from_db()
    assert (row.attempts, row.problem) == (1, f"the server answers {status[:3]}")
    assert before < row.due_at < before + timedelta(minutes=15)
    files.status = ""
    now_due()
    assert drain(ready) == {"stored": 1}


def test_an_address_in_our_own_network_is_never_asked(ready, files, folder, settings):
    settings.MATERIALS_INTERNAL_HOSTS = []
    row = wanted(ready, files, url=files.url.replace("http:", "https:"))
    assert drain(ready) == {"refused": 1}
    row.refresh_from_db()
    assert row.problem == "the address leads into our own network: 127.0.0.1"
    assert files.server.requests == []


@pytest.mark.rule("S13")
def test_no_token_of_ours_travels_with_the_request(ready, files, folder):
    wanted(ready, files)
    drain(ready)
    (request,) = files.server.requests
    assert b"authorization" not in request.lower()
    assert b"canary" not in request


@pytest.mark.rule("I27")
def test_a_newer_version_replaces_the_older_one_only_when_it_is_whole(ready, files, folder):
    row = wanted(ready, files)
    drain(ready)
    row.refresh_from_db()
    old, older = files.body, row.name
    Material.objects.update(modified_at=NOW + timedelta(days=1))
    assert want(Material.objects.all(), now=timezone.now()) == 1
    files.body, files.status = PNG + b"new", "500 Oh"
    assert drain(ready) == {"put off": 1}
    row.refresh_from_db()
    assert (row.name, there(folder)) == (older, [old])
    files.status = ""
    now_due()
    assert drain(ready) == {"stored": 1}
    row.refresh_from_db()
    assert (row.name == older, there(folder)) == (False, [files.body])
    assert want(Material.objects.all(), now=timezone.now()) == 0


def test_a_thumbnail_comes_beside_its_file_and_is_a_picture(ready, files, folder):
    wanted = material(ready, files, thumbnail_url=f"{files.url}/thumbnail/1.png")
    assert want([wanted], now=timezone.now()) == 2
    assert drain(ready) == {"stored": 2}
    assert there(folder) == [files.body] * 2
    files.body, files.content_type = b"%PDF-1.7", "application/pdf"
    Material.objects.update(modified_at=NOW + timedelta(days=1))
    assert want(Material.objects.all(), now=timezone.now()) == 2
    assert drain(ready) == {"stored": 1, "refused": 1}
    problem = MaterialFile.objects.get(role="THUMBNAIL").problem
    assert problem == "a thumbnail of the type application/pdf is not shown"


def test_a_tour_is_no_file(ready, files, folder):
    material(ready, files, file_name="")
    assert want(Material.objects.all(), now=NOW) == 0


def test_many_files_are_all_stored_though_a_drain_takes_them_one_by_one(ready, files, folder):
    for number in range(30):
        Material.objects.create(
            material_set=ready, platform_id=f"n{number}", file_name="a.png", url=files.url
        )
    assert want(Material.objects.all(), now=timezone.now()) == 30
    assert drain(ready) == {"stored": 30}
    assert (len(there(folder)), MaterialFile.objects.filter(due_at=None).count()) == (30, 30)


class Quiet(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def served(box) -> Iterator[str]:
    """Put the sandbox on a port, and return its address."""
    with make_server("127.0.0.1", 0, box, handler_class=Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def delivered(box, place, served, drain_all, folder, settings) -> MaterialSet:
    """Return a set of the sandbox, the files of which are not asked for yet."""
    settings.MATERIALS_DOWNLOAD = False
    box.set_status(place().assignments.get().platform_id, "DELIVERED")
    box.deliver()
    drain_all()
    settings.MATERIALS_DOWNLOAD = True
    for column in ("url", "thumbnail_url"):
        Material.objects.update(**{column: Replace(column, Value(PLATFORM), Value(served))})
    return MaterialSet.objects.get(visual_type="POST")


@pytest.mark.parametrize(
    ("fault", "outcomes", "then"),
    [
        (None, {"stored": 4}, {}),
        ({"fault": "SLOW", "seconds": 0.05}, {"stored": 4}, {}),
        ({"fault": "CUT_OFF", "times": 4}, {"put off": 4}, {"stored": 4}),
        ({"fault": "SHORTENED", "times": 4}, {"put off": 2, "stored": 2}, {"stored": 2}),
        ({"fault": "UNAVAILABLE", "times": 4}, {"put off": 4}, {"stored": 4}),
        ({"fault": "LED_INSIDE"}, {"refused": 4}, {}),
        ({"fault": "ENDLESS"}, {"refused": 4}, {}),
    ],
)
def test_the_files_of_the_sandbox_arrive_whatever_goes_wrong_on_the_way(
    box, delivered, folder, settings, fault, outcomes, then
):
    settings.MATERIALS_FILE_LIMIT = 100_000
    box.faults.set({"rules": [fault | {"path": "/files/*"}]} if fault else {})
    photos = Material.objects.filter(product="GROUND_PHOTO")
    assert want(photos, now=timezone.now()) == 4  # HD and WEB, with thumbnails
    assert drain(delivered) == outcomes
    now_due()
    assert drain(delivered) == then
    if "refused" not in outcomes:
        for one in MaterialFile.objects.filter(role="FILE").select_related("material"):
            assert storage().open(one.name).read() == content(*one.material.url.split("/")[-3:])
        assert len(there(folder)) == 4
    else:
        assert there(folder) == []


@pytest.mark.rule("I27")
def test_whoever_has_a_part_has_it_alone_until_the_end(tmp_path):
    part, other = PartFile(tmp_path, 1), PartFile(tmp_path, 1)
    with part.held():
        part.remove()  # what a worker that died has left, or what came in vain
        with pytest.raises(Busy), other.held():
            pass
        part.begin({})
        with part.open() as file:
            file.write(b"half")
    with other.held():
        assert other.size == 4
        other.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_whose_file_went_meanwhile_lets_nobody_in(tmp_path, monkeypatch):
    part, lock = PartFile(tmp_path, 1), fcntl.flock

    def late(file, how) -> None:  # between opening the file and the lock its holder ends
        (tmp_path / "1.lock").unlink()
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with pytest.raises(Busy), part.held():
        pass

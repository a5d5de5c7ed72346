"""Stored files are shown in the gallery and handed out one by one, and as one ZIP of an order."""

import io
import tracemalloc
import unicodedata
import zipfile

import pytest
from django.contrib.auth.models import Permission, User
from django.core.files.base import ContentFile
from django.urls import reverse
from django.utils import timezone

from orders.admin.file_view import file_address
from orders.materials import archive
from orders.materials.archive import MISSING
from orders.materials.download import storage
from orders.materials.file_names import file_name
from orders.models import Material, MaterialFile, MaterialSet, Order
from tests.crm_sync.admin_pages import client_of, queries_of
from tests.orders.admin_rows import context_of, make_order, page
from tests.orders.file_server import PNG
from tests.orders.test_gallery import deliver, picture
from tests.problems import noted

pytestmark = pytest.mark.django_db


def store(material: Material, body: bytes = PNG, role: str = "FILE", **columns) -> MaterialFile:
    digest = f"{material.pk:02}{role}"
    return MaterialFile.objects.create(
        workspace=material.material_set.workspace,
        material=material,
        role=role,
        name=storage().save(f"{material.pk}-{role}", ContentFile(body)),
        size=len(body),
        digest=digest,
        stored_at=timezone.now(),
        **({"content_type": "image/png"} | columns),
    )


@pytest.fixture
def order(main, folder) -> Order:
    return make_order(main)


@pytest.fixture
def photo(order) -> MaterialFile:
    deliver(order, names=["a.png"])
    return store(Material.objects.get(), PNG + b"picture")


def saved(response) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(b"".join(response.streaming_content)))


def zip_of(order: Order) -> str:
    return reverse("admin:orders_order_zip", args=[order.pk])


def test_a_picture_is_shown_and_saved_under_its_name(boss, photo):
    response = boss.get(file_address(photo))
    assert b"".join(response.streaming_content) == PNG + b"picture"
    headers = dict(response.items())
    assert headers["Content-Type"] == "image/png"
    assert headers["Content-Disposition"] == 'inline; filename="a.png"'
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Content-Length"] == "15"
    assert headers["Cache-Control"].startswith("private")
    saved = boss.get(file_address(photo, saved=True))
    assert saved["Content-Disposition"] == 'attachment; filename="a.png"'
    b"".join(boss.get(zip_of(photo.material.material_set.order)).streaming_content)
    told = noted()
    assert told == ["Saved a.png.", "Saved all files as ZIP: 1."]


@pytest.mark.parametrize(
    ("content_type", "name", "disposition"),
    [
        ("image/png", "a.html", 'inline; filename="a.html.png"'),
        ("image/png", "../../a.PNG", 'inline; filename="_.._a.PNG"'),
        ("image/jpeg", "a.jpeg", 'inline; filename="a.jpeg"'),
        ("image/jpeg", 'a"b\r\nX: y.jpg', 'inline; filename="a_b__X_ y.jpg"'),
        ("application/zip", "a.zip", 'attachment; filename="a.zip"'),
        ("image/tiff", "", 'attachment; filename="ground_photo-{pk}.tif"'),
    ],
)
def test_a_file_is_never_handed_out_as_something_else(boss, photo, content_type, name, disposition):
    MaterialFile.objects.update(content_type=content_type)
    Material.objects.update(file_name=name)
    response = boss.get(file_address(photo))
    assert response["Content-Type"] == content_type
    assert response["Content-Disposition"] == disposition.format(pk=photo.material_id)


@pytest.mark.parametrize(
    ("name", "cut"),
    [
        ("ü" * 150 + ".png", "ü" * 90),
        ("x" + "ü" * 150 + ".png", "x" + "ü" * 89),
        ("u\u0308" * 150, "u\u0308" * 60),
        ("x" + "u\u0308" * 150 + ".PNG", "x" + "u\u0308" * 59),
        ("🏠" * 80 + ".png", "🏠" * 45),
        ("a" * 179 + " b.png", "a" * 179),
        ("\u0308" * 200, ""),
        ("short.png", "short"),
    ],
)
def test_a_name_fits_a_file_system_and_breaks_no_character(boss, photo, name, cut):
    Material.objects.update(file_name=name, product="Ü" * 100)
    given = file_name(Material.objects.get(), "image/png")
    stem, _, ending = given.rpartition(".")
    assert (stem, ending.lower()) == (cut, "png")
    ((_, in_zip),) = archive.contents(Material.objects.prefetch_related("files")).entries
    assert all(len(part.encode()) <= 255 for part in in_zip.split("/"))
    assert in_zip.endswith(given)


@pytest.mark.parametrize(
    ("wanted", "status", "part", "told"),
    [
        ("bytes=0-1", 206, slice(0, 2), "bytes 0-1/5008"),  # how Safari begins each film
        ("bytes=5000-", 206, slice(5000, None), "bytes 5000-5007/5008"),
        ("bytes=9999-", 416, slice(0, 0), "bytes */5008"),
        ("bytes=9-1", 200, slice(None), None),
    ],
)
def test_a_browser_that_plays_a_film_gets_the_part_that_it_asks_for(
    boss, order, wanted, status, part, told
):
    deliver(order, names=["film.mp4"])
    body = b"....ftyp" + b"x" * 5000
    row = store(Material.objects.get(), body, content_type="video/mp4")
    answer = boss.get(file_address(row), headers={"Range": wanted})
    assert (answer.status_code, answer.get("Content-Range")) == (status, told)
    found = b"".join(answer.streaming_content) if answer.streaming else answer.content
    assert (found, answer["Accept-Ranges"]) == (body[part], "bytes")
    if status != 416:
        assert answer["Content-Length"] == str(len(body[part]))
        assert answer["Content-Disposition"] == 'inline; filename="film.mp4"'


def test_a_browser_that_has_a_version_gets_it_only_once(boss, photo):
    tag = boss.get(file_address(photo))["ETag"]
    again = boss.get(file_address(photo), headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")


def test_who_may_not_see_orders_gets_no_file(order, photo, client):
    nobody = client_of("properties.view_property")
    for address in (file_address(photo), zip_of(order)):
        assert nobody.get(address).status_code == 403
        assert client.get(address).status_code == 302  # to the login
    assert client_of("orders.view_order").get(file_address(photo)).status_code == 200


def test_who_is_in_another_workspace_gets_no_file(order, photo):
    agent = client_of("orders.view_order")
    person = User.objects.get(username="user-0")
    person.user_permissions.remove(Permission.objects.get(codename="all_workspaces"))
    addresses = [file_address(photo), zip_of(order)]
    assert [agent.get(address).status_code for address in addresses] == [404, 404]
    person.workspaces.add(order.workspace)
    assert [agent.get(address).status_code for address in addresses] == [200, 200]


def test_what_is_not_stored_is_not_there(boss, order, photo):
    storage().delete(photo.name)
    assert boss.get(file_address(photo)).status_code == 404
    columns = {"name": "", "stored_at": None, "digest": "", "problem": "No."}
    MaterialFile.objects.update(**columns)
    assert boss.get(file_address(photo)).status_code == 404
    assert boss.get(zip_of(order)).status_code == 404
    assert f'href="{zip_of(order)}"' not in boss.get(page(order)).content.decode()


def test_the_gallery_shows_stored_pictures_from_here_and_all_others_as_links(boss, order, photo):
    thumbnail = store(photo.material, role="THUMBNAIL")
    deliver(order, visual_type="POST_WEB", names=["a.png"])
    web = store(Material.objects.get(visual_type="POST_WEB"))
    deliver(order, "FLOOR_PLAN", names=["plan.png"])
    shown, plan = [group["items"][0] for group in context_of(boss, order)["groups"]]
    assert shown["thumbnail"] == file_address(thumbnail)
    assert (shown["view"], shown["large"]) == (file_address(web), file_address(photo))
    assert [one["address"] for one in shown["versions"]] == [
        file_address(photo, saved=True),
        file_address(web, saved=True),
    ]
    assert (plan["thumbnail"], plan["view"], plan["is_ours"]) == ("", "", False)
    text = boss.get(page(order)).content.decode()
    assert f'<img src="{file_address(thumbnail)}"'.replace("&", "&amp;") in text
    assert 'src="http' not in text
    assert f'href="{plan["address"]}" target="_blank" rel="noopener noreferrer"' in text


def test_stored_files_cost_no_more_queries(boss, order, photo):
    few = queries_of(boss, page(order))
    ready = MaterialSet.objects.get()
    for number in range(30):
        store(picture(ready, f"{number}.png"))
    assert queries_of(boss, page(order)) == few
    address, zips = zip_of(order), []
    for _ in range(2):
        zips.append(queries_of(boss, address))
        store(picture(ready, "more.png"))
    assert zips[0] == zips[1]


def test_the_page_says_what_is_not_downloaded_and_why(boss, order, photo):
    other = picture(MaterialSet.objects.get(), "b.png")
    wanted = {"workspace": order.workspace, "material": other, "role": "FILE"}
    MaterialFile.objects.create(**wanted, problem="the address answers 404")
    (group,) = context_of(boss, order)["groups"]
    assert group["state"] == "1 of 2 files downloaded"
    assert group["file_problems"] == ["b.png: the address answers 404"]


def test_the_zip_holds_every_stored_file_and_names_the_others(boss, order, photo):
    ready = MaterialSet.objects.get()
    store(picture(ready, "A.PNG"), PNG + b"twin")
    store(picture(ready, "web.png", visual_type="POST_WEB"), PNG + b"web")
    picture(ready, "b.png")
    lost = store(picture(ready, "lost.png"))
    storage().delete(lost.name)
    deliver(order, "../FLOOR_PLAN", names=["plan.pdf"])
    store(Material.objects.get(file_name="plan.pdf"), b"%PDF-", content_type="application/pdf")
    response = boss.get(zip_of(order))
    assert response["Content-Disposition"] == 'attachment; filename="order-5000.zip"'
    assert response["Content-Type"] == "application/zip"
    whole = saved(response)
    assert whole.testzip() is None
    twin = next(name for name in whole.namelist() if "[" in name)
    assert sorted(set(whole.namelist()) - {twin}) == [
        "Ground photo/HD/A.PNG",
        "Ground photo/WEB/web.png",
        MISSING,
        "_floor plan/plan.pdf",
    ]
    assert {whole.read("Ground photo/HD/A.PNG"), whole.read(twin)} == {
        PNG + b"twin",
        PNG + b"picture",
    }
    assert whole.read(MISSING).decode().splitlines() == [
        "Ground photo/HD/b.png: it is at the platform alone",
        "Ground photo/HD/lost.png: it is no longer in the storage",
    ]
    assert {info.compress_type for info in whole.infolist()} == {zipfile.ZIP_STORED}


def test_two_names_that_look_the_same_are_two_files_in_the_zip(boss, order, photo):
    ready = MaterialSet.objects.get()
    store(picture(ready, unicodedata.normalize("NFC", "Küche.png")), PNG + b"composed")
    store(picture(ready, unicodedata.normalize("NFD", "Küche.png")), PNG + b"decomposed")
    whole = saved(boss.get(zip_of(order)))
    names = {unicodedata.normalize("NFC", name).casefold() for name in whole.namelist()}
    assert len(names) == 3  # a Mac would write both into one file
    assert {whole.read(name)[8:] for name in whole.namelist()} == {
        b"picture",
        b"composed",
        b"decomposed",
    }


def test_a_file_that_is_replaced_while_the_zip_is_sent_is_in_it_as_the_newer_version(order, photo):
    found = archive.contents(Material.objects.prefetch_related("files"))
    newer = storage().save("newer", ContentFile(PNG + b"newer"))
    storage().delete(photo.name)
    MaterialFile.objects.filter(pk=photo.pk).update(name=newer, digest="newer", size=13)
    whole = zipfile.ZipFile(io.BytesIO(b"".join(archive.stream(found))))
    assert {name: whole.read(name) for name in whole.namelist()} == {
        "Ground photo/HD/a.png": PNG + b"newer"
    }


@pytest.mark.once
def test_a_zip_takes_as_much_memory_for_many_large_files_as_for_one(boss, order, photo):
    def peak() -> int:
        tracemalloc.start()
        count = sum(map(len, boss.get(zip_of(order)).streaming_content))
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert count > MaterialFile.objects.count() * 7_000_000 - 8_000_000
        return found

    ready = MaterialSet.objects.get()
    store(picture(ready, "0.png"), PNG + b"x" * 8_000_000)
    boss.get(page(order))  # what a process loads with its first page is none of it
    one = peak()
    for number in range(1, 10):
        store(picture(ready, f"{number}.png"), PNG + b"x" * 8_000_000)
    assert max(one, peak()) < 4_000_000


def test_who_may_act_has_the_files_downloaded(order, photo):
    address = reverse("admin:orders_order_download", args=[order.pk])
    acting = client_of("orders.view_order", "orders.change_order")
    assert "Download files" in acting.get(page(order)).content.decode()
    assert acting.get(address).status_code == 405
    assert acting.post(address).status_code == 302
    ready = MaterialSet.objects.get()
    assert ready.due_at is not None
    photo.refresh_from_db()
    assert photo.due_at is not None  # a worker looks whether the storage still has it


def test_who_may_only_view_has_nothing_downloaded(order, photo, settings):
    viewer = client_of("orders.view_order")
    address = reverse("admin:orders_order_download", args=[order.pk])
    assert viewer.post(address).status_code == 403
    assert MaterialSet.objects.get().due_at is None
    assert "Download files" not in viewer.get(page(order)).content.decode()
    settings.MATERIALS_DOWNLOAD = False
    acting = client_of("orders.view_order", "orders.change_order")
    assert "Download files" not in acting.get(page(order)).content.decode()

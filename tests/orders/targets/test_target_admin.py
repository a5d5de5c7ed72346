"""Targets in the admin: who may what, what the pages say, and that no secret ever comes back."""

import socket

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connections
from django.urls import reverse
from django.utils import timezone

from orders.admin.target.target_state import attention
from orders.models import Target, TargetFile
from tests.crm_sync.admin_pages import CANARY, ESCAPED, client_of
from tests.crm_sync.sockets import serving
from tests.orders.targets.stock import delivered, make_target, material, state, store, there, upload

LIST = reverse("admin:orders_target_changelist")
ADD = reverse("admin:orders_target_add")
FILES = reverse("admin:orders_targetfile_changelist")
WORD = "typed s3cret"
SEES = ("orders.view_target", "orders.view_targetfile")
MANAGES = (*SEES, "orders.add_target", "orders.change_target", "orders.change_targetfile")


@pytest.fixture
def row(main) -> Target:
    return make_target(main, "SFTP", "sftp://crm.test/in/", secret=WORD, name="CRM of the office")


def page_of(row: Target) -> str:
    return reverse("admin:orders_target_change", args=[row.pk])


def typed(workspace, **more) -> dict[str, object]:
    whole = {"workspace": workspace.pk, "name": "CRM", "kind": "SFTP", "user": "agency"}
    whole |= {"address": "sftp://crm.test/in/", "pattern": "{reference}/{nn}", "new_secret": ""}
    return whole | {"products": "", "quality": "BOTH", "content": "ALL", "is_enabled": "on"} | more


def errors(answer) -> dict[str, list[str]]:
    return answer.context["adminform"].form.errors if answer.context else {}


def test_a_target_is_added_with_its_secret_and_can_be_changed_without_it(main):
    client = client_of(*MANAGES)
    products = "ground_photo\nFLOOR_PLAN"
    answer = client.post(ADD, typed(main, new_secret=WORD, products=products))
    assert answer.status_code == 302, errors(answer)
    row = Target.objects.get()
    assert (row.workspace, row.kind, row.secret) == (main, "SFTP", WORD)
    assert row.products == ["GROUND_PHOTO", "FLOOR_PLAN"]
    Target.objects.update(attempts=3, problem="away", failing_since=timezone.now())
    changed = typed(main, name="Other", products=products)
    assert client.post(page_of(row), changed).status_code == 302
    row = Target.objects.get()
    assert (row.name, row.secret, row.attempts, row.problem) == ("Other", WORD, 0, "")
    for address in (LIST, page_of(row)):
        assert WORD not in client.get(address).content.decode()


@pytest.mark.parametrize(
    ("more", "name", "text"),
    [
        ({"address": "https://crm.test/"}, "address", "none of this kind"),
        ({"address": "sftp://a:b@crm.test/"}, "address", "holds a user"),
        ({"kind": "FOLDER"}, "address", "none of this kind"),
        ({"pattern": "{street}"}, "pattern", "{street} is not known"),
        ({"pattern": "../{nn}"}, "pattern", "consists of dots"),
        ({"products": "Fotos!"}, "products", "is not the name of a product"),
    ],
)
def test_what_cannot_work_is_refused_at_its_field(main, more, name, text):
    answer = client_of(*MANAGES).post(ADD, typed(main, **more))
    assert text in errors(answer)[name][0]
    assert not Target.objects.exists()


@pytest.mark.rule("S13")
def test_a_stored_password_does_not_go_to_another_server(main, row):
    client = client_of(*MANAGES)
    other = typed(main, address="sftp://thief.test/in/")
    assert "another server" in errors(client.post(page_of(row), other))["new_secret"][0]
    assert client.post(page_of(row), other | {"new_secret": "new"}).status_code == 302
    assert (
        client.post(page_of(row), typed(main, address="sftp://thief.test/out/")).status_code == 302
    )
    assert (Target.objects.get().secret, Target.objects.get().host_key) == ("new", "")


def test_a_test_is_done_by_a_worker_and_the_page_says_so(crm, main):
    row = make_target(main, "FOLDER", str(crm))
    client = client_of(*MANAGES)
    client.post(LIST, {"action": "test", "_selected_action": row.pk})
    assert Target.objects.get().is_test_asked
    assert upload(main) == {"tested": 1}
    assert "Last test" in client.get(page_of(row)).content.decode()
    assert LogEntry.objects.filter(object_id=str(row.pk)).count() == 1


def test_stored_files_are_uploaded_on_request_and_again(crm, main):
    client, ready = client_of(*MANAGES), delivered(main)
    store(material(ready, "m1"), b"one")
    row = make_target(main, "FOLDER", str(crm))
    client.post(LIST, {"action": "upload_stored", "_selected_action": row.pk})
    assert upload(main) == {"uploaded": 1}
    (crm / "R-1" / "ground_photo" / "01.jpg").unlink()
    file = TargetFile.objects.get()
    client.post(FILES, {"action": "upload_again", "_selected_action": file.pk})
    assert upload(main) == {"uploaded": 1}
    assert list(there(crm)) == ["R-1/ground_photo/01.jpg"]


def test_files_that_were_not_taken_are_listed_and_tried_again(main, row):
    client = client_of(*MANAGES)
    one = material(delivered(main), "m1", file_name=CANARY)
    columns = {"workspace": main, "target": row, "material": one}
    file = TargetFile.objects.create(**columns, problem="no right")
    text = client.get(f"{FILES}?state=problem&target__id__exact={row.pk}").content.decode()
    assert "no right" in text
    assert CANARY not in text
    assert ESCAPED in text
    assert "Files wait for a person" in client.get(LIST).content.decode()
    client.post(LIST, {"action": "upload_refused", "_selected_action": row.pk})
    assert state(file)[1:] == (True, "")


def test_the_overview_names_targets_that_wait_for_a_person(main, row, admin_user, settings):
    settings.MATERIALS_DOWNLOAD = True
    now = timezone.now()
    assert attention(admin_user, now) == []
    Target.objects.update(attempts=2, problem="away", failing_since=now)
    assert attention(admin_user, now) == []
    Target.objects.update(attempts=3)
    (line,) = attention(admin_user, now)
    assert "Target CRM of the office: away" in line.text
    assert line.link == page_of(row)
    Target.objects.update(attempts=0, problem="")
    one = material(delivered(main), "m1")
    TargetFile.objects.create(workspace=main, target=row, material=one, problem="no right")
    (line,) = attention(admin_user, now)
    assert "1 file was not taken" in line.text


def test_the_page_says_when_no_file_is_downloaded_here(row, settings):
    settings.MATERIALS_DOWNLOAD = False
    assert "MATERIALS_DOWNLOAD" in client_of(*SEES).get(page_of(row)).content.decode()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("status", ["201 Created", "503 Away"])
def test_what_came_of_an_address_that_was_changed_meanwhile_is_not_that_of_the_new_one(
    main, crm, status
):
    def say(connection: socket.socket) -> None:
        method, path, _ = old.requests[-1].split(b" ", 2)
        if method == b"PUT":
            columns = {"kind": "FOLDER", "address": str(crm), "new_secret": "other"}
            answer = client_of(*MANAGES).post(page_of(row), typed(main, name=row.name, **columns))
            assert answer.status_code == 302, errors(answer)
            act = {"action": "test", "_selected_action": row.pk}
            assert client_of(*MANAGES).post(LIST, act).status_code == 302
            connections.close_all()
        is_there = method != b"PROPFIND" or path == b"/"
        said = status if method == b"PUT" else "201 Created" if is_there else "404 Not Found"
        connection.sendall(f"HTTP/1.1 {said}\r\nContent-Length: 0\r\n\r\n".encode())

    with serving(say) as old:
        row = make_target(main, "WEBDAV", old.url)
        store(material(delivered(main), "m1"), b"photo")
        upload(main)
    row.refresh_from_db()
    assert list(there(crm).values()) == [b"photo"]
    assert (row.attempts, row.problem, row.is_test_asked) == (0, "", False)
    assert row.tested_at

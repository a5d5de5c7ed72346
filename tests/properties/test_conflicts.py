"""A person decides whose value stands, in the admin, and it is so on both sides."""

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import Permission, User
from django.urls import reverse

from crm_sync.models import Workspace
from properties.models import Change, Conflict, Property
from properties.sync import create, edit

LIST = "admin:properties_conflict_changelist"


def now() -> datetime:
    return datetime.now(UTC)


def remote(box) -> dict:
    found = box.workspace.properties.values()
    return next(p for p in found if p.get("objectReferenceId") == "A-1")


@pytest.fixture
def conflict(box, workspace, drain_all) -> Conflict:
    """Return an open conflict about the title; the number of rooms went out all the same."""
    Workspace.objects.update(conflict_policy="ask")
    row = create(workspace, "A-1", {"title": "Flat"}, origin="ADMIN", now=now())
    drain_all()
    box.edit_property(remote(box)["id"], {"title": "Theirs"})
    edit(row, {"title": "Ours", "numberOfRooms": 4}, origin="ADMIN", now=now())
    drain_all()
    return Conflict.objects.get(decision="")


def answer(client, action: str, *rows: Conflict):
    chosen = [str(row.pk) for row in rows]
    return client.post(reverse(LIST), {"action": action, "_selected_action": chosen})


def sides(box) -> tuple[str, str]:
    return Property.objects.get().desired["title"], remote(box)["title"]


def test_keeping_ours_sends_it(box, conflict, admin_client, drain_all):
    assert answer(admin_client, "keep_ours", conflict).status_code == 302
    drain_all()
    conflict.refresh_from_db()
    assert sides(box) == ("Ours", "Ours")
    assert (conflict.decision, conflict.decided_by.username) == ("OURS", "admin")
    assert Property.objects.get().problem == {}


def test_taking_theirs_is_an_edit_that_sends_nothing(box, conflict, admin_client, drain_all):
    box.calls.clear()
    answer(admin_client, "take_theirs", conflict)
    assert drain_all() == {"properties": {"in sync": 1}}
    conflict.refresh_from_db()
    assert sides(box) == ("Theirs", "Theirs")
    assert (conflict.decision, Property.objects.get().problem) == ("THEIRS", {})
    change = Change.objects.filter(path="title").order_by("pk").last()
    assert (change.old, change.new, change.actor.username) == ("Ours", "Theirs", "admin")
    assert [call[0] for call in box.calls] == ["GET"]


def test_what_is_decided_is_not_decided_again(box, conflict, admin_client, drain_all):
    answer(admin_client, "keep_ours", conflict)
    drain_all()
    before = Property.objects.values().get()
    answer(admin_client, "take_theirs", conflict)
    assert Property.objects.values().get() == before
    conflict.refresh_from_db()
    assert conflict.decision == "OURS"


def test_a_value_of_theirs_that_we_could_not_send_back_stays_open(conflict, admin_client):
    Conflict.objects.update(theirs="x" * 300)
    before = Property.objects.values().get()
    answer(admin_client, "take_theirs", conflict)
    conflict.refresh_from_db()
    assert (conflict.decision, Property.objects.values().get()) == ("", before)


def test_the_list_shows_all_three_values_escaped_and_get_decides_nothing(conflict, admin_client):
    Conflict.objects.update(base="<svg onload=alert(1)>")
    chosen = {"action": "keep_ours", "_selected_action": str(conflict.pk)}
    text = admin_client.get(reverse(LIST), chosen).content.decode()
    text = admin_client.get(reverse(LIST)).content.decode()
    assert "<svg onload" not in text
    for part in ("A-1: Title", "Ours", "Theirs", "&lt;svg onload=alert(1)&gt;"):
        assert part in text
    conflict.refresh_from_db()
    assert conflict.decision == ""


def test_a_viewer_cannot_decide(conflict, client):
    viewer = User.objects.create_user("viewer", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_conflict"))
    client.force_login(viewer)
    assert client.get(reverse(LIST)).status_code == 200
    answer(client, "keep_ours", conflict)
    conflict.refresh_from_db()
    assert conflict.decision == ""

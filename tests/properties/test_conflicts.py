"""A person decides whose value stands, in the admin, and it is so on both sides."""

import json

import pytest
from django.contrib.auth.models import Permission, User
from django.urls import reverse
from django.utils.timezone import now

from crm_sync.models import Workspace
from properties.domain.editing import create, edit
from properties.models import Change, Conflict, Property

LIST = "admin:properties_conflict_changelist"


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


def ask(client, action: str, *rows: Conflict, **more):
    chosen = {"action": action, "_selected_action": [str(row.pk) for row in rows]}
    return client.post(reverse(LIST), chosen | more)


def answer(client, action: str, *rows: Conflict):
    """Choose in the list, look at the page that comes, and confirm it as it was shown."""
    shown = ask(client, action, *rows)
    seen = shown.context["seen"] if shown.context and "seen" in shown.context else ""
    return ask(client, action, *rows, seen=seen)


def decide(client, row: Property, decision: str):
    """Open the page of a property's conflicts, and decide as it was shown."""
    url = reverse("admin:properties_conflict_decide", args=[row.pk])
    seen = client.get(url).context["seen"]
    return client.post(url, {"decision": decision, "seen": seen})


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


# --- before it goes ---
@pytest.fixture
def three(box, workspace, drain_all) -> Property:
    """Return a property with three open conflicts, and an edit of its own that went out."""
    Workspace.objects.update(conflict_policy="ask")
    first = {"title": "Flat", "numberOfRooms": 3, "prices.rent": {"gross": 100}}
    row = create(workspace, "A-1", first, origin="ADMIN", now=now())
    drain_all()
    rent = {"prices": {"rent": {"gross": 120}}}
    box.edit_property(remote(box)["id"], {"title": "Theirs", "numberOfRooms": 5} | rent)
    ours = {"title": "Ours", "numberOfRooms": 4, "prices.rent": {"gross": 90}}
    edit(row, ours, origin="ADMIN", now=now())
    drain_all()
    assert Conflict.objects.filter(decision="").count() == 3
    row.refresh_from_db()
    box.calls.clear()
    return row


def bodies(response) -> list[dict]:
    """Return the JSON bodies that a page shows, in its order; {} for nothing to send."""
    if "calls" in response.context:
        calls = response.context["calls"]
    else:
        calls = response.context["cases"][0]["calls"]
    return [json.loads(call["body"] or "{}") for call in calls]


def sent(box) -> list[dict]:
    """Return the bodies of the PATCHes that reached the platform."""
    return [call[2] for call in box.calls if call[0] == "PATCH"]


@pytest.mark.parametrize(("decision", "shown_at"), [("OURS", 0), ("THEIRS", 1)])
def test_the_body_that_is_shown_is_the_body_that_goes_out(
    box, three, admin_client, drain_all, decision, shown_at
):
    page = admin_client.get(reverse("admin:properties_conflict_decide", args=[three.pk]))
    shown = bodies(page)
    ours = {"title": "Ours", "numberOfRooms": 4, "prices": {"rent": {"gross": 90}}}
    assert shown == [ours, {}]
    assert decide(admin_client, three, decision).status_code == 302
    drain_all()
    assert sent(box) == ([shown[shown_at]] if shown[shown_at] else [])
    assert set(Conflict.objects.values_list("decision", flat=True)) == {decision}
    assert Property.objects.get().problem == {}


def test_choosing_in_the_list_changes_nothing_before_it_is_confirmed(three, admin_client):
    before = Property.objects.values().get()
    page = ask(admin_client, "keep_ours", *Conflict.objects.all())
    assert bodies(page) == [
        {"title": "Ours", "numberOfRooms": 4, "prices": {"rent": {"gross": 90}}}
    ]
    assert Property.objects.values().get() == before
    assert Conflict.objects.filter(decision="").count() == 3


def test_all_that_match_are_decided_together(three, admin_client):
    one = Conflict.objects.get(path="title")
    across = {"select_across": "1"}
    page = ask(admin_client, "take_theirs", one, **across)
    assert page.context["count"] == 3
    ask(admin_client, "take_theirs", one, seen=page.context["seen"], **across)
    assert Conflict.objects.filter(decision="THEIRS").count() == 3


@pytest.mark.parametrize("where", ["list", "property"])
def test_what_changed_meanwhile_is_shown_before_it_is_decided(three, admin_client, where):
    url = reverse("admin:properties_conflict_decide", args=[three.pk])
    title = Conflict.objects.get(path="title")
    old = admin_client.get(url).context["seen"]
    if where == "list":
        old = ask(admin_client, "take_theirs", title).context["seen"]
    Conflict.objects.filter(pk=title.pk).update(theirs="Newer")
    if where == "list":
        response = ask(admin_client, "take_theirs", title, seen=old)
    else:
        response = admin_client.post(url, {"decision": "THEIRS", "seen": old})
    assert response.status_code == 200
    assert "Something was changed meanwhile" in response.content.decode()
    assert "Newer" in response.content.decode()
    assert Conflict.objects.filter(decision="").count() == 3


def test_a_value_that_cannot_be_ours_is_said_before_and_the_others_are_taken(three, admin_client):
    Conflict.objects.filter(path="title").update(theirs="x" * 300)
    url = reverse("admin:properties_conflict_decide", args=[three.pk])
    call = admin_client.get(url).context["calls"][1]
    assert call["faults"] == ["Title: Use at most 255 characters, not 300"]
    decide(admin_client, three, "THEIRS")
    assert Conflict.objects.get(decision="").path == "title"
    fresh = Property.objects.get()
    assert (fresh.desired["title"], fresh.desired["numberOfRooms"]) == ("Ours", 5)

"""The list of properties and the page of one: bounded, escaped, and only for whom it is."""

import uuid
from datetime import timedelta

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from crm_sync.admin.ui.readonly import ROWS
from crm_sync.models import Workspace
from properties.catalog import GROUPS, TOP_LEVEL
from properties.domain.editing import edit
from properties.models import Batch, Change, Conflict, Property, Undo
from properties.models.property import SyncState, with_derived
from tests.problems import answered
from tests.properties.form_page import address, force, make, opened, post, save, state

LIST = "/admin/properties/property/"
CANARY = "<svg onload=alert(1)>"


def listed(client, query: str = "") -> list[str]:
    """Return the references that the list shows."""
    response = client.get(f"{LIST}{query}")
    assert response.status_code == 200
    return [row.object_reference_id for row in response.context["cl"].result_list]


@pytest.fixture
def flat(main) -> Property:
    return make(main, title="Flat", propertyType="APARTMENT", address={"locality": "Zürich"})


FIRST_AND_LAST = (["Overview"], ["Photos and documents", "Orders", "History"])


@pytest.mark.parametrize("known", [False, True])
def test_the_page_has_six_tabs_and_a_new_property_those_of_its_form(admin_client, flat, known):
    response = admin_client.get(address(flat.pk if known else None))
    before, after = FIRST_AND_LAST if known else ([], [])
    tabs = response.context["tabs"]
    assert [tab.title for tab in tabs] == [*before, "Data", "Texts", *after]
    groups = [group for group in GROUPS if group not in ("Read-only", "Extra")]
    assert [group.title for tab in tabs for group in tab.groups] == [
        *("General" if group == "Core" else group for group in groups),
        "Texts",
    ]
    leaves = {
        path.partition(".")[0].partition("[")[0]
        for path in response.context["adminform"].form.inputs
    }
    assert leaves == TOP_LEVEL.keys() - {"id", "rooms"}
    assert ('id="sync-group"' in response.content.decode()) is known


# --- the list ---
def test_the_list_takes_the_same_queries_for_1_row_and_for_many(admin_client, flat):
    listed(admin_client)  # what a process keeps from its first page on is not ours
    with CaptureQueriesContext(connection) as queries:
        assert len(listed(admin_client)) == 1
    for_one = len(queries)
    for n in range(99):
        problem = {"REFUSED": {"title": "bad"}} if n % 3 else {}
        row = Property(workspace=flat.workspace, object_reference_id=f"B-{n}", problem=problem)
        row.save()
    with CaptureQueriesContext(connection) as queries:
        assert len(listed(admin_client)) == ROWS
    about_us = [query for query in queries if "properties_" in query["sql"]]
    # Fields with a problem, how many, the page, its newest pictures, its addresses and prices; in
    # the sidebar, the number of conflicts.
    assert (len(queries), len(about_us)) == (for_one, 6)
    assert [query for query in queries if "fixed_token" in query["sql"]] == []  # S5
    assert [query for query in about_us if '"observed"' in query["sql"]] == []


def test_the_list_shows_state_references_and_what_waits(admin_client, flat):
    force(
        flat,
        platform_id="p-501",
        problem={"REFUSED": {"title": "too long", "author": "odd"}},
        pushed_at=now() - timedelta(minutes=4),
    )
    page = admin_client.get(LIST).content.decode()
    for text in ("A-1", "p-501", "Flat", "Apartment", "Zürich", "Refused", "4 min ago"):
        assert text in page
    assert "Author and 1 more: odd" in page


def test_the_list_tells_a_refusal_of_the_whole_property_in_a_sentence(admin_client, flat):
    why = answered("POST /v1/properties", 400, '{"message": "no room"}')
    force(flat, problem={"REFUSED": {"": why.stored}})
    page = admin_client.get(LIST).content.decode()
    assert "The property: " in page
    assert "POST /v1/properties" not in page


def test_a_property_is_found_by_what_people_know_of_it(admin_client, flat, main):
    force(flat, **with_derived(flat, {"platform_id": "p-501"}))
    make(main, "B-2", title="House", address={"locality": "Bern"})
    for words in ("a-1", "flat", "zurich", "Zuerich flat", "flat ZÜRI", "p-501"):
        assert listed(admin_client, f"?q={words}") == ["A-1"]
    for words in ("nothing", "flat bern", "--", "rich"):
        assert listed(admin_client, f"?q={words}") == []


def test_the_list_is_narrowed_by_state_workspace_and_type(admin_client, flat, main):
    make(
        Workspace.objects.create(slug="other", base_url="http://platform.test"),
        "B-1",
        propertyType="HOUSE",
    )
    synced = force(make(main, "C-1"), due_at=None, platform_id="1")
    assert listed(admin_client, "?state=IN_SYNC") == [synced.object_reference_id]
    assert listed(admin_client, "?state=NEVER_PUSHED") == ["A-1", "B-1"]
    assert listed(admin_client, "?state=NONSENSE") == ["A-1", "B-1", "C-1"]
    assert listed(admin_client, "?workspace=other") == ["B-1"]
    assert listed(admin_client, "?type=HOUSE") == ["B-1"]


def test_the_list_is_narrowed_to_a_field_with_a_problem(admin_client, flat, main):
    force(flat, problem={"REFUSED": {"title": "odd", "prices.rent": "odd"}, "GONE": {"": "gone"}})
    force(make(main, "B-1"), problem={"DIFFERS": {"title": "rounded"}})
    force(make(main, "C-1"), problem={})
    assert listed(admin_client, "?problem=title") == ["A-1", "B-1"]
    assert listed(admin_client, "?problem=prices.rent") == ["A-1"]
    assert listed(admin_client, "?problem=author") == []
    filters = admin_client.get(LIST).context["cl"].filter_specs
    offered = next(spec for spec in filters if spec.parameter_name == "problem").lookup_choices
    assert offered == [("prices.rent", "Rent (1)"), ("title", "Title (2)")]


def test_each_state_has_its_badge(admin_client, main):
    leased = {"lease_token": uuid.uuid4(), "lease_until": now() + timedelta(seconds=30)}
    wanted = {
        "IN_SYNC": {"due_at": None, "platform_id": "1"},
        "NEVER_PUSHED": {"due_at": None},
        "PENDING": {"due_at": now(), "platform_id": "2"},
        "PUSHING": {"due_at": now(), **leased},
        "HELD": {"due_at": now() + timedelta(hours=1), "wait_reason": "HELD", "platform_id": "3"},
        "TO_MATCH": {"due_at": now() + timedelta(hours=1), "wait_reason": "MATCH"},
    } | {
        kind: {"problem": {kind: {"": "why"}}, "due_at": None, "platform_id": kind}
        for kind in ("CONFLICT", "REFUSED", "DIFFERS", "CANNOT_CLEAR", "GONE", "DUPLICATE")
    }
    for state_, columns in wanted.items():
        force(make(main, state_), **columns)
    rows = admin_client.get(LIST).context["cl"].result_list
    assert {row.object_reference_id: row.sync_state for row in rows} == {s: s for s in wanted}
    page = admin_client.get(LIST).content.decode()
    for state_ in SyncState:
        assert f">{state_.label}</span>" in page


# --- the page ---
def test_the_page_takes_the_same_queries_however_long_its_history(admin_client, admin_user, flat):
    admin_client.get(address(flat.pk))  # what a process keeps from its first page on is not ours
    with CaptureQueriesContext(connection) as queries:
        admin_client.get(address(flat.pk))
    for_one = len(queries)
    for n in range(60):
        edit(flat, {"title": f"Flat {n}"}, origin="ADMIN", actor=admin_user, now=now())
        Conflict.objects.create(real_estate_property=flat, path="title", decision="OURS")
    with CaptureQueriesContext(connection) as queries:
        response = admin_client.get(address(flat.pk))
    about_us = [query for query in queries if "properties_" in query["sql"]]
    # The row, its changes, its conflicts, its picture; in the sidebar the number of all conflicts.
    assert (len(queries), len(about_us)) == (for_one, 5)
    assert len(response.context["sync"]["changes"]) == 5
    assert response.context["sync"]["changes"][0].values == ("Flat 58", "Flat 59")


def test_the_sync_tab_says_what_differs_and_what_would_be_sent(admin_client, flat):
    observed = flat.desired | {"title": "Theirs", "rooms": [{"name": "Attic"}], "id": "501"}
    desired = flat.desired | {
        "prices": {"rent": {"gross": 2}},
        "heatingType": "UNKNOWN",
        "author": "x",
    }
    force(
        flat,
        desired=desired,
        observed=observed | {"numberOfRooms": 3},
        platform_id="501",
        problem={"REFUSED": {"author": "odd"}},
        inflight={"title": ["Flat"]},
        leftover={"provider": "left"},
        last_answer="PATCH answered 200",
    )
    for ours, decision in ((1, "OURS"), (4, "")):
        Conflict.objects.create(
            real_estate_property=flat, path="title", ours=ours, base=2, theirs=3, decision=decision
        )
    response = admin_client.get(address(flat.pk))
    sync = response.context["sync"]
    shown = {d["path"]: (d["ours"], d["confirmed"]) for d in sync["differences"]}
    assert shown == {
        "author": ("x", "—"),
        "heatingType": ("UNKNOWN", "—"),
        "numberOfRooms": ("—", "3"),
        "prices.rent": ("Gross: 2", "—"),
        "title": ("Flat", "Theirs"),
    }
    states = {
        d["path"]: d["state"].partition(">")[2].partition("<")[0] for d in sync["differences"]
    }
    assert states == {
        "author": "Refused",
        "heatingType": "Cannot be sent",
        "numberOfRooms": "Cannot be sent",
        "prices.rent": "Will be sent",
        "title": "On its way",
    }
    assert (sync["call"], sync["agreeing"]) == ("A change of A-1", 3)
    assert sync["body"] == (
        '{\n  "prices": {\n    "rent": {\n      "gross": 2\n    }\n  },\n  "title": "Flat"\n}'
    )
    assert [event["values"] for event in sync["ended_conflicts"]] == [["2", "1", "3"]]
    page = response.content.decode()
    for text in ("PATCH answered 200", "From the feed", "Provider", "left"):
        assert text in page


def test_a_property_that_waits_says_why(admin_client, flat):
    def why() -> str:
        return dict(admin_client.get(address(flat.pk)).context["sync"]["facts"])["Waits because"]

    force(flat, due_at=now() + timedelta(minutes=1), wait_reason="PARENT")
    assert why() == "its parent must be created first"
    force(flat, due_at=now())
    assert why() == "—"


def test_what_is_unknown_to_this_app_is_shown(admin_client, flat):
    address_ = {"locality": "Bern", "newerMember": "in the address"}
    force(flat, desired=flat.desired | {"address": address_, "newerField": {"a": "on top"}})
    page = admin_client.get(address(flat.pk)).content.decode()
    for text in ("address.newerMember", "in the address", "newerField", "on top"):
        assert text in page


def test_text_from_outside_is_escaped_wherever_it_is_shown(admin_client, admin_user, main):
    item = {"languageCode": CANARY, "title": CANARY, CANARY: CANARY}
    document = dict.fromkeys(TOP_LEVEL, CANARY) | {
        "localizations": [item],
        "publishers": [{"id": CANARY, "options": [{"key": CANARY}]}],
        "customFields": {CANARY: CANARY},
        "propertyCategories": [CANARY],
        "prices": {"currency": CANARY, "rent": {"gross": CANARY}},
        "characteristics": {"hasBalcony": CANARY, CANARY: CANARY},
        "address": {"locality": CANARY, CANARY: CANARY},
        CANARY: CANARY,
        "rooms": [{"name": CANARY}, CANARY],
    }
    row = force(
        make(main, CANARY.replace("/", "")),
        desired=document,
        observed=document | {"title": f"{CANARY}2"},
        platform_id=CANARY,
        problem={"REFUSED": {"title": CANARY, CANARY: CANARY, "": CANARY}, CANARY: {"id": CANARY}},
        inflight={CANARY: [CANARY]},
        leftover={CANARY: CANARY},
        last_answer=CANARY,
    )
    Change.objects.create(
        real_estate_property=row, path=CANARY, old=CANARY, new=CANARY, note=CANARY, revision=1
    )
    Conflict.objects.create(
        real_estate_property=row, path=CANARY, ours=CANARY, base=CANARY, theirs=CANARY
    )
    change = Change.objects.latest("pk")
    batch = Batch.objects.create(kind="PUSH")
    batch.properties.add(row)
    force(row, due_at=None)
    running = Batch.objects.create(kind="PUSH", confirmed_at=now())
    running.properties.add(row)
    urls = (
        LIST,
        f"{LIST}?q={CANARY}",
        address(row.pk),
        f"{LIST}{row.pk}/history/",
        f"{LIST}{row.pk}/history/{change.pk}/undo/",
        f"{LIST}batch/{batch.pk}/",
        f"{LIST}batch/{running.pk}/",
        f"/admin/properties/conflict/decide/{row.pk}/",
        "/admin/properties/conflict/",
    )
    for url in urls:
        page = admin_client.get(url).content.decode()
        assert "&lt;svg onload" in page
        assert "<svg onload" not in page
    refused = save(admin_client, row, numberOfBedrooms=f"{CANARY}2").content.decode()
    assert ("is not a number" in refused, "<svg onload" in refused) == (True, False)


# --- who may what ---
def test_a_viewer_sees_all_and_changes_nothing(viewer, flat):
    before = state(flat)
    response = viewer.get(address(flat.pk))
    assert response.status_code == 200
    assert "Zürich" in response.content.decode()
    assert opened(viewer, flat).keys() == {"csrfmiddlewaretoken"}
    assert post(viewer, flat, {"title": "Mine"}).status_code == 403
    assert viewer.get(address()).status_code == 403
    assert state(flat) == before


@pytest.mark.rule("S17")
def test_a_viewer_can_trigger_nothing_at_any_address(viewer, flat):
    """S17: every action and every address that takes a POST."""
    force(flat, due_at=None, platform_id="1")
    change = Change.objects.get()
    undo = f"{LIST}{flat.pk}/history/{change.pk}/undo/?field=title"
    conflict = Conflict.objects.create(
        real_estate_property=flat, path="title", ours="a", theirs="b"
    )
    batch = Batch.objects.create(kind="PUSH")
    batch.properties.add(flat)
    before = state(flat)
    page = viewer.get(LIST).content.decode()
    for action in ("push", "read"):
        assert f'value="{action}"' not in page
        viewer.post(LIST, {"action": action, "_selected_action": [flat.pk]})
    assert Batch.objects.count() == 1
    for url in (
        undo,
        f"{LIST}{flat.pk}/read/",
        f"{LIST}batch/{batch.pk}/",
        "/admin/properties/conflict/decide/",
        f"/admin/properties/conflict/decide/{flat.pk}/",
    ):
        assert viewer.post(url, {"decision": "OURS", "seen": ""}).status_code == 403, url
    conflict.refresh_from_db()
    assert (state(flat), conflict.decision) == (before, "")
    history = viewer.get(f"{LIST}{flat.pk}/history/").content.decode()
    assert "/undo/" not in history
    assert viewer.get(undo).status_code == 403


@pytest.mark.rule("S17")
def test_every_action_of_the_properties_asks_for_a_permission():
    asked = {
        model: {
            name: getattr(screen, name).allowed_permissions
            for screen in [admin.site._registry[model]]
            for name in screen.actions
        }
        for model in (Property, Conflict)
    }
    assert asked[Property] == {
        **{name: ["change"] for name in ("push", "read", "set_fields")},
        **{f"export_{kind}": ["view"] for kind in ("csv", "xlsx", "json", "xml")},
        **{f"export_{kind}_zip": ["files"] for kind in ("json", "xml")},
    }
    assert set(map(tuple, asked[Conflict].values())) == {("act",)}


def test_who_may_not_see_properties_gets_none(db, flat):
    client = Client()
    client.force_login(User.objects.create(username="other", is_staff=True))
    assert [client.get(url).status_code for url in (LIST, address(flat.pk))] == [403, 403]


def test_who_may_change_but_not_delete_can_edit(db, flat):
    user = User.objects.create(username="agent", is_staff=True)
    rights = Permission.objects.filter(codename__in=["view_property", "change_property"])
    user.user_permissions.set(rights)
    flat.workspace.people.add(user)
    client = Client()
    client.force_login(user)
    assert save(client, flat, title="Theirs").status_code == 302
    assert Change.objects.get(path="title", origin="ADMIN").actor == user


def test_nothing_is_deleted_here(admin_client, flat):
    assert admin_client.post(f"{LIST}{flat.pk}/delete/", {"post": "yes"}).status_code == 403
    assert 'value="delete_selected"' not in admin_client.get(LIST).content.decode()
    assert list(Property.objects.all()) == [flat]


def test_get_changes_nothing_at_any_address_of_the_admin(admin_client, flat):
    before = state(force(flat, due_at=None))
    change = Change.objects.get()
    batch = Batch.objects.create(kind="PUSH")
    batch.properties.add(flat)
    undo = Undo.objects.create(workspace=flat.workspace, up_to=change.pk, ended_at=now())
    urls = [pattern for pattern in admin.site._registry[Property].get_urls() if pattern.name]
    for pattern in urls:
        path = str(pattern.pattern).replace("<path:object_id>", str(flat.pk))
        path = path.replace("<int:change_id>", str(change.pk))
        path = f"{path}?field=title" if "/undo/" in path else path
        path = path.replace("<int:batch_id>", str(batch.pk))
        path = path.replace("<int:undo_id>", str(undo.pk))
        assert admin_client.get(f"{LIST}{path}").status_code in (200, 301, 302, 403)
    admin_client.get(f"{LIST}?action=push&_selected_action={flat.pk}")
    assert (state(flat), Batch.objects.get().confirmed_at) == (before, None)


@pytest.mark.rule("S17")
def test_changing_needs_the_token_against_forged_requests(admin_user, flat):
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin_user)
    before = state(flat)
    chosen = {"action": "push", "_selected_action": [flat.pk]}
    assert client.post(LIST, chosen).status_code == 403
    assert client.post(f"{LIST}{flat.pk}/read/").status_code == 403
    assert client.post(address(flat.pk), {"title": "Forged"}).status_code == 403
    assert state(flat) == before

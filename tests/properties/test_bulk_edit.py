"""Set fields of many properties: a plan, one confirmation, and its undo."""

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from crm_sync.models import Workspace
from properties.admin.property import batch as batch_module, bulk_edit_page
from properties.domain import bulk_edit, undo_steps
from properties.domain.editing import edit
from properties.models import Batch, BatchEdit, Change, Property, Undo
from tests.crm_sync.admin_pages import client_of, queries_of
from tests.properties.form_page import force, make, read
from tests.properties.test_admin_batch import choose
from tests.properties.test_admin_changes import agent

HOW = {"origin": "ADMIN", "now": now()}


def plan_of(client: Client, *rows: Property, **entered: object) -> str:
    """Choose the rows and enter the values ("prices__rent__net"); return the page of the plan."""
    page = choose(client, "set_fields", *rows)
    plan_again(client, page, **entered)
    return page


def plan_again(client: Client, page: str, **entered: object) -> None:
    data = {name.replace("__", "."): value for name, value in entered.items()}
    response = client.post(page, {"step": "plan"} | data)
    assert (response.status_code, response["Location"]) == (302, page)


def confirm(client: Client, page: str) -> None:
    shown = client.get(page).context["planned_at"]
    assert client.post(page, {"step": "set", "planned_at": shown}).status_code == 302


def undo(client: Client, page: str, workspace: str = "main") -> Undo:
    """Follow *Undo for all*, confirm it, and let a worker do it."""
    address = dict(client.get(page).context["undo"])[workspace]
    plan = client.get(address).context["plan"]
    assert client.post(address, {"up_to": plan.up_to}).status_code == 302
    return undo_steps.finish(Undo.objects.latest("pk"))


def values(path: str, *rows: Property) -> list[object]:
    return [Property.objects.get(pk=row.pk).desired.get(path) for row in rows]


def counts(client: Client, page: str) -> bulk_edit.EditCounts:
    found: bulk_edit.EditCounts = client.get(page).context["counts"]
    return found


@pytest.fixture
def three(main) -> list[Property]:
    return [make(main, f"A-{n}", title=f"Flat {n}", author="Old") for n in range(3)]


# --- the plan ---
def test_the_plan_says_for_each_property_what_changes_what_stays_and_what_is_refused(
    admin_client, main
):
    geo = {"geo": {"latitude": 47.0, "longitude": 8.0}}
    rows = [
        make(main, "A-1", author="Old", address=geo),
        make(main, "B-1", author="New", address=geo),
        make(main, "C-1", author="Old"),
    ]
    page = plan_of(admin_client, *rows, author="New", address__geo__latitude="46.5")
    shown = {
        row["property"].split(">")[1][:3]: row for row in admin_client.get(page).context["rows"]
    }
    latitude = ("Address", "Coordinates · latitude: 47 °", "Coordinates · latitude: 46.5 °")
    author = ("Author", "Old", "New")
    assert {name: sorted(row["changes"]) for name, row in shown.items()} == {
        "A-1": [latitude, author],
        "B-1": [latitude],
        "C-1": [author],
    }
    assert {name: row["same"] for name, row in shown.items()} == {
        "A-1": [],
        "B-1": ["Author"],
        "C-1": [],
    }
    assert [name for name, row in shown.items() if row["refused"]] == ["C-1"]
    assert list(shown) == ["C-1", "A-1", "B-1"]  # what is refused stands first
    found = counts(admin_client, page)
    assert (found.to_set, found.unchanged, found.refused) == (3, 0, 1)


def test_a_plan_changes_nothing(admin_client, three):
    before = list(Property.objects.order_by("pk").values())
    plan_of(admin_client, *three, author="New")
    assert list(Property.objects.order_by("pk").values()) == before


def test_the_form_takes_no_value_that_the_platform_would_refuse(admin_client, three):
    page = choose(admin_client, "set_fields", *three)
    response = admin_client.post(page, {"step": "plan", "title": "x" * 256})
    assert response.status_code == 200
    assert "ps-error" in response.content.decode()
    assert not BatchEdit.objects.exists()


@pytest.mark.parametrize(
    ("entered", "said"),
    [
        ({}, "Nothing is entered yet"),
        ({"author": "New", "clear": "author"}, "Either set this field or clear it"),
        ({"clear": "objectReferenceId"}, "not one of the available choices"),
        ({"objectReferenceId": "X", "id": "7"}, "Nothing is entered yet"),
    ],
)
def test_the_form_says_what_it_does_not_take(admin_client, three, entered, said):
    page = choose(admin_client, "set_fields", *three)
    assert said in admin_client.post(page, {"step": "plan"} | entered).content.decode()
    assert not BatchEdit.objects.exists()


def test_the_fields_can_be_changed_before_they_are_set(admin_client, three):
    page = plan_of(admin_client, *three, author="New", clear="title")
    response = admin_client.get(f"{page}?change")
    assert response.context["clear"].value() == ["title"]
    assert 'value="New"' in response.content.decode()
    plan_again(admin_client, page, author="Newer")
    confirm(admin_client, page)
    assert values("author", *three) == ["Newer"] * 3
    assert values("title", *three) == ["Flat 0", "Flat 1", "Flat 2"]


# --- the edit ---
def test_all_fields_are_set_in_one_revision_of_each_property_by_the_person_in_one_batch(
    admin_client, admin_user, three
):
    revisions = [row.revision for row in three]
    page = plan_of(admin_client, *three, author="New", isFurnished="true", clear="title")
    confirm(admin_client, page)
    for row, before in zip(three, revisions, strict=True):
        row.refresh_from_db()
        assert (row.revision, row.is_urgent) == (before + 1, True)
        assert row.due_at is not None
        made = Change.objects.filter(real_estate_property=row, revision=row.revision)
        batch = Batch.objects.get()
        assert {(one.path, one.new, one.actor, one.origin, one.note) for one in made} == {
            ("author", "New", admin_user, "ADMIN", f"batch {batch.pk}: set for 3"),
            ("isFurnished", True, admin_user, "ADMIN", f"batch {batch.pk}: set for 3"),
            ("title", None, admin_user, "ADMIN", f"batch {batch.pk}: set for 3"),
        }
    found = counts(admin_client, page)
    assert (found.written, found.to_set, found.left) == (3, 0, 0)


def test_a_member_of_an_object_is_set_and_the_others_stay(admin_client, main):
    rows = [make(main, f"A-{n}", address={"street": f"Street {n}"}) for n in range(2)]
    page = plan_of(admin_client, *rows, address__locality="Bern", clear="address.street")
    confirm(admin_client, page)
    assert values("address", *rows) == [{"locality": "Bern"}] * 2
    undo(admin_client, page)
    assert values("address", *rows) == [{"street": "Street 0"}, {"street": "Street 1"}]


def test_the_history_of_a_property_leads_to_the_batch(admin_client, three):
    page = plan_of(admin_client, *three, author="New")
    confirm(admin_client, page)
    history = admin_client.get(f"/admin/properties/property/{three[0].pk}/history/")
    assert f'href="{page}"' in history.content.decode()


@pytest.mark.rule("S12")
def test_a_history_leads_nobody_to_a_batch_with_properties_of_another_workspace(
    admin_client, main, three
):
    other = Workspace.objects.create(slug="other", base_url="http://platform.test")
    pages = []
    for rows, author in ((three[:1], "New"), ([three[0], make(other, "B-1")], "Newer")):
        pages.append(plan_of(admin_client, *rows, author=author))
        confirm(admin_client, pages[-1])
    person = agent(main)
    history = person.get(f"/admin/properties/property/{three[0].pk}/history/")
    found = [one.batch for one in history.context["entries"] if one.path == "author"]
    assert found == ["", pages[0]]
    assert [person.get(page).status_code for page in pages] == [200, 404]


def test_all_of_the_filter_are_set_though_one_page_shows_fewer(admin_client, three):
    force(three[2], platform_id="1", due_at=None)
    page = choose(
        admin_client,
        *("set_fields", three[0]),
        query="?state=NEVER_PUSHED",
        select_across="1",
        index="0",
    )
    plan_again(admin_client, page, author="New")
    confirm(admin_client, page)
    assert values("author", *three) == ["New", "New", "Old"]


def test_more_than_the_bound_are_not_taken(admin_client, three, monkeypatch):
    monkeypatch.setattr(batch_module, "MOST", 2)
    chosen = {"action": "set_fields", "_selected_action": [row.pk for row in three]}
    response = admin_client.post("/admin/properties/property/", chosen, follow=True)
    assert "At most 2 at a time" in response.content.decode()
    assert not Batch.objects.exists()


# --- two people ---
@pytest.mark.rule("I1")
def test_what_a_colleague_saves_between_plan_and_confirmation_is_left_and_named(
    admin_client, three
):
    page = plan_of(admin_client, *three, author="New", isFurnished="true")
    anna = User.objects.create_user("anna")
    edit(three[0], {"author": "Anna's"}, actor=anna, **HOW)
    edit(three[1], {"title": "Another field"}, actor=anna, **HOW)
    edit(three[2], {"author": "New"}, actor=anna, **HOW)
    confirm(admin_client, page)
    assert values("author", *three) == ["Anna's", "New", "New"]
    assert values("isFurnished", *three) == [True, True, True]
    assert counts(admin_client, page).left == 1
    assert "anna changed it after the plan" in admin_client.get(page).content.decode()


@pytest.mark.rule("I1")
def test_a_colleague_who_saves_while_it_is_set_is_not_overwritten(admin_client, three, monkeypatch):
    page = plan_of(admin_client, *three, author="New")
    read_rows = bulk_edit._each

    def late(edits):
        for one in read_rows(edits):
            if one.real_estate_property_id == three[0].pk:
                edit(Property.objects.get(pk=three[0].pk), {"author": "Late"}, **HOW)
            yield one

    monkeypatch.setattr(bulk_edit, "_each", late)
    confirm(admin_client, page)
    assert values("author", *three) == ["Late", "New", "New"]
    assert counts(admin_client, page).left == 1


def test_a_plan_that_somebody_replaced_is_not_confirmed(admin_client, three):
    page = plan_of(admin_client, *three, author="New")
    shown = admin_client.get(page).context["planned_at"]
    plan_again(admin_client, page, author="Another")
    response = admin_client.post(page, {"step": "set", "planned_at": shown}, follow=True)
    assert "Somebody has made another plan since" in response.content.decode()
    assert values("author", *three) == ["Old"] * 3


def test_what_was_set_is_neither_set_nor_planned_again(admin_client, three):
    page = plan_of(admin_client, *three, author="New")
    shown = admin_client.get(page).context["planned_at"]
    confirm(admin_client, page)
    edit(Property.objects.get(pk=three[0].pk), {"author": "Later"}, **HOW)
    admin_client.post(page, {"step": "set", "planned_at": shown})
    plan_again(admin_client, page, author="Third")
    assert values("author", *three) == ["Later", "New", "New"]


# --- the undo ---
def test_undo_for_all_takes_back_what_nobody_changed_and_names_what_it_keeps(admin_client, three):
    page = plan_of(admin_client, *three, author="New", title="One title")
    confirm(admin_client, page)
    anna = User.objects.create_user("anna")
    edit(Property.objects.get(pk=three[1].pk), {"author": "Anna's"}, actor=anna, **HOW)
    edit(Property.objects.get(pk=three[2].pk), {"author": "Old"}, actor=anna, **HOW)
    job = undo(admin_client, page)
    assert values("author", *three) == ["Old", "Anna's", "Old"]
    assert values("title", *three) == ["Flat 0", "Flat 1", "Flat 2"]
    assert job.kept[0][2:4] == ["author", "SINCE"]
    assert job.counts == {"fields": 4, "properties": 3, "kept": 1}


def test_an_undo_touches_only_what_the_batch_wrote(admin_client, three):
    edit(three[0], {"author": "New"}, **HOW)
    page = plan_of(admin_client, *three, author="New")
    confirm(admin_client, page)
    undo(admin_client, page)
    assert values("author", *three) == ["New", "Old", "Old"]


def test_each_workspace_of_a_batch_has_its_own_undo(admin_client, main, three):
    other = Workspace.objects.create(slug="other", base_url="http://platform.test")
    theirs = make(other, "B-1", author="Old")
    page = plan_of(admin_client, *three, theirs, author="New")
    confirm(admin_client, page)
    assert [slug for slug, _ in admin_client.get(page).context["undo"]] == ["main", "other"]
    undo(admin_client, page, workspace="other")
    assert values("author", *three, theirs) == ["New", "New", "New", "Old"]


# --- large, and interrupted ---
def test_one_request_works_for_a_bounded_time_and_the_next_one_goes_on(
    admin_client, three, monkeypatch
):
    monkeypatch.setattr(bulk_edit_page, "SECONDS", 0.0)
    page = plan_of(admin_client, *three, author="New")
    confirm(admin_client, page)
    assert values("author", *three) == ["New", "Old", "Old"]
    shown = admin_client.get(page)
    assert "2 are still to be set" in shown.content.decode()
    assert shown.context["undo"] == []  # first the whole edit, then its undo
    other = client_of("properties.view_property", "properties.change_property")
    for _ in range(3):
        other.post(page, {"step": "go on"})
    assert values("author", *three) == ["New", "New", "New"]
    actors = Change.objects.filter(path="author", new="New").values_list("actor__username")
    assert set(actors) == {("admin",)}  # who confirmed it, not who went on


def test_a_request_that_dies_in_the_middle_has_done_whole_properties_and_the_next_goes_on(
    admin_client, three, monkeypatch
):
    page = plan_of(admin_client, *three, author="New")
    real = bulk_edit.edit

    def dies(row, *args, **more):
        done = real(row, *args, **more)
        if row.pk == three[1].pk:
            raise KeyboardInterrupt
        return done

    monkeypatch.setattr(bulk_edit, "edit", dies)
    with pytest.raises(KeyboardInterrupt):
        confirm(admin_client, page)
    assert values("author", *three) == ["New", "Old", "Old"]
    assert counts(admin_client, page).to_set == 2
    monkeypatch.undo()
    admin_client.post(page, {"step": "go on"})
    assert values("author", *three) == ["New", "New", "New"]
    assert Change.objects.filter(path="author", new="New").count() == 3


@pytest.mark.parametrize("step", ["form", "plan", "result"])
def test_the_queries_of_a_page_are_the_same_for_1_and_for_60_properties(admin_client, main, step):
    def queries(*rows: Property) -> int:
        page = choose(admin_client, "set_fields", *rows)
        if step != "form":
            plan_again(admin_client, page, author="New")
        if step == "result":
            confirm(admin_client, page)
            while counts(admin_client, page).to_set:  # one request may end before all are set
                admin_client.post(page, {"step": "go on"})
        return queries_of(admin_client, page)

    rows = [make(main, f"A-{n}") for n in range(61)]
    assert queries(*rows[1:]) == queries(rows[0])


def test_a_property_costs_a_bounded_number_of_statements(admin_client, main):
    def statements(*rows: Property) -> int:
        page = plan_of(admin_client, *rows, author="New")
        shown = admin_client.get(page).context["planned_at"]
        with CaptureQueriesContext(connection) as captured:
            admin_client.post(page, {"step": "set", "planned_at": shown})
        return len(captured)

    few, many = ([make(main, f"{n}-{m}") for m in range(n)] for n in (2, 22))
    statements(make(main, "X-1"))
    assert (statements(*many) - statements(*few)) / 20 <= 12


# --- who may ---
def test_who_may_only_view_sees_the_plan_and_cannot_set(admin_client, three):
    page = plan_of(admin_client, *three, author="New")
    viewer = client_of("properties.view_property")
    html = viewer.get(page).content.decode()
    assert "Set them now" not in html
    for step in ("plan", "set", "go on"):
        assert viewer.post(page, {"step": step, "author": "X"}).status_code == 403
    chosen = {"action": "set_fields", "_selected_action": [three[0].pk]}
    viewer.post("/admin/properties/property/", chosen)
    assert Batch.objects.count() == 1
    assert values("author", *three) == ["Old"] * 3


def test_properties_of_another_workspace_are_out_of_reach(admin_client, main, three):
    other = Workspace.objects.create(slug="other", base_url="http://platform.test")
    theirs = make(other, "B-1", author="Old")
    page = plan_of(admin_client, *three, theirs, author="New")
    person = client_of("properties.view_property", "properties.change_property")
    user = User.objects.get(username__startswith="user-")
    user.user_permissions.remove(Permission.objects.get(codename="all_workspaces"))
    user.workspaces.add(main)
    assert person.get(page).status_code == 404
    assert person.post(page, {"step": "go on"}).status_code == 404
    chosen = {"action": "set_fields", "_selected_action": [three[0].pk, theirs.pk]}
    person.post("/admin/properties/property/", chosen)
    assert theirs not in Batch.objects.latest("pk").properties.all()


def test_an_untouched_form_enters_nothing(admin_client, three):
    page = choose(admin_client, "set_fields", *three)
    html = admin_client.get(page).content.decode().replace("<form ", '<form id="property_form" ')
    posted = read(html)
    assert len(posted) > 100
    response = admin_client.post(page, posted | {"step": "plan"})
    assert "Nothing is entered yet" in response.content.decode()

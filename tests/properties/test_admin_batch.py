"""Push and read in bulk: a plan first, then a progress that comes to an end."""

import uuid
from dataclasses import asdict
from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from crm_sync.models import Workspace
from properties.domain.editing import create, edit
from properties.models import Batch, Property
from properties.push import batches
from tests.crm_sync.admin_pages import client_of
from tests.platforms import delete
from tests.properties.form_page import force, make

LIST = "/admin/properties/property/"


def choose(client, action: str, *rows: Property, query: str = "", **more) -> str:
    """Choose an action in the list; returns the address of the plan."""
    chosen = {"action": action, "_selected_action": [row.pk for row in rows]} | more
    response = client.post(f"{LIST}{query}", chosen)
    assert response.status_code == 302
    return response["Location"]


def progress(client, page: str) -> dict:
    found = client.get(f"{page}progress/").context["progress"]
    return asdict(found) | {"is_finished": found.is_finished}


def due(*rows: Property) -> list[bool]:
    return [Property.objects.get(pk=row.pk).due_at is not None for row in rows]


@pytest.fixture
def stock(box, workspace, drain_all) -> list[Property]:
    """Return three properties in step with the platform."""
    rows = [
        create(workspace, f"A-{n}", {"title": f"Flat {n}"}, origin="FEED", now=now())
        for n in range(3)
    ]
    drain_all()
    for row in rows:
        row.refresh_from_db()
    box.calls.clear()
    return rows


def test_the_plan_says_what_a_push_does_and_changes_nothing(admin_client, main):
    same = {"desired": {"title": "x"}, "observed": {"title": "x"}, "due_at": None}
    changed = force(
        make(main, "B-1", title="New", author="odd", isFurnished=True),
        platform_id="1",
        observed={"title": "Old", "objectReferenceId": "B-1"},
        problem={"REFUSED": {"author": "must be a name"}},
    )
    rows = [
        changed,
        make(main, "C-1", title="Not sent yet"),
        force(make(main, "D-1"), platform_id="2", **same),
        force(make(main, "E-1"), platform_id=None, problem={"GONE": {"": "gone"}}, observed={}),
    ]
    page = choose(admin_client, "push", *rows)
    plan = admin_client.get(page).context["plan"]
    counts = (plan.total, plan.changed, plan.created, plan.again, plan.unchanged)
    assert counts == (4, 1, 2, 1, 1)
    assert plan.blocked == {"GONE": (1, 0), "REFUSED": (1, 1)}
    shown = {step.row.object_reference_id: (step.call, set(step.parts)) for step in plan.steps}
    assert shown == {
        "B-1": ("PATCH", {"title", "isFurnished"}),
        "C-1": ("POST", {"title", "objectReferenceId"}),
        "E-1": ("POST", {"objectReferenceId"}),
    }
    html = admin_client.get(page).content.decode()
    for part in ("Furnished:</span> Yes", "Author:</span> must be a name", "Send them now"):
        assert part in html
    assert due(rows[2]) == [False]


def test_the_plan_names_the_workspace_that_is_paused(admin_client, main):
    Workspace.objects.update(paused_until=now() + timedelta(minutes=5), problem="429 of theirs")
    page = admin_client.get(choose(admin_client, "push", make(main)))
    assert [(w.slug, count) for w, count in page.context["plan"].paused] == [("main", 1)]
    assert "429 of theirs" in page.content.decode()


def test_the_plan_is_bounded_and_takes_the_same_queries_for_1_and_for_60_rows(admin_client, main):
    def queries(page: str) -> int:
        admin_client.get(page)
        with CaptureQueriesContext(connection) as captured:
            admin_client.get(page)
        assert [query for query in captured if "fixed_token" in query["sql"]] == []  # S5
        return len(captured)

    first = make(main, "A-0")
    for_one = queries(choose(admin_client, "push", first))
    rows = [make(main, f"B-{n}") for n in range(59)]
    page = choose(admin_client, "push", first, *rows)
    assert queries(page) == for_one
    plan = admin_client.get(page).context["plan"]
    assert (plan.total, plan.created, len(plan.steps)) == (60, 60, batches.FIRST)


def test_a_plan_of_very_many_says_how_many_it_did_not_count(admin_client, main, monkeypatch):
    monkeypatch.setattr(batches, "COUNTED", 2)
    page = admin_client.get(choose(admin_client, "push", *(make(main, f"A-{n}") for n in range(5))))
    plan = page.context["plan"]
    assert (plan.total, plan.created, plan.uncounted) == (5, 2, 3)
    assert "the other 3 are handled in the same way" in page.content.decode()


def test_a_push_runs_to_its_end_and_the_page_follows_it(
    box, stock, workspace, admin_client, drain_all
):
    one, two, _ = stock
    edit(one, {"title": "Changed"}, origin="ADMIN", now=now())
    force(one, due_at=None)
    page = choose(admin_client, "push", one, two)
    assert due(*stock) == [False, False, False]
    assert admin_client.post(page).status_code == 302
    assert due(*stock) == [True, True, False]
    waiting = progress(admin_client, page)
    assert waiting == {
        **{"total": 2, "waiting": 2, "delayed": 0, "under_way": 0},
        **{"done": 0, "person": 0, "is_finished": False},
    }
    drain_all()
    finished = {"waiting": 0, "done": 2, "is_finished": True}
    assert progress(admin_client, page) == waiting | finished
    there = {p["objectReferenceId"]: p["title"] for p in box.workspace.properties.values()}
    assert [there[f"A-{n}"] for n in range(3)] == ["Changed", "Flat 1", "Flat 2"]
    # Both are due since one moment, so either may come first.
    assert sorted(call[0] for call in box.calls) == ["GET", "GET", "PATCH"]


def test_rows_that_need_a_person_are_counted_and_named(stock, admin_client, drain_all):
    one, two, _ = stock
    desired = one.desired | {"heatingType": "NO_SUCH_VALUE"}
    force(one, desired=desired, revision=one.revision + 1, due_at=None)
    page = choose(admin_client, "push", one, two)
    admin_client.post(page)
    drain_all()
    counts = progress(admin_client, page)
    assert (counts["done"], counts["person"], counts["is_finished"]) == (1, 1, True)
    html = admin_client.get(page).content.decode()
    assert "Heating type" in html
    assert "A-0" in html


def test_a_row_that_failed_and_one_that_a_worker_holds_are_told_apart(admin_client, main):
    later = now() + timedelta(seconds=60)
    rows = [make(main, f"A-{n}") for n in range(4)]
    force(rows[0], attempts=2, due_at=later)
    force(rows[1], lease_token=uuid.uuid4(), lease_until=later)
    force(rows[2], due_at=later, verify_at=later)  # only its verifying read is left
    batch = Batch.objects.create(kind="PUSH", confirmed_at=now())
    batch.properties.set(rows)
    counts = progress(admin_client, f"{LIST}batch/{batch.pk}/")
    assert counts == {
        **{"total": 4, "waiting": 2, "delayed": 1, "under_way": 1},
        **{"done": 1, "person": 0, "is_finished": False},
    }


def test_who_confirms_a_choice_of_somebody_else_stands_there_as_who_did(stock, admin_client):
    page = choose(admin_client, "push", *stock)
    other = client_of("properties.view_property", "properties.change_property")
    other.post(page)
    batch = Batch.objects.get()
    assert (batch.created_by.username, batch.confirmed_by.is_superuser) == ("admin", False)
    assert f"by {batch.confirmed_by.username}." in admin_client.get(page).content.decode()


def test_a_batch_is_started_once(stock, admin_client):
    page = choose(admin_client, "push", *stock)
    admin_client.post(page)
    Property.objects.update(due_at=None)
    admin_client.post(page)
    assert due(*stock) == [False, False, False]


def test_all_that_match_are_chosen_though_one_page_shows_fewer(admin_client, main, monkeypatch):
    rows = [force(make(main, f"A-{n}"), due_at=None) for n in range(3)]
    force(rows[2], platform_id="1")
    page = choose(
        admin_client, "push", rows[0], query="?state=NEVER_PUSHED", select_across="1", index="0"
    )
    assert admin_client.get(page).context["plan"].total == 2
    admin_client.post(page)  # the state of the rows changes with this: the choice stays
    assert due(*rows) == [True, True, False]


def test_starting_rings_for_each_workspace(
    admin_client, main, rings, django_capture_on_commit_callbacks
):
    other = Workspace.objects.create(slug="other", base_url="http://platform.test")
    rows = [force(make(main, "A-1"), due_at=None), force(make(other, "A-1"), due_at=None)]
    page = choose(admin_client, "push", *rows)
    assert rings == []
    with django_capture_on_commit_callbacks(execute=True):
        admin_client.post(page)
    assert sorted(rings) == [("properties", main.pk), ("properties", other.pk)]


# --- read ---
@pytest.mark.parametrize("reads_before_write", [True, False])
@pytest.mark.parametrize("how", ["list", "page"])
def test_a_read_takes_over_what_others_changed(
    box, stock, admin_client, drain_all, how, reads_before_write
):
    Workspace.objects.update(read_before_write=reads_before_write)
    row = stock[0]
    box.edit_property(row.platform_id, {"title": "Theirs"})
    if how == "list":
        admin_client.post(choose(admin_client, "read", row))
    else:
        admin_client.post(f"{LIST}{row.pk}/read/")
    drain_all()
    assert [call[0] for call in box.calls] == ["GET"]
    fresh = Property.objects.get(pk=row.pk)
    assert (fresh.desired["title"], fresh.due_at, fresh.verify_at) == ("Theirs", None, None)


def test_a_read_creates_nothing_again_that_is_gone(box, stock, admin_client, drain_all):
    row = stock[0]
    delete(box, row.platform_id)
    admin_client.post(f"{LIST}{row.pk}/read/")
    drain_all()
    gone = Property.objects.get(pk=row.pk)
    assert list(gone.problem) == ["GONE"]
    page = choose(admin_client, "read", *stock)
    plan = admin_client.get(page).context["plan"]
    assert (plan.left_out, plan.created) == (1, 0)
    admin_client.post(page)
    admin_client.post(f"{LIST}{row.pk}/read/")
    assert due(*stock) == [False, True, True]
    page = admin_client.get(f"{LIST}{row.pk}/change/").content.decode()
    assert "Refresh from the platform" not in page


def test_a_read_of_nothing_but_what_is_gone_was_not_started_before(admin_client, main):
    gone = {"platform_id": "1", "problem": {"GONE": {"": "gone"}}, "due_at": None}
    row = force(make(main), **gone)
    page = choose(admin_client, "read", row)
    said = admin_client.post(page, follow=True).context["messages"]
    assert [str(one) for one in said] == []
    batch = Batch.objects.get()
    assert (batch.confirmed_at is None, due(row)) == (False, [False])
    again = admin_client.post(page, follow=True).context["messages"]
    assert [str(one) for one in again] == ["This was started before."]


def test_a_read_never_forgets_what_may_still_be_on_its_way(main):
    later = now() + timedelta(seconds=30)
    Workspace.objects.update(read_before_write=False)
    waits = force(
        make(main, "A-1"), platform_id="1", due_at=later, verify_at=later, inflight={"title": ["x"]}
    )
    blocked = force(make(main, "B-1"), platform_id="2", inflight={"title": ["x"]})
    batches.read_now(Property.objects.all(), now=now())
    for row in (waits, blocked):
        before = (row.verify_at, row.inflight)
        row.refresh_from_db()
        assert (row.verify_at, row.inflight) == before


def test_the_page_says_as_of_when_it_is_in_sync(stock, admin_client):
    page = admin_client.get(f"{LIST}{stock[0].pk}/change/").content.decode()
    for part in ("In sync as of", "Refresh from the platform", "POST answered 201"):
        assert part in page


def test_old_batches_are_forgotten_when_a_new_one_is_chosen(main, admin_user):
    def at(days: float, confirmed: bool) -> Batch:
        moment = now() - timedelta(days=days)
        return Batch.objects.create(
            kind="PUSH", created_at=moment, confirmed_at=moment if confirmed else None
        )

    kept = [at(0.5, confirmed=False), at(29, confirmed=True)]
    at(2, confirmed=False)
    at(31, confirmed=True)
    new = batches.choose(Property.objects.all(), Batch.Kind.PUSH, actor=admin_user, now=now())
    assert set(Batch.objects.all()) == {*kept, new}


@pytest.mark.rule("S12")
def test_nobody_else_sees_a_batch_whose_properties_are_gone(admin_client, main):
    other = Workspace.objects.create(slug="other", base_url="http://other.test")
    person = User.objects.create(username="stranger", is_staff=True)
    person.user_permissions.add(Permission.objects.get(codename="view_property"))
    other.people.add(person)
    stranger = Client()
    stranger.force_login(person)
    row = make(main)
    page = choose(admin_client, "set_fields", row)
    admin_client.post(page, {"step": "plan", "author": "Known to main alone"})
    assert stranger.get(page).status_code == 404
    row.delete()  # as the undo of its creation does
    assert stranger.get(page).status_code == 404
    assert admin_client.get(page).status_code == 200

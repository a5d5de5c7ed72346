"""The pull: everything the platform holds is found, and nothing is called gone by mistake (I28)."""

import json
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils.timezone import now

from crm_sync.models import Workspace
from crm_sync.platform.errors import TransientError
from orders.models import Order
from properties.domain.editing import create, due_now, edit
from properties.models import Change, Conflict, Property, Recurring, Walk
from properties.pull.walk import pull
from tests.conftest import PLATFORM
from tests.orders.admin_rows import make_order
from tests.platforms import Between
from tests.problems import as_texts
from tests.properties.recurring import Kind, row_of, take

LIST = "/v1/real-estate-properties"


def put(box, number: int, **members) -> str:
    """Add a property on the platform, as somebody there would; returns its id."""
    key = f"9{number:04}"
    document = {"id": key, "title": f"House {number}", "objectReferenceId": f"P-{number}"}
    box.workspace.properties[key] = document | members
    return key


@pytest.fixture
def stock(box) -> list[str]:
    box.workspace.properties.clear()
    return [put(box, number) for number in range(25)]


def walk(workspace, size=10) -> Walk:
    return list(pull(workspace, size=size))[-1]


def later(drain_all, hours: float):
    with time_machine.travel(now() + timedelta(hours=hours), tick=True):
        return drain_all()


@pytest.mark.rule("2.4 rule list", "4.6 GET properties")
def test_a_first_pull_mirrors_every_property_and_reads_it_in_full(box, workspace, stock, drain_all):
    box.workspace.properties[stock[3]] = box.workspace.properties[stock[3]] | {"floor": 3}
    done = walk(workspace)
    assert (done.listed, done.added, done.asked, done.missing, done.page) == (25, 25, 25, 0, 3)
    assert drain_all() == {"properties": {"in sync": 25}}
    assert {row.platform_id for row in Property.objects.all()} == set(stock)
    assert Property.objects.get(platform_id=stock[3]).desired["floor"] == 3
    assert not [call for call in box.calls if call[0] != "GET"]


def test_a_second_pull_reads_the_pages_and_nothing_else(box, workspace, stock, drain_all):
    walk(workspace)
    drain_all()
    box.calls.clear()
    done = walk(workspace)
    assert (done.listed, done.added, done.asked, done.missing) == (25, 0, 0, 0)
    assert drain_all() == {}
    assert [(method, path) for method, path, _, _ in box.calls] == [("GET", LIST)] * 3


@pytest.mark.rule("2.4 rule list")
def test_a_change_that_the_list_shows_is_read_at_once_and_any_other_within_a_day(
    box, workspace, stock, drain_all
):
    walk(workspace)
    drain_all()
    box.edit_property(stock[1], {"title": "Renamed"})
    box.edit_property(stock[2], {"numberOfRooms": 7})
    assert walk(workspace).asked == 1
    drain_all()
    assert Property.objects.get(platform_id=stock[1]).desired["title"] == "Renamed"
    assert "numberOfRooms" not in Property.objects.get(platform_id=stock[2]).desired
    with time_machine.travel(now() + timedelta(hours=25), tick=True):
        assert walk(workspace).asked == 25
        drain_all()
    assert Property.objects.get(platform_id=stock[2]).desired["numberOfRooms"] == 7
    assert Change.objects.get(path="numberOfRooms").origin == "PLATFORM"


def test_a_reference_that_changes_in_the_list_is_read_at_once(box, workspace, stock, drain_all):
    unnamed = put(box, 30)
    box.workspace.properties[unnamed].pop("objectReferenceId")
    walk(workspace)
    drain_all()
    box.edit_property(stock[1], {"objectReferenceId": "Q-1"})
    box.edit_property(unnamed, {"objectReferenceId": "Q-30"})
    box.workspace.properties[stock[2]].pop("objectReferenceId")
    box.calls.clear()
    assert walk(workspace).asked == 3
    drain_all()
    found = dict(Property.objects.values_list("platform_id", "object_reference_id"))
    assert (found[stock[1]], found[unnamed]) == ("Q-1", "Q-30")
    assert "objectReferenceId" not in Property.objects.get(platform_id=stock[2]).observed
    assert walk(workspace).asked == 0


@pytest.mark.rule("4.6 page")
def test_a_walk_that_is_stopped_goes_on_at_its_page(box, workspace, stock, drain_all):
    steps = pull(workspace, size=10)
    next(steps)
    steps.close()
    box.calls.clear()
    done = walk(workspace)
    assert (done.listed, done.added, Walk.objects.count()) == (25, 25, 1)
    assert len(box.calls) == 2


def test_a_platform_that_fails_in_the_middle_leaves_the_walk_where_it_is(
    box, workspace, stock, drain_all
):
    between = Between(box, PLATFORM)
    pages = []

    def fail_second(environ):
        pages.append(environ["QUERY_STRING"])
        return ("500 Internal Server Error", [], b"") if len(pages) == 2 else None

    between.before = fail_second
    with pytest.raises(TransientError):
        walk(workspace)
    stopped = Walk.objects.get()
    assert (stopped.page, stopped.listed, stopped.finished_at) == (1, 10, None)
    assert Property.objects.count() == 10
    assert walk(workspace).listed == 25
    assert pages == [f"page={page}&size=10" for page in (0, 1, 1, 2)]


def test_a_list_that_repeats_one_page_for_ever_ends_the_walk_and_makes_nothing_gone(
    box, workspace, stock
):
    between = Between(box, PLATFORM)
    item = json.dumps({"content": [{"id": stock[0]}], "last": False}).encode()
    between.before = lambda _: ("200 OK", [("Content-Type", "application/json")], item)
    with pytest.raises(TransientError) as caught:
        walk(workspace, size=1)
    assert str(caught.value) == "page 1 of the list repeats the one before"
    assert Walk.objects.get().finished_at is None
    assert not Property.objects.exclude(problem={}).exists()


def test_the_command_names_a_platform_that_does_not_answer(workspace):
    Workspace.objects.update(base_url="http://127.0.0.1:9")
    with pytest.raises(CommandError) as caught:
        call_command("pull_properties", "main")
    assert caught.value.returncode == 1
    assert str(caught.value).startswith(
        "main: the pull stopped, and the next one goes on at the same page: The platform cannot be"
        " reached."
    )
    assert str(caught.value).endswith("/v1/real-estate-properties: cannot connect)")


@pytest.mark.rule("I28")
def test_a_property_that_is_gone_is_called_gone_only_after_its_own_read(
    box, workspace, stock, drain_all
):
    walk(workspace)
    drain_all()
    del box.workspace.properties[stock[5]]
    box.calls.clear()
    assert walk(workspace).missing == 1
    assert drain_all() == {"properties": {"gone": 1}}
    gone = Property.objects.get(object_reference_id="P-5")
    assert list(gone.problem) == ["GONE"]
    assert gone.desired["title"] == "House 5"
    assert Property.objects.count() == 25


def test_properties_that_shift_between_the_pages_are_not_called_gone(
    box, workspace, stock, drain_all
):
    walk(workspace)
    drain_all()
    steps = pull(workspace, size=10)
    next(steps)
    # One of the first page goes: the eleventh moves onto it and is shown on no page.
    del box.workspace.properties[stock[0]]
    done = list(steps)[-1]
    assert done.missing == 1
    assert drain_all() == {"properties": {"in sync": 1}}
    assert not Property.objects.exclude(problem={}).exists()
    # The next complete walk misses the one that really went.
    assert walk(workspace).missing == 1
    assert drain_all() == {"properties": {"gone": 1}}


def test_a_property_of_ours_that_somebody_created_there_is_adopted(box, workspace, drain_all):
    box.workspace.properties.clear()
    put(box, 1)
    row = create(workspace, "P-1", {"numberOfRooms": 4}, origin="ADMIN", now=now())
    walk(workspace)
    drain_all()
    row.refresh_from_db()
    assert (row.platform_id, row.desired["title"]) == ("90001", "House 1")
    assert box.workspace.properties["90001"]["numberOfRooms"] == 4
    assert Property.objects.count() == 1


@pytest.mark.rule("4.6 GET")
def test_a_property_without_a_reference_is_mirrored_and_pushed_under_its_id(
    box, workspace, drain_all
):
    box.workspace.properties.clear()
    box.workspace.properties["77"] = {"id": "77", "title": "Nameless"}
    walk(workspace)
    assert drain_all() == {"properties": {"in sync": 1}}
    row = Property.objects.get()
    assert (row.platform_id, row.object_reference_id, str(row)) == ("77", None, "platform id 77")
    assert [call[1] for call in box.calls] == [LIST, f"{LIST}/77"]


def test_two_properties_with_one_reference_are_both_kept_and_one_is_flagged(
    box, workspace, drain_all
):
    box.workspace.properties.clear()
    for key in ("1", "2"):
        box.workspace.properties[key] = {"id": key, "title": key, "objectReferenceId": "SAME"}
    walk(workspace)
    drain_all()
    first, second = Property.objects.order_by("platform_id")
    assert (first.object_reference_id, first.problem) == ("SAME", {})
    assert second.object_reference_id is None
    states = Property.objects.with_state(now()).order_by("platform_id")
    assert [row.sync_state for row in states] == ["IN_SYNC", "DUPLICATE"]
    assert as_texts(second.problem) == {
        "DUPLICATE": {"objectReferenceId": "the platform has reference SAME twice: also as id 1"}
    }


@pytest.mark.parametrize("changes", ["the first", "the second", "the second has none"])
def test_a_duplicate_is_none_any_more_once_the_platform_has_its_reference_once(
    box, workspace, drain_all, changes
):
    box.workspace.properties.clear()
    for key in ("1", "2"):
        box.workspace.properties[key] = {"id": key, "title": key, "objectReferenceId": "SAME"}
    walk(workspace)
    drain_all()
    if changes == "the first":
        box.edit_property("1", {"objectReferenceId": "OTHER"})
    elif changes == "the second":
        box.edit_property("2", {"objectReferenceId": "OTHER"})
    else:
        box.workspace.properties["2"].pop("objectReferenceId")
    for _ in range(2):  # the first walk may read the duplicate before the one that has changed
        walk(workspace)
        drain_all()
    keys = {
        "the first": {"1": "OTHER", "2": "SAME"},
        "the second": {"1": "SAME", "2": "OTHER"},
        "the second has none": {"1": "SAME", "2": None},
    }
    found = dict(Property.objects.values_list("platform_id", "object_reference_id"))
    assert found == keys[changes]
    assert list(Property.objects.values_list("problem", flat=True)) == [{}, {}]
    box.calls.clear()
    walk(workspace)
    assert drain_all() == {}


def test_a_property_that_gave_a_taken_reference_back_is_no_duplicate_any_more(
    box, workspace, drain_all
):
    box.workspace.properties.clear()
    for key in ("1", "2"):
        put(box, 1, id=key, objectReferenceId=f"P-{key}")
        box.workspace.properties[key] = box.workspace.properties.pop("90001")
    walk(workspace)
    drain_all()
    box.workspace.properties["2"]["objectReferenceId"] = "P-1"
    walk(workspace)
    drain_all()
    assert list(Property.objects.get(platform_id="2").problem) == ["DUPLICATE"]
    box.workspace.properties["2"]["objectReferenceId"] = "P-2"
    walk(workspace)
    drain_all()
    row = Property.objects.get(platform_id="2")
    assert (row.object_reference_id, row.problem) == ("P-2", {})


@pytest.mark.parametrize("is_listed_first", [True, False])
def test_a_property_that_was_created_anew_under_its_reference_is_ours_again(
    box, workspace, drain_all, is_listed_first
):
    row = create(workspace, "A-1", {"title": "Ours"}, origin="FEED", now=now())
    drain_all()
    row.refresh_from_db()
    there = box.workspace.properties.pop(row.platform_id)
    box.workspace.properties["99"] = there | {"id": "99", "numberOfRooms": 3}
    if is_listed_first:
        walk(workspace)
        twin = Property.objects.get(platform_id="99")
        make_order(workspace, real_estate_property=twin, property_platform_id="99")
        said = {"path": "title", "new": "x", "origin": Change.Origin.PLATFORM, "at": now()}
        Change.objects.create(real_estate_property=twin, revision=1, **said)
        Property.objects.filter(pk=twin.pk).update(revision=1)
    else:
        due_now(Property.objects.all())
    kept = set(Change.objects.values_list("pk", flat=True))
    for _ in range(2):
        drain_all()
        walk(workspace)
    drain_all()
    row = Property.objects.get(object_reference_id="A-1")
    assert [order.real_estate_property for order in Order.objects.all()] == [row] * is_listed_first
    changes = Change.objects.filter(real_estate_property=row)
    revisions = dict(changes.values_list("pk", "revision"))
    assert (kept <= revisions.keys(), max(revisions.values()) <= row.revision) == (True, True)
    assert (row.platform_id, row.problem, row.desired) == ("99", {}, row.observed)
    assert row.desired["numberOfRooms"] == 3
    seeded = len(box.workspace.properties) - 1
    assert Property.objects.count() == seeded + 1


@pytest.mark.rule("I1", "I4")
def test_a_property_that_was_created_anew_without_our_values_gets_them_and_erases_none(
    box, workspace, drain_all
):
    row = create(workspace, "A-1", {"title": "Ours", "numberOfRooms": 3}, origin="FEED", now=now())
    drain_all()
    row.refresh_from_db()
    del box.workspace.properties[row.platform_id]
    put(box, 9, objectReferenceId="A-1", title="Theirs", floor=2)
    due_now(Property.objects.all())
    drain_all()
    row.refresh_from_db()
    both = {"id": "90009", "objectReferenceId": "A-1", "title": "Ours", "numberOfRooms": 3}
    assert row.desired == row.observed == both | {"floor": 2}
    assert box.workspace.properties["90009"] == row.observed
    clash = {"path": "title", "ours": "Ours", "base": None, "theirs": "Theirs", "decision": "OURS"}
    assert Conflict.objects.values(*clash).get() == clash


@pytest.mark.rule("I4")
def test_a_second_mirror_that_is_edited_as_the_push_takes_it_over_stays_with_the_edit(
    box, workspace, drain_all
):
    row = create(workspace, "A-1", {"title": "Ours"}, origin="FEED", now=now())
    drain_all()
    row.refresh_from_db()
    there = box.workspace.properties.pop(row.platform_id)
    box.workspace.properties["99"] = there | {"id": "99"}
    walk(workspace)
    edited = []

    def edit_first(execute, sql, params, many, context):
        """Let a person save between the search for the second mirror and its taking over."""
        if sql.startswith('UPDATE "properties_property" SET "due_at" = NULL') and not edited:
            mirror = Property.objects.get(platform_id="99")
            edited.append(mirror)
            edit(mirror, {"title": "Typed"}, origin="ADMIN", now=now())
        return execute(sql, params, many, context)

    with connection.execute_wrapper(edit_first):
        for _ in range(2):
            drain_all()
            walk(workspace)
    assert len(edited) == 1
    mirror = Property.objects.get(platform_id="99")
    assert (mirror.pk == row.pk, mirror.desired["title"]) == (False, "Typed")
    assert Change.objects.filter(real_estate_property=mirror, origin="ADMIN").count() == 1
    assert box.workspace.properties["99"]["title"] == "Typed"
    row.refresh_from_db()
    assert row.object_reference_id == "A-1"


def test_an_edit_goes_to_our_property_where_another_has_its_reference_too(
    box, workspace, drain_all
):
    box.workspace.properties.clear()
    for key in ("1", "2"):
        box.workspace.properties[key] = {"id": key, "title": key, "objectReferenceId": "SAME"}
    walk(workspace)
    drain_all()
    first = Property.objects.get(object_reference_id="SAME")
    there = box.workspace.properties
    # The order in which the platform keeps them decides which one a reference names.
    there[first.platform_id] = there.pop(first.platform_id)
    edit(first, {"title": "Edited"}, origin="ADMIN", now=now())
    drain_all()
    assert {key: one["title"] for key, one in there.items()} == {"1": "Edited", "2": "2"}


def test_a_pull_mirrors_all_where_pushes_do_not_read_first(box, workspace, stock, drain_all):
    Workspace.objects.update(read_before_write=False)
    walk(workspace)
    drain_all()
    assert {row.title for row in Property.objects.all()} == {
        one.get("title") for one in box.workspace.properties.values()
    }


@pytest.mark.parametrize(
    "bad", [{"id": "9" * 256}, {"objectReferenceId": "x" * 256}, {"id": None}], ids=str
)
def test_an_item_whose_keys_no_column_holds_is_left_out_and_the_walk_goes_on(
    box, workspace, stock, bad, drain_all, caplog
):
    box.workspace.properties[stock[3]].update(bad)
    assert walk(workspace).listed == 24
    assert Property.objects.count() == 24
    assert drain_all() == {"properties": {"in sync": 24}}
    assert ("main: a property of the list is left out" in caplog.text) == (bad != {"id": None})


def test_the_command_pulls_and_says_what_it_found(box, workspace, stock, capsys):
    call_command("pull_properties", "main", "--json")
    assert json.loads(capsys.readouterr().out) == {
        **{"listed": 25, "new": 25, "to read": 25, "missing": 0, "done": {"in sync": 25}}
    }


def test_a_pull_that_fails_says_why_in_json_too(box, workspace, stock, capsys):
    box.faults.set({"rules": [{"fault": "UNAVAILABLE"}]})
    with pytest.raises(CommandError) as error:
        call_command("pull_properties", "main", "--json")
    assert json.loads(capsys.readouterr().out) == {"error": str(error.value)}
    assert error.value.returncode == 1
    with pytest.raises(CommandError) as error:
        call_command("pull_properties", "lost", "--json")
    assert json.loads(capsys.readouterr().out) == {"error": str(error.value)}
    assert error.value.returncode == 2


def test_the_command_ends_an_older_walk_says_so_and_walks_anew(box, workspace, stock, capsys):
    steps = pull(workspace, size=10)
    next(steps)
    steps.close()
    Walk.objects.update(started_at=datetime(2026, 1, 31, 9, tzinfo=UTC))
    put(box, -1)
    box.edit_property(stock[0], {"title": "Changed since"})
    call_command("pull_properties", "main")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "a walk of 2026-01-31 09:00 UTC was unfinished: ended first, 10 listed"
    assert "listed: 26" in lines
    assert [one.finished_at is None for one in Walk.objects.order_by("pk")] == [False, False]
    assert Property.objects.get(platform_id=stock[0]).title == "Changed since"
    assert Property.objects.count() == 26


def test_the_command_tells_of_an_older_walk_in_json_too(box, workspace, stock, capsys):
    Walk.objects.create(workspace=workspace, started_at=datetime(2026, 1, 31, 9, tzinfo=UTC))
    call_command("pull_properties", "main", "--json", "--list-only")
    printed = json.loads(capsys.readouterr().out)
    assert printed["ended first"] == {"begun": "2026-01-31T09:00:00+00:00", "listed": 25}
    assert (printed["listed"], printed["new"], printed["done"]) == (25, 0, {})
    assert Property.objects.filter(due_at__isnull=False).count() == 25


def test_the_scheduled_pull_walks_once_an_hour(box, workspace, stock):
    assert take(Kind.PULL, workspace) == {"done": 1}
    assert take(Kind.PULL, workspace) == {}
    with time_machine.travel(now() + timedelta(minutes=61), tick=True):
        assert take(Kind.PULL, workspace) == {"done": 1}
    assert Walk.objects.filter(finished_at__isnull=False).count() == 2


def test_the_scheduled_pull_leaves_a_paused_workspace_alone_and_pauses_a_busy_platform(
    box, workspace, stock
):
    between = Between(box, PLATFORM)
    between.before = lambda _: ("429 Too Many Requests", [("Retry-After", "90")], b"")
    assert take(Kind.PULL, workspace) == {"put off": 1}
    assert "429" in row_of(Kind.PULL, workspace).problem
    Recurring.objects.update(due_at=now())
    assert take(Kind.PULL, workspace) == {}
    assert Walk.objects.get().finished_at is None

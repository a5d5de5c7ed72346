"""The push: nothing is lost when answers are, and nobody's value is overwritten (I1, I2, I4)."""

import json
from datetime import timedelta

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from crm_sync.models import Workspace
from crm_sync.platform.responses import LAG
from crm_sync.work import leases, turn
from properties.domain.editing import create, due_now, edit
from properties.models import Change, Conflict, Property
from properties.push.push import push
from properties.push.queue import PROPERTIES
from tests.conftest import PLATFORM
from tests.platforms import Between, lost, without_body
from tests.problems import answered, as_texts
from tests.together import together

BY_REFERENCE = "/v1/real-estate-properties/by-reference/A-1"
FOUR_CHANGES = {
    "title": "House",
    "numberOfRooms": 4,
    "prices.rent": {"gross": 5},
    "characteristics.hasElevator": "APPLIES",
}


@pytest.fixture
def between(box) -> Between:
    return Between(box, PLATFORM)


@pytest.fixture
def row(workspace, drain_all) -> Property:
    """Return a property that both sides agreed on some seconds ago."""
    with time_machine.travel(now() - LAG, tick=True):
        made = create(
            workspace, "A-1", {"title": "Flat", "numberOfRooms": 3}, origin="ADMIN", now=now()
        )
        drain_all()
    made.refresh_from_db()
    return made


def remote(box, reference="A-1") -> list[dict]:
    found = box.workspace.properties.values()
    return [p for p in found if p.get("objectReferenceId") == reference]


def set_title(row: Property, title: str) -> None:
    edit(row, {"title": title}, origin="ADMIN", now=now())


def later(drain_all, seconds: float) -> dict:
    with time_machine.travel(now() + timedelta(seconds=seconds), tick=True):
        return drain_all()


# --- reads that lag behind


def lagging(box, seconds: float, times: int) -> None:
    rule = {"fault": "LAGGING", "seconds": seconds, "times": times, "path": "*/by-reference/*"}
    box.faults.set({"rules": [rule]})


@pytest.mark.rule("I4")
def test_a_read_that_shows_what_our_call_has_replaced_is_no_edit_of_theirs(box, row, drain_all):
    for title in ("Second", "Third"):
        set_title(row, title)
        drain_all()
    edit(row, {"numberOfRooms": 4}, origin="ADMIN", now=now())
    lagging(box, 5, times=1)  # of both calls
    assert drain_all() == {"properties": {"waiting": 1}}
    row.refresh_from_db()
    assert row.waits_because(now()) == (
        "the platform still showed a value from before our last call; it is read again"
    )
    assert timedelta() < row.due_at - now() < LAG
    assert row.inflight == {}
    assert later(drain_all, 11) == {"properties": {"pushed": 1}}
    row.refresh_from_db()
    assert row.desired == row.observed | {"title": "Third", "numberOfRooms": 4}
    assert remote(box)[0]["title"] == "Third"
    assert not Conflict.objects.exists()


@pytest.mark.rule("I4")
def test_what_they_put_back_is_their_edit_once_no_read_can_lag_behind(box, row, drain_all):
    set_title(row, "Second")
    drain_all()
    box.edit_property(row.platform_id, {"title": "Flat"})
    due_now(Property.objects.all())
    assert drain_all() == {"properties": {"waiting": 1}}
    assert later(drain_all, 11) == {"properties": {"in sync": 1}}
    row.refresh_from_db()
    assert row.desired["title"] == remote(box)[0]["title"] == "Flat"


@pytest.mark.rule("I4")
def test_another_edit_of_theirs_right_after_our_call_is_taken_at_once(box, row, drain_all):
    set_title(row, "Second")
    drain_all()
    box.edit_property(row.platform_id, {"title": "Theirs", "numberOfRooms": 3.5})
    due_now(Property.objects.all())
    assert drain_all() == {"properties": {"in sync": 1}}
    row.refresh_from_db()
    assert (row.desired["title"], row.desired["numberOfRooms"]) == ("Theirs", 3.5)


@pytest.mark.rule("I4")
def test_a_property_that_was_just_created_is_not_gone_because_a_read_lags_behind(
    box, workspace, drain_all
):
    row = create(workspace, "A-1", {"title": "Flat"}, origin="ADMIN", now=now())
    drain_all()
    row.refresh_from_db()
    set_title(row, "House")
    box.faults.set({"rules": [{"fault": "LAGGING", "seconds": 5, "times": 2}]})  # by both names
    assert drain_all() == {"properties": {"waiting": 1}}
    assert later(drain_all, 11) == {"properties": {"pushed": 1}}
    assert [one["title"] for one in remote(box)] == ["House"]


@pytest.mark.rule("I2")
def test_what_a_silent_answer_and_a_read_that_lags_behind_do_not_show_stays_ours(
    box, row, between, drain_all
):
    between.reword = without_body("PATCH")
    row.workspace.read_before_write = False
    row.workspace.save()
    set_title(row, "Second")
    lagging(box, 5, times=1)
    assert drain_all() == {"properties": {"pushed": 1}}
    row.refresh_from_db()
    assert (as_texts(row.problem).keys(), row.inflight) == ({"DIFFERS"}, {"title": ["Second"]})
    set_title(row, "Third")
    assert drain_all() == {"properties": {"pushed": 1}}
    assert remote(box)[0]["title"] == "Third"
    later(drain_all, 11)
    row.refresh_from_db()
    assert (row.problem, row.inflight, row.due_at) == ({}, {}, None)
    assert not Conflict.objects.exists()


@pytest.mark.rule("I2")
def test_what_reads_back_different_after_a_silent_answer_is_read_once_more(
    box, row, between, drain_all
):
    between.reword = without_body("PATCH")
    set_title(row, "Second")
    lagging(box, 5, times=2)
    drain_all()
    row.refresh_from_db()
    assert list(row.problem) == ["DIFFERS"]
    assert later(drain_all, 11) == {"properties": {"in sync": 1}}
    row.refresh_from_db()
    assert (row.problem, row.inflight, row.desired["title"]) == ({}, {}, "Second")


@pytest.mark.rule("I4")
def test_a_read_that_shows_what_our_call_without_an_answer_has_put_back_counts(
    box, row, between, drain_all
):
    set_title(row, "Second")
    drain_all()
    between.after = lost("PATCH")
    set_title(row, "Flat")
    assert drain_all() == {"properties": {"delayed": 1}}
    due_now(Property.objects.all())
    later(drain_all, 1)
    box.edit_property(row.platform_id, {"title": "Second"})
    later(drain_all, 60)
    assert Conflict.objects.get().theirs == "Second"


@pytest.mark.rule("I4")
def test_a_read_that_shows_what_a_call_without_an_answer_has_replaced_is_no_edit_of_theirs(
    box, row, between, drain_all
):
    between.after = lost("PATCH")
    set_title(row, "Second")
    assert drain_all() == {"properties": {"delayed": 1}}
    due_now(Property.objects.all())
    assert later(drain_all, 1) == {"properties": {"pushed": 1}}  # a read has shown "Second"
    due_now(Property.objects.all())
    lagging(box, 5, times=1)
    later(drain_all, 2)
    row.refresh_from_db()
    assert (row.desired["title"], list(Conflict.objects.values())) == ("Second", [])
    assert row.wait_reason == "LAG"
    later(drain_all, 60)
    row.refresh_from_db()
    assert (row.desired["title"], row.due_at) == ("Second", None)


@pytest.mark.rule("I4")
def test_a_property_whose_creation_got_no_answer_is_not_gone_because_a_read_lags_behind(
    box, workspace, between, drain_all
):
    between.after = lost("POST")
    row = create(workspace, "A-1", {"title": "Flat"}, origin="ADMIN", now=now())
    assert drain_all() == {"properties": {"delayed": 1}}
    set_title(row, "House")
    assert drain_all() == {"properties": {"pushed": 1}}  # a read has found it
    due_now(Property.objects.all())
    box.faults.set({"rules": [{"fault": "LAGGING", "seconds": 5, "times": 2}]})  # by both names
    assert drain_all() == {"properties": {"waiting": 1}}
    row.refresh_from_db()
    assert (row.problem, row.wait_reason) == ({}, "LAG")


@pytest.mark.rule("I4")
def test_a_read_that_lags_behind_after_a_silent_answer_takes_nothing_of_an_earlier_call_back(
    box, row, between, drain_all
):
    set_title(row, "Second")
    drain_all()
    between.reword = without_body("PATCH")
    row.workspace.read_before_write = False
    row.workspace.save()
    edit(row, {"numberOfRooms": 4}, origin="ADMIN", now=now())
    lagging(box, 5, times=1)
    drain_all()
    row.refresh_from_db()
    assert (row.desired["title"], row.inflight) == ("Second", {"numberOfRooms": [4]})
    assert row.wait_reason == "LAG"
    assert later(drain_all, 11) == {"properties": {"in sync": 1}}
    row.refresh_from_db()
    assert row.desired == row.observed | {"title": "Second", "numberOfRooms": 4}
    assert (row.due_at, row.verify_at, row.inflight) == (None, None, {})
    assert not Conflict.objects.exists()


# --- unknown outcomes


@pytest.mark.rule("I2")
def test_an_edit_that_is_reverted_while_its_outcome_is_unknown_is_pushed_again(
    box, row, between, drain_all
):
    set_title(row, "Second")
    between.after = lost("PATCH")
    assert drain_all() == {"properties": {"delayed": 1}}
    assert remote(box)[0]["title"] == "Second"
    row.refresh_from_db()
    assert row.inflight == {"title": ["Second"]}
    set_title(row, "Flat")
    later(drain_all, 1)
    assert remote(box)[0]["title"] == "Flat"
    assert not Conflict.objects.exists()


@pytest.mark.rule("I2")
def test_a_patch_that_lands_late_is_found_by_the_verifying_read(box, row, between, drain_all):
    held = []

    def hold(environ):
        if environ["REQUEST_METHOD"] == "PATCH" and not held:
            held.append(True)
            raise TimeoutError

    between.before = hold
    set_title(row, "Late")
    drain_all()
    set_title(row, "Newest")
    later(drain_all, 1)
    row.refresh_from_db()
    assert row.verify_at is not None
    # The second was answered; only the first may still land.
    assert row.inflight == {"title": ["Late"]}
    # The first PATCH arrives only now, after its successor.
    box.edit_property(row.platform_id, {"title": "Late"})
    later(drain_all, 60)
    row.refresh_from_db()
    assert remote(box)[0]["title"] == "Newest"
    assert (row.desired["title"], row.due_at, row.inflight) == ("Newest", None, {})
    assert not Conflict.objects.exists()


@pytest.mark.rule("I4")
def test_a_value_of_a_creation_that_found_another_in_its_place_is_theirs_when_they_choose_it(
    box, workspace, between, drain_all
):
    create(workspace, "A-1", {"title": "House"}, origin="ADMIN", now=now())
    between.before = lambda environ: (
        ("500 No", [], b"{}") if environ["REQUEST_METHOD"] == "POST" else None
    )
    assert drain_all() == {"properties": {"delayed": 1}}
    box.workspace.properties["9"] = {"id": "9", "objectReferenceId": "A-1", "title": "Flat"}
    row = Property.objects.get()
    set_title(row, "Flat")
    drain_all()
    row.refresh_from_db()
    assert (row.inflight, row.verify_at, row.due_at) == ({}, None, None)
    box.edit_property("9", {"title": "House"})
    due_now(Property.objects.all(), now=now())
    drain_all()
    row.refresh_from_db()
    assert (row.desired["title"], remote(box)[0]["title"]) == ("House", "House")


def test_a_property_whose_creation_got_no_answer_is_adopted_not_created_twice(
    box, workspace, between, drain_all
):
    between.after = lost("POST")
    create(workspace, "A-1", {"title": "Flat"}, origin="ADMIN", now=now())
    assert drain_all() == {"properties": {"delayed": 1}}
    assert later(drain_all, 130) == {"properties": {"in sync": 1}}
    assert len(remote(box)) == 1
    assert Property.objects.get().platform_id == remote(box)[0]["id"]


@pytest.mark.rule("I8")
def test_a_creation_that_never_arrived_is_sent_again_only_after_the_wait(
    box, workspace, between, drain_all
):
    sent = []

    def swallow(environ):
        if environ["REQUEST_METHOD"] == "POST":
            sent.append(environ["PATH_INFO"])
            if len(sent) == 1:
                raise TimeoutError

    between.before = swallow
    row = create(workspace, "A-1", {"title": "Flat"}, origin="ADMIN", now=now())
    drain_all()
    set_title(row, "Flat, edited")  # an edit makes it due, and may still not send the POST
    assert later(drain_all, 5) == {"properties": {"waiting": 1}}
    assert len(sent) == 1
    assert Property.objects.get().wait_reason == "CREATION"
    assert later(drain_all, 130) == {"properties": {"created": 1}}
    assert [p["title"] for p in remote(box)] == ["Flat, edited"]


def test_a_property_that_somebody_created_meanwhile_is_adopted(box, workspace, between, drain_all):
    client = workspace.client()

    def be_faster(environ):
        if environ["REQUEST_METHOD"] == "POST" and not remote(box):
            between.before = lambda _: None
            client.create_property({"objectReferenceId": "A-1", "numberOfRooms": 5})

    between.before = be_faster
    create(workspace, "A-1", {"title": "Flat"}, origin="ADMIN", now=now())
    assert drain_all() == {"properties": {"waiting": 1, "pushed": 1}}
    assert [(p["title"], p["numberOfRooms"]) for p in remote(box)] == [("Flat", 5)]
    assert Property.objects.get().desired["numberOfRooms"] == 5


# --- leases


@pytest.mark.rule("I3")
def test_the_row_of_a_dead_worker_is_taken_up_and_read_once_more_later(row, drain_all):
    set_title(row, "Edited")
    dead = leases.claim(Property.objects.all(), now=now())
    assert drain_all() == {}
    assert later(drain_all, 61) == {"properties": {"pushed": 1}}
    row.refresh_from_db()
    assert (row.verify_at, row.wait_reason) == (row.due_at, "VERIFICATION")
    assert later(drain_all, 130) == {"properties": {"in sync": 1}}
    row.refresh_from_db()
    assert (row.due_at, row.verify_at, row.inflight) == (None, None, {})
    assert not dead.fenced.exists()


@pytest.mark.rule("I3")
def test_a_worker_that_lost_its_lease_writes_nothing_more(box, row, workspace):
    set_title(row, "Edited")
    slow = leases.claim(Property.objects.all(), now=now())
    leases.claim(Property.objects.all(), now=slow.until)
    before = Property.objects.values().get()
    box.calls.clear()
    with pytest.raises(leases.LeaseLost):
        push(slow, workspace)
    assert Property.objects.values().get() == before
    assert [call[0] for call in box.calls] == ["GET"]


@pytest.mark.parametrize("is_new", [False, True])
def test_no_call_is_begun_when_its_record_waited_too_long_for_the_database(
    box, row, workspace, drain_all, is_new
):
    if is_new:
        create(workspace, "NEW", {"title": "New"}, origin="ADMIN", now=now())
        row = Property.objects.get(object_reference_id="NEW")
    else:
        set_title(row, "Edited")
    claim = leases.claim(Property.objects.all(), now=now())
    box.calls.clear()

    def clock():
        is_recorded = Property.objects.exclude(inflight={}).exists()
        return now() + timedelta(seconds=45 if is_recorded else 0)

    assert push(claim, workspace, clock=clock) == "put back"
    assert [call[0] for call in box.calls] == ["GET"]
    row.refresh_from_db()
    assert (row.inflight, row.create_sent_at, row.lease_token) == ({}, None, None)
    assert later(drain_all, 50) == {"properties": {"created" if is_new else "pushed": 1}}


@pytest.mark.rule("I13")
def test_no_call_that_changes_is_begun_with_less_lease_than_its_deadline(box, row, workspace):
    set_title(row, "Edited")
    claim = leases.claim(Property.objects.all(), now=now())
    box.calls.clear()
    assert push(claim, workspace, clock=lambda: now() + timedelta(seconds=40)) == "put back"
    assert [call[0] for call in box.calls] == ["GET"]
    row.refresh_from_db()
    assert (row.lease_token, row.inflight) == (None, {})
    assert row.due_at is not None


def test_a_call_that_is_lost_does_not_shorten_the_watch_over_a_stalled_worker(
    row, between, drain_all
):
    set_title(row, "Edited")
    stalled = leases.claim(Property.objects.all(), now=now())
    between.after = lost("PATCH")
    assert later(drain_all, 61) == {"properties": {"delayed": 1}}
    row.refresh_from_db()
    assert row.verify_at >= stalled.until + leases.LEASE


def test_no_watch_is_left_over_a_property_that_is_gone(box, row, drain_all):
    set_title(row, "Edited")
    leases.claim(Property.objects.all(), now=now())
    del box.workspace.properties[row.platform_id]
    assert later(drain_all, 61) == {"properties": {"gone": 1}}
    row.refresh_from_db()
    assert (row.due_at, row.verify_at, row.inflight) == (None, None, {})


# --- what is recorded with the claim


def take_and_record() -> leases.Claim[Property]:
    """Claim as a drain does."""
    claim = leases.claim(Property.objects.all(), now=now(), record=PROPERTIES.record)
    assert claim is not None
    return claim


def in_flight() -> dict:
    return Property.objects.values_list("inflight", flat=True).get()


def test_what_will_be_sent_is_recorded_with_the_claim_and_not_once_more(box, row, workspace):
    set_title(row, "Edited")
    claim = take_and_record()
    assert in_flight() == {"title": ["Edited"]}
    with CaptureQueriesContext(connection) as captured:
        assert push(claim, workspace) == "pushed"
    assert len([one for one in captured if one["sql"].startswith("UPDATE")]) == 1
    row.refresh_from_db()
    assert (remote(box)[0]["title"], row.inflight, row.due_at) == ("Edited", {}, None)
    assert row.read_at is not None


def test_a_document_that_the_database_keeps_in_another_order_is_no_news(box, row, workspace):
    rent = {"net": 1400, "interval": "MONTH", "gross": 1650}
    box.edit_property(row.platform_id, {"prices": {"rent": rent, "currency": "EUR"}})
    due_now(Property.objects.all())
    turn.take(PROPERTIES, workspace.pk, seconds=20.0)
    set_title(row, "Edited")
    claim = take_and_record()
    with CaptureQueriesContext(connection) as captured:
        assert push(claim, workspace) == "pushed"
    assert len([one for one in captured if one["sql"].startswith("UPDATE")]) == 1


def test_a_row_that_is_given_back_unworked_has_nothing_in_flight(box, row, drain_all):
    set_title(row, "Edited")
    take_and_record().give_back()
    assert in_flight() == {}
    set_title(row, "Edited again")
    # What they choose is by chance what we never sent.
    box.edit_property(row.platform_id, {"title": "Edited"})
    drain_all()
    assert Conflict.objects.get().theirs == "Edited"


def test_a_read_that_fails_leaves_nothing_in_flight(row, workspace, between):
    set_title(row, "Edited")
    claim = take_and_record()
    between.before = lambda environ: ("500 No", [], b"{}")
    assert push(claim, workspace) == "delayed"
    assert in_flight() == {}


def test_what_was_recorded_and_never_sent_is_sent_and_read_once_more(box, row, drain_all):
    set_title(row, "Edited")
    take_and_record()  # and its worker dies
    assert later(drain_all, 61) == {"properties": {"pushed": 1}}
    row.refresh_from_db()
    assert (remote(box)[0]["title"], row.inflight) == ("Edited", {"title": ["Edited"]})
    assert later(drain_all, 130) == {"properties": {"in sync": 1}}
    row.refresh_from_db()
    assert (row.due_at, row.verify_at, row.inflight) == (None, None, {})


def test_an_edit_between_the_claim_and_the_patch_goes_out_after_it(box, row, workspace, drain_all):
    set_title(row, "Edited")
    claim = take_and_record()
    set_title(row, "Edited again")
    assert push(claim, workspace) == "pushed"
    assert remote(box)[0]["title"] == "Edited"
    assert drain_all() == {"properties": {"pushed": 1}}
    row.refresh_from_db()
    assert (remote(box)[0]["title"], row.inflight, row.due_at) == ("Edited again", {}, None)


@pytest.mark.parametrize("ours", [{}, {"prices.rent": {"gross": 5}}])  # a PATCH follows or not
def test_an_edit_that_comes_with_the_read_is_not_written_over_by_what_the_read_brings(
    box, row, between, drain_all, ours
):
    edit(row, ours, origin="ADMIN", now=now())
    box.edit_property(row.platform_id, {"numberOfRooms": 5})

    def edited(environ):
        between.after = lambda _: None
        set_title(row, "Newest")

    between.after = edited
    due_now(Property.objects.all())
    drain_all()
    row.refresh_from_db()
    assert (row.desired["title"], row.desired["numberOfRooms"]) == ("Newest", 5)
    drain_all()
    assert (remote(box)[0]["title"], remote(box)[0]["numberOfRooms"]) == ("Newest", 5)


def test_an_open_conflict_shows_what_is_there_now_though_it_may_be_a_late_value_of_ours(
    box, row, drain_all
):
    Workspace.objects.update(conflict_policy="ask")
    set_title(row, "Second")
    take_and_record()  # and its worker dies
    box.edit_property(row.platform_id, {"title": "Third"})
    later(drain_all, 61)
    row.refresh_from_db()
    set_title(row, "Third")
    box.edit_property(row.platform_id, {"title": "Fourth"})
    later(drain_all, 62)
    assert Conflict.objects.get(decision="").theirs == "Fourth"
    assert in_flight() == {"title": ["Second"]}
    box.edit_property(row.platform_id, {"title": "Second"})
    later(drain_all, 200)
    asked = Conflict.objects.get(decision="")
    assert (asked.ours, asked.theirs) == ("Third", "Second")


def test_a_conflict_is_written_before_the_patch_of_what_was_recorded(box, row, workspace, between):
    set_title(row, "Ours")
    claim = take_and_record()
    box.edit_property(row.platform_id, {"title": "Theirs"})
    kept = []
    between.before = lambda environ: kept.append(Conflict.objects.count())
    assert push(claim, workspace) == "pushed"
    assert kept == [0, 1]  # at the GET, and at the PATCH


# --- what a plain answer says


def test_a_value_that_was_plainly_not_taken_is_not_taken_for_ours(box, row, between, drain_all):
    def busy(environ):
        if environ["REQUEST_METHOD"] == "PATCH":
            return "429 Too Many Requests", [("Retry-After", "1")], b"{}"
        return None

    between.before = busy
    set_title(row, "Second")
    assert drain_all() == {"properties": {"delayed": 1}}
    between.before = lambda _: None
    set_title(row, "Flat")
    # What they choose is by chance what we never got through with.
    box.edit_property(row.platform_id, {"title": "Second"})
    later(drain_all, 10)
    row.refresh_from_db()
    assert (row.desired["title"], remote(box)[0]["title"]) == ("Second", "Second")


def test_a_value_that_was_answered_is_no_longer_in_flight_while_another_is(
    box, row, between, drain_all
):
    between.after = lost("PATCH")
    edit(row, {"numberOfRooms": 4}, origin="ADMIN", now=now())
    drain_all()
    for title in ("Second", "Third"):
        set_title(row, title)
        later(drain_all, 5)
    row.refresh_from_db()
    assert row.verify_at is not None
    assert row.inflight == {"numberOfRooms": [4]}
    box.edit_property(row.platform_id, {"title": "Second"})
    later(drain_all, 60)
    row.refresh_from_db()
    assert (row.desired["title"], remote(box)[0]["title"]) == ("Second", "Second")


def test_a_creation_that_was_plainly_not_taken_does_not_wait(box, workspace, between, drain_all):
    between.before = lambda environ: (
        ("429 Too Many Requests", [("Retry-After", "1")], b"{}")
        if environ["REQUEST_METHOD"] == "POST"
        else None
    )
    create(workspace, "A-1", {"title": "Flat"}, origin="ADMIN", now=now())
    drain_all()
    between.before = lambda _: None
    assert later(drain_all, 10) == {"properties": {"created": 1}}


def test_a_refusal_of_an_older_value_does_not_hold_the_newer_one(box, row, between, drain_all):
    def edit_and_refuse(environ):
        if environ["REQUEST_METHOD"] != "PATCH":
            return None
        between.before = lambda _: None
        set_title(Property.objects.get(), "Newer")
        return "400 Bad Request", [], b'{"errors": [{"field": "title", "message": "no"}]}'

    between.before = edit_and_refuse
    set_title(row, "Older")
    assert drain_all() == {"properties": {"refused": 1, "pushed": 1}}
    row.refresh_from_db()
    assert (remote(box)[0]["title"], row.problem) == ("Newer", {})


def test_a_refusal_of_one_field_does_not_hide_that_another_cannot_be_cleared(
    row, between, drain_all
):
    refusal = b'{"errors": [{"field": "numberOfRooms", "message": "no"}]}'
    between.before = lambda environ: (
        ("400 Bad Request", [], refusal) if environ["REQUEST_METHOD"] == "PATCH" else None
    )
    edit(row, {"title": None, "numberOfRooms": 4}, origin="ADMIN", now=now())
    assert drain_all() == {"properties": {"refused": 1}}
    row.refresh_from_db()
    assert {kind: list(fields) for kind, fields in row.problem.items()} == {
        "REFUSED": ["numberOfRooms"],
        "CANNOT_CLEAR": ["title"],
    }


def refuse_with(between: Between, body: bytes) -> None:
    """Refuse the first PATCH."""

    def refuse(environ):
        if environ["REQUEST_METHOD"] != "PATCH":
            return None
        between.before = lambda _: None
        return "400 Bad Request", [], body

    between.before = refuse


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("title must not be empty", ["title"]),
        ("The title.", ["title"]),
        ("characteristics.hasElevator: not now", ["characteristics.hasElevator"]),
        ("hasElevator is read only", ["characteristics.hasElevator"]),
        ("prices.rent.gross and numberOfRooms are odd", ["prices.rent", "numberOfRooms"]),
    ],
)
@pytest.mark.parametrize("body", ['{"message": %s}', '{"errors": [%s]}', "%s"])
def test_a_refusal_stands_at_the_fields_of_its_text_and_the_others_go_out(
    row, between, drain_all, text, fields, body
):
    refuse_with(between, (body % json.dumps(text)).encode())
    edit(row, FOUR_CHANGES, origin="ADMIN", now=now())
    assert drain_all() == {"properties": {"refused": 1, "pushed": 1}}
    row.refresh_from_db()
    assert sorted(row.problem["REFUSED"]) == sorted(fields)
    assert all(text in told for told in row.problem["REFUSED"].values())


@pytest.mark.parametrize(
    ("name", "leaf"),
    [("Title", "title"), ("Prices.Rent.Gross", "prices.rent"), ("$.prices.rent", "prices.rent")],
)
def test_a_refusal_stands_at_the_field_that_it_names_in_capitals_or_as_a_path_of_json(
    row, between, drain_all, name, leaf
):
    refuse_with(between, json.dumps({"title": "Refused.", "errors": {name: ["Odd"]}}).encode())
    edit(row, FOUR_CHANGES, origin="ADMIN", now=now())
    assert drain_all() == {"properties": {"refused": 1, "pushed": 1}}
    row.refresh_from_db()
    assert row.problem["REFUSED"] == {leaf: "Odd"}


@pytest.mark.parametrize("text", ["localizations[0].title is odd", "subtitle, Title", "no"])
def test_a_refusal_whose_text_names_nothing_that_was_sent_is_about_the_whole_property(
    row, between, drain_all, text
):
    refuse_with(between, json.dumps({"message": text}).encode())
    edit(row, FOUR_CHANGES, origin="ADMIN", now=now())
    assert drain_all() == {"properties": {"refused": 1}}
    row.refresh_from_db()
    assert row.problem == {"REFUSED": {"": answered(f"PATCH {BY_REFERENCE}", 400, text).stored}}


@pytest.mark.rule("I8", "I10")
def test_a_property_whose_reference_is_refused_is_not_created_without_it(
    box, workspace, between, drain_all
):
    row = create(workspace, "A-1", {"title": "Flat"}, origin="ADMIN", now=now())
    there = len(box.workspace.properties)
    refusal = b'{"errors": [{"field": "objectReferenceId", "message": "Odd"}]}'
    between.before = lambda environ: (
        ("400 Bad Request", [], refusal) if environ["REQUEST_METHOD"] == "POST" else None
    )
    assert drain_all() == {"properties": {"refused": 1}}
    edit(row, {"title": "House"}, origin="ADMIN", now=now())
    assert drain_all() == {"properties": {"refused": 1}}
    row.refresh_from_db()
    assert set(row.problem["REFUSED"]) == {"", "objectReferenceId"}
    assert len(box.workspace.properties) == there
    between.before = lambda _: None
    edit(row, {"title": "Flat"}, origin="ADMIN", now=now())
    drain_all()
    row.refresh_from_db()
    assert (remote(box), row.problem) == ([row.desired], {})


def test_the_reference_in_the_address_is_no_field_that_a_refusal_names(
    workspace, between, drain_all
):
    row = create(workspace, "title", {"title": "Flat"}, origin="ADMIN", now=now())
    drain_all()
    row.refresh_from_db()
    refuse_with(between, b"no")
    set_title(row, "House")
    assert drain_all() == {"properties": {"refused": 1}}
    row.refresh_from_db()
    call = "PATCH /v1/real-estate-properties/by-reference/title"
    assert row.problem == {"REFUSED": {"": answered(call, 400, "no").stored}}


def test_a_form_that_is_older_than_a_refusal_does_not_save_it_away(row, between, drain_all):
    refusal = b'{"errors": [{"field": "title", "message": "no"}]}'
    between.before = lambda environ: (
        ("400 Bad Request", [], refusal) if environ["REQUEST_METHOD"] == "PATCH" else None
    )
    set_title(row, "Refused")
    old = Property.objects.get()
    drain_all()
    between.before = lambda _: None
    edit(old, {"numberOfRooms": 9}, origin="ADMIN", now=now())
    assert old.problem == {"REFUSED": {"title": "no"}}


def test_a_characteristic_that_was_cleared_and_reads_unknown_is_in_sync(box, row, drain_all):
    lift = "characteristics.hasElevator"
    for value in ("APPLIES", None):
        edit(row, {lift: value}, origin="ADMIN", now=now())
        drain_all()
    row.refresh_from_db()
    assert remote(box)[0]["characteristics"] == {"hasElevator": "UNKNOWN"}
    assert (row.desired, row.problem, row.due_at) == (row.observed, {}, None)


# --- edits and platform edits meanwhile


@pytest.mark.parametrize("changes", [{"numberOfRooms": 4}, {"prices.rent": None}])
def test_an_edit_just_before_the_ending_is_not_lost(box, row, drain_all, changes):
    edit(row, {"prices.rent": {"net": 900}}, origin="ADMIN", now=now())
    drain_all()
    edited = []

    def edit_before_the_ending(execute, sql, params, many, context):
        ends = sql.startswith("UPDATE") and '"pushed_at" = ' in sql
        if ends and not edited:
            edited.append(True)
            set_title(Property.objects.get(), "Edited")
        return execute(sql, params, many, context)

    edit(row, changes, origin="ADMIN", now=now())
    with connection.execute_wrapper(edit_before_the_ending):
        drain_all()
    assert edited
    row.refresh_from_db()
    assert (remote(box)[0]["title"], row.due_at) == ("Edited", None)


def test_a_part_that_we_took_away_and_the_platform_keeps_is_no_conflict(
    box, row, drain_all, workspace
):
    Workspace.objects.update(conflict_policy="ask")
    edit(row, {"prices.rent": {"net": 900, "gross": 1000}}, origin="ADMIN", now=now())
    drain_all()
    edit(row, {"prices.rent": {"gross": 1100}}, origin="ADMIN", now=now())
    drain_all()
    row.refresh_from_db()
    assert remote(box)[0]["prices"]["rent"] == {"net": 900, "gross": 1100}
    assert (row.desired["prices"]["rent"], row.due_at) == ({"gross": 1100}, None)
    assert as_texts(row.problem) == {
        "DIFFERS": {
            "prices.rent": 'The platform keeps {"net": 900}, since no PATCH can clear a part of'
            " this value: clear it there, or enter another value"
        }
    }
    assert not Conflict.objects.exists()


@pytest.mark.rule("I1")
def test_an_edit_that_comes_during_the_patch_is_pushed_afterwards(box, row, between, drain_all):
    edited = []

    def edit_meanwhile(environ):
        if environ["REQUEST_METHOD"] == "PATCH" and not edited:
            edited.append(True)
            set_title(Property.objects.get(), "Second")

    between.before = edit_meanwhile
    set_title(row, "First")
    assert drain_all() == {"properties": {"pushed": 2}}
    row.refresh_from_db()
    assert (remote(box)[0]["title"], row.desired["title"]) == ("Second", "Second")
    assert (row.due_at, row.inflight) == (None, {})


@pytest.mark.django_db(transaction=True)
def test_an_edit_whose_own_turn_finds_the_row_leased_is_pushed_by_the_turn_that_has_it(
    box, row, between
):
    turns = []

    def edit_meanwhile(environ):
        if environ["REQUEST_METHOD"] == "PATCH" and not turns:
            set_title(Property.objects.get(), "Second")
            turns.extend(together(lambda: turn.take(PROPERTIES, row.workspace_id), workers=1))

    between.before = edit_meanwhile
    set_title(row, "First")
    assert turn.take(PROPERTIES, row.workspace_id).counts == {"pushed": 2}
    assert ([one.counts for one in turns], remote(box)[0]["title"]) == ([{}], "Second")


@pytest.mark.rule("I4")
def test_a_platform_edit_between_read_and_patch_is_not_lost(box, row, between, drain_all):
    def other_user(environ):
        if environ["REQUEST_METHOD"] == "PATCH":
            between.before = lambda _: None
            box.edit_property(row.platform_id, {"numberOfRooms": 7})

    between.before = other_user
    set_title(row, "First")
    drain_all()
    row.refresh_from_db()
    assert (row.desired["numberOfRooms"], remote(box)[0]["numberOfRooms"]) == (7, 7)


def test_two_forms_on_one_property_do_not_overwrite_each_other(row):
    stale = Property.objects.get(pk=row.pk)
    edit(row, {"title": "By one"}, origin="ADMIN", now=now())
    edit(stale, {"numberOfRooms": 9}, origin="ADMIN", now=now())
    row.refresh_from_db()
    assert (row.desired["title"], row.desired["numberOfRooms"]) == ("By one", 9)
    assert row.revision == stale.revision


def test_a_value_that_reads_back_different_is_shown_and_not_sent_again(
    box, row, between, drain_all
):
    def round_it(environ):
        if environ["REQUEST_METHOD"] == "PATCH":
            box.edit_property(row.platform_id, {"areaUsable": 80})

    between.after = round_it
    # Its answer shows nothing of what was sent, so the row is read again.
    between.before = lambda _: None
    edit(row, {"areaUsable": 80.4}, origin="ADMIN", now=now())
    drain_all()
    box.calls.clear()
    # What the platform made of it is known from the next read on.
    Property.objects.update(due_at=now())
    drain_all()
    row.refresh_from_db()
    assert row.due_at is None
    assert [call[0] for call in box.calls] == ["GET"]


# --- answers that say nothing


@pytest.mark.parametrize("body", [b"", b"null", b"{}"])
def test_a_list_that_was_cleared_is_in_sync_though_the_answer_says_nothing(
    box, row, between, drain_all, body
):
    edit(row, {"videoLinks": [{"url": "https://v.example/1"}]}, origin="ADMIN", now=now())
    drain_all()
    status = "200 OK" if body else "204 No Content"
    between.reword = lambda environ, answer: (
        (status, [], body) if environ["REQUEST_METHOD"] == "PATCH" else answer
    )
    row.refresh_from_db()
    edit(row, {"videoLinks": []}, origin="ADMIN", now=now())
    box.calls.clear()
    assert drain_all() == {"properties": {"pushed": 1}}
    assert [call[0] for call in box.calls] == ["GET", "PATCH", "GET"]
    assert not remote(box)[0].get("videoLinks")
    row.refresh_from_db()
    assert (row.problem, row.due_at, row.inflight) == ({}, None, {})
    assert not row.observed.get("videoLinks")


@pytest.mark.rule("2 optional")
def test_a_list_that_we_emptied_is_empty_where_answers_leave_empty_members_out(box, row, drain_all):
    links = [{"url": "https://example.com/tour"}]
    edit(row, {"videoLinks": links, "customFields": {"a": "b"}}, origin="ADMIN", now=now())
    drain_all()
    row.refresh_from_db()
    box.switches["emptyMembers"] = "omitted"
    edit(row, {"videoLinks": [], "customFields": {}}, origin="ADMIN", now=now())
    box.calls.clear()
    assert drain_all() == {"properties": {"pushed": 1}}
    assert [call[0] for call in box.calls] == ["GET", "PATCH"]
    assert (remote(box)[0]["videoLinks"], remote(box)[0]["customFields"]) == ([], {})
    row.refresh_from_db()
    assert (row.problem, row.due_at, row.inflight) == ({}, None, {})
    assert {"videoLinks", "customFields"}.isdisjoint(row.observed)
    # A link that somebody adds there now is theirs, and no conflict with the one that we removed.
    added = [{"url": "https://example.com/theirs"}]
    box.edit_property(row.platform_id, {"videoLinks": added})
    Property.objects.update(due_at=now())
    drain_all()
    row.refresh_from_db()
    assert (row.desired["videoLinks"], Conflict.objects.count()) == (added, 0)


def test_a_creation_that_is_answered_without_a_body_is_read_by_its_reference(
    box, workspace, between, drain_all
):
    between.reword = without_body("POST")
    made = create(workspace, "A-1", {"title": "Flat"}, origin="ADMIN", now=now())
    assert drain_all() == {"properties": {"created": 1}}
    made.refresh_from_db()
    assert (made.platform_id, made.problem, made.due_at) == (remote(box)[0]["id"], {}, None)


def test_a_property_that_is_gone_when_a_silent_answer_is_read_is_shown_as_gone(
    box, row, between, drain_all
):
    def answer_and_remove(environ, answer):
        if environ["REQUEST_METHOD"] == "PATCH":
            del box.workspace.properties[row.platform_id]
        return without_body("PATCH")(environ, answer)

    between.reword = answer_and_remove
    set_title(row, "Edited")
    assert drain_all() == {"properties": {"delayed": 1}}
    assert later(drain_all, 60) == {"properties": {"gone": 1}}
    row.refresh_from_db()
    assert list(row.problem) == ["GONE"]


def test_a_read_that_brings_an_empty_document_empties_nothing(box, row, between, drain_all):
    before = row.desired
    between.reword = lambda environ, answer: ("200 OK", [], b"{}")
    Property.objects.update(due_at=now())
    assert drain_all() == {"properties": {"delayed": 1}}
    row.refresh_from_db()
    assert (row.desired, row.observed["title"]) == (before, "Flat")
    assert row.last_answer == "the platform's answer is no property"


def test_with_policy_ask_a_conflict_waits_for_a_person(box, row, workspace, drain_all):
    Workspace.objects.update(conflict_policy="ask")
    box.edit_property(row.platform_id, {"title": "Theirs"})
    edit(row, {"title": "Ours", "numberOfRooms": 4}, origin="ADMIN", now=now())
    drain_all()
    row.refresh_from_db()
    conflict = Conflict.objects.get()
    assert (conflict.base, conflict.ours, conflict.theirs, conflict.decision) == (
        *("Flat", "Ours", "Theirs"),
        "",
    )
    assert list(row.problem) == ["CONFLICT"]
    assert (remote(box)[0]["title"], remote(box)[0]["numberOfRooms"]) == ("Theirs", 4)
    set_title(row, "Agreed")
    drain_all()
    conflict.refresh_from_db()
    row.refresh_from_db()
    assert (conflict.decision, conflict.who, row.problem) == ("OURS", "Admin", {})
    assert remote(box)[0]["title"] == "Agreed"


@pytest.mark.rule("I4")
@pytest.mark.parametrize("origin", ["FEED", "MISSING"])
def test_a_feed_does_not_decide_a_conflict_but_brings_a_newer_value_to_it(
    box, row, drain_all, origin
):
    Workspace.objects.update(conflict_policy="ask")
    box.edit_property(row.platform_id, {"title": "Theirs"})
    edit(row, {"title": "Ours"}, origin="FEED", now=now())
    drain_all()
    edit(row, {"title": "Newer", "numberOfRooms": 4}, origin=origin, now=now())
    drain_all()
    row.refresh_from_db()
    conflict = Conflict.objects.get()
    assert (conflict.base, conflict.ours, conflict.theirs, conflict.decision) == (
        *("Flat", "Newer", "Theirs"),
        "",
    )
    assert (row.desired["title"], list(row.problem)) == ("Newer", ["CONFLICT"])
    assert (remote(box)[0]["title"], remote(box)[0]["numberOfRooms"]) == ("Theirs", 4)
    box.edit_property(row.platform_id, {"title": "Theirs, later"})
    due_now(Property.objects.all())
    drain_all()
    set_title(row, "Agreed")
    drain_all()
    conflict = Conflict.objects.get()
    assert (conflict.ours, conflict.theirs, conflict.decision) == (
        *("Newer", "Theirs, later"),
        "OURS",
    )
    assert remote(box)[0]["title"] == "Agreed"


@pytest.mark.parametrize(("origin", "who"), [("ADMIN", "agent"), ("FEED", "Feed")])
def test_a_question_that_an_edit_ends_with_their_value_says_that_both_agree_and_by_whom(
    box, row, drain_all, django_user_model, origin, who
):
    Workspace.objects.update(conflict_policy="ask")
    box.edit_property(row.platform_id, {"title": "Theirs"})
    set_title(row, "Ours")
    drain_all()
    person = django_user_model.objects.create(username="agent") if origin == "ADMIN" else None
    edit(row, {"title": "Theirs"}, origin=origin, actor=person, now=now())
    drain_all()
    row.refresh_from_db()
    ended = Conflict.objects.get()
    assert (ended.decision, ended.who, row.problem) == ("AGREED", who, {})
    assert (ended.ours, ended.theirs) == ("Ours", "Theirs")


def test_a_question_that_both_sides_have_settled_is_asked_no_longer(box, row, drain_all):
    Workspace.objects.update(conflict_policy="ask")
    box.edit_property(row.platform_id, {"title": "Theirs"})
    set_title(row, "Ours")
    drain_all()
    assert Conflict.objects.get().decision == ""
    box.edit_property(row.platform_id, {"title": "Ours"})
    due_now(Property.objects.all())
    drain_all()
    row.refresh_from_db()
    ended = Conflict.objects.get()
    assert (ended.decision, ended.who, row.problem) == ("AGREED", "Platform", {})


def test_a_question_about_a_cleared_characteristic_ends_when_they_clear_it_too(box, row, drain_all):
    Workspace.objects.update(conflict_policy="ask")
    lift = "characteristics.hasElevator"
    edit(row, {lift: "APPLIES"}, origin="ADMIN", now=now())
    drain_all()
    box.edit_property(row.platform_id, {"characteristics": {"hasElevator": "DOES_NOT_APPLY"}})
    edit(row, {lift: None}, origin="ADMIN", now=now())
    drain_all()
    assert Conflict.objects.get().decision == ""
    box.edit_property(row.platform_id, {"characteristics": {"hasElevator": "UNKNOWN"}})
    due_now(Property.objects.all())
    drain_all()
    row.refresh_from_db()
    ended = Conflict.objects.get()
    assert (ended.decision, ended.who, row.problem) == ("AGREED", "Platform", {})


def test_with_policy_platform_wins_theirs_is_taken_and_ours_kept_in_the_conflict(
    box, row, drain_all
):
    Workspace.objects.update(conflict_policy="platform_wins")
    box.edit_property(row.platform_id, {"title": "Theirs"})
    set_title(row, "Ours")
    drain_all()
    row.refresh_from_db()
    conflict = Conflict.objects.get()
    assert (row.desired["title"], remote(box)[0]["title"]) == ("Theirs", "Theirs")
    assert (conflict.ours, conflict.decision) == ("Ours", "THEIRS")
    assert Change.objects.get(path="title", new="Theirs").origin == "PLATFORM"


# --- passing faults


@pytest.mark.parametrize(
    ("status", "headers", "pause"),
    [
        ("429 Too Many Requests", [("Retry-After", "120")], 120),
        ("503 Service Unavailable", [("Retry-After", "30")], 30),
        ("401 Unauthorized", [], 60),
    ],
)
def test_a_busy_platform_pauses_the_whole_workspace(
    row, workspace, between, drain_all, status, headers, pause
):
    create(workspace, "A-2", {"title": "Other"}, origin="ADMIN", now=now())
    set_title(row, "Edited")
    asked = []

    def refuse(environ):
        asked.append(environ["PATH_INFO"])
        return status, headers, b"{}"

    between.before = refuse
    assert drain_all() == {"properties": {"delayed": 1}}
    workspace.refresh_from_db()
    assert abs((workspace.paused_until - now()).total_seconds() - pause) < 2
    assert workspace.problem
    assert len(asked) == 1
    assert Property.objects.filter(wait_reason="PAUSE").count() == 1
    between.before = lambda _: None
    assert later(drain_all, 1) == {}
    assert later(drain_all, pause + 20)["properties"] == {"pushed": 1, "created": 1}
    workspace.refresh_from_db()
    assert (workspace.paused_until, workspace.problem) == (None, "")


def test_a_server_error_backs_off_and_loses_nothing(box, row, between, drain_all):
    between.before = lambda _: ("500 Internal Server Error", [], b"no json")
    set_title(row, "Edited")
    assert drain_all() == {"properties": {"delayed": 1}}
    row.refresh_from_db()
    assert (row.attempts, row.wait_reason) == (1, "FAILURE")
    assert "500 no json" in row.last_answer
    between.before = lambda _: None
    later(drain_all, 10)
    assert remote(box)[0]["title"] == "Edited"
    row.refresh_from_db()
    assert row.attempts == 0


# --- what cannot be said


@pytest.mark.rule("2.4 Read-only; rule UNKNOWN", "4.6 rule 4; rule 5")
def test_unknown_and_rooms_are_never_sent(box, row, drain_all):
    box.edit_property(row.platform_id, {"numberOfRooms": 3})
    there = box.workspace.properties[row.platform_id]
    box.workspace.properties[row.platform_id] = there | {
        "heatingType": "UNKNOWN",
        "rooms": [{"name": "Kitchen"}],
    }
    edit(row, {"characteristics.hasElevator": "UNKNOWN"}, origin="ADMIN", now=now())
    drain_all()
    row.refresh_from_db()
    assert list(box.calls)[-1][2] == {"characteristics": {"hasElevator": "UNKNOWN"}}
    assert row.desired["rooms"] == [{"name": "Kitchen"}]
    assert (row.problem, row.due_at) == ({}, None)
    wanted = {"title": "Kept", "developmentState": "UNKNOWN", "rooms": [{"name": "Attic"}]}
    Property.objects.update(desired=row.desired | wanted, due_at=now())  # past the product
    box.calls.clear()
    drain_all()
    assert [body for method, _, body, _ in box.calls if method == "PATCH"] == [{"title": "Kept"}]


@pytest.mark.rule("4.6 PATCH")
def test_a_reference_that_changes_travels_by_platform_id(box, row, drain_all):
    edit(row, {"objectReferenceId": "A-9"}, origin="ADMIN", now=now())
    Property.objects.update(object_reference_id="A-9")
    drain_all()
    assert list(box.calls)[-1][:3] == (
        "PATCH",
        f"/v1/real-estate-properties/{row.platform_id}",
        {"objectReferenceId": "A-9"},
    )
    assert (len(remote(box, "A-9")), len(remote(box, "A-1"))) == (1, 0)


def test_a_parent_is_created_before_its_child(box, workspace, drain_all):
    child = {"title": "Child", "parentRealtyReferenceId": "B-1"}
    create(workspace, "A-1", child, origin="FEED", now=now())
    create(workspace, "B-1", {"title": "Parent"}, origin="FEED", now=now())
    assert drain_all() == {"properties": {"waiting": 1, "created": 1}}
    assert (len(remote(box)), len(remote(box, "B-1"))) == (0, 1)
    waiting = Property.objects.get(object_reference_id="A-1")
    assert (waiting.wait_reason, waiting.last_answer) == ("PARENT", "")
    assert waiting.waits_because(now()) == "its parent must be created first"
    assert later(drain_all, 6) == {"properties": {"created": 1}}
    waiting.refresh_from_db()
    assert (waiting.wait_reason, waiting.waits_because(now())) == ("", "")


@pytest.mark.parametrize("count", [2, 12, 24])  # the last is deeper than the parents looked at
def test_a_circle_of_parents_does_not_wait_for_ever(box, workspace, drain_all, count):
    box.workspace.properties.clear()
    for number in range(count):
        changes = {"title": "Circle", "parentRealtyReferenceId": f"A-{(number + 1) % count}"}
        create(workspace, f"A-{number}", changes, origin="FEED", now=now())
    for seconds in range(0, 6 * count, 6):  # the children of what was created follow
        later(drain_all, seconds)
        if len(box.workspace.properties) == count:
            break
    assert set(Property.objects.values_list("due_at", flat=True)) == {None}


def test_without_a_read_what_is_in_flight_goes_out_again_just_as_it_was(
    box, row, between, drain_all
):
    Workspace.objects.update(read_before_write=False)
    set_title(row, "Edited")
    between.after = lost("PATCH")
    assert drain_all() == {"properties": {"delayed": 1}}
    Property.objects.update(due_at=now())
    assert drain_all() == {"properties": {"pushed": 1}}
    assert remote(box)[0]["title"] == "Edited"


def test_without_read_before_write_the_patch_goes_out_at_once(box, row, drain_all):
    Workspace.objects.update(read_before_write=False)
    box.calls.clear()
    set_title(row, "Edited")
    drain_all()
    assert [(method, path) for method, path, _, _ in box.calls] == [("PATCH", BY_REFERENCE)]


@pytest.mark.parametrize("reads_before_write", [True, False])
def test_text_that_no_database_keeps_is_cleaned_wherever_it_is_told(
    box, row, drain_all, reads_before_write
):
    Workspace.objects.update(read_before_write=reads_before_write)
    box.workspace.properties[row.platform_id] |= {"aNewField": ["a\0b\ud800"]}
    set_title(row, "Edited")
    assert drain_all() == {"properties": {"pushed": 1}}
    row.refresh_from_db()
    assert (row.observed["aNewField"], row.desired["aNewField"]) == (["ab"], ["ab"])
    assert (remote(box)[0]["title"], row.problem) == ("Edited", {})


def test_a_property_that_is_gone_is_shown_as_gone_and_kept(box, row, drain_all):
    del box.workspace.properties[row.platform_id]
    set_title(row, "Edited")
    assert drain_all() == {"properties": {"gone": 1}}
    row.refresh_from_db()
    assert list(row.problem) == ["GONE"]
    assert (row.desired["title"], row.due_at) == ("Edited", None)


@pytest.mark.rule("I1")
@pytest.mark.parametrize("kind", ["REFUSED", "DIFFERS"])
def test_an_edit_creates_a_property_that_is_gone_with_all_its_values(box, row, drain_all, kind):
    Property.objects.update(problem={kind: {"title": "no"}}, due_at=now())
    del box.workspace.properties[row.platform_id]
    drain_all()
    edit(row, {"numberOfRooms": 9}, origin="ADMIN", now=now())
    drain_all()
    row.refresh_from_db()
    assert remote(box) == [row.desired]
    assert (row.desired["title"], row.problem) == ("Flat", {})


@pytest.mark.rule("I1", "I4")
def test_a_creation_has_the_field_of_a_conflict_with_the_property_that_is_gone(
    box, row, workspace, drain_all
):
    Workspace.objects.update(conflict_policy="ask")
    box.edit_property(row.platform_id, {"title": "Theirs"})
    set_title(row, "Ours")
    drain_all()
    del box.workspace.properties[row.platform_id]
    due_now(Property.objects.all())
    drain_all()
    edit(row, {"numberOfRooms": 9}, origin="ADMIN", now=now())
    drain_all()
    row.refresh_from_db()
    assert (remote(box)[0]["title"], row.problem) == ("Ours", {})
    assert Conflict.objects.get().decision == "AGREED"


def test_what_a_verifying_read_has_settled_stays_settled_when_the_push_comes_too_late(
    box, row, workspace, between, drain_all
):
    between.after = lost("PATCH")
    set_title(row, "Second")
    drain_all()
    set_title(row, "Third")
    box.edit_property(row.platform_id, {"title": "Theirs"})
    row.refresh_from_db()
    verified = row.verify_at
    claim = leases.claim(Property.objects.all(), now=verified)
    times = iter([verified] * 2)
    late = claim.until - timedelta(seconds=1)
    assert push(claim, workspace, clock=lambda: next(times, late)) == "put back"
    row.refresh_from_db()
    assert (row.verify_at, row.inflight) == (None, {})
    # By chance what we had sent long ago; it is theirs now.
    box.edit_property(row.platform_id, {"title": "Second"})
    with time_machine.travel(late, tick=True):
        drain_all()
    assert Conflict.objects.filter(theirs="Second").count() == 1


# --- after a pause


def test_after_a_pause_one_property_asks_whether_the_platform_is_back(box, workspace):
    for number in range(5):
        create(workspace, f"P-{number}", {"title": "House"}, origin="FEED", now=now())
    Workspace.objects.update(pauses=3, problem="503 busy")
    assert turn.take(PROPERTIES, workspace.pk, seconds=20.0).counts == {"created": 1}
    assert turn.take(PROPERTIES, workspace.pk, seconds=20.0).counts == {"created": 4}

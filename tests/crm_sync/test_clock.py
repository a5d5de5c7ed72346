"""Events are dated by the platform's clock: that is what they are compared with (S11, I29)."""

import json
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
import time_machine
from django.core.management import call_command
from django.db import OperationalError, connection
from hypothesis import example, given, strategies as st

from crm_sync.inbox import replay, store as inbox_store
from crm_sync.models import ReceivedEvent, Workspace
from crm_sync.models.workspace import CLOCK_PACE
from crm_sync.platform import clock, transport
from crm_sync.platform.clock import LIMIT, MOVED, SHOWN, ClockReading, too_early
from orders.models import Order
from sandbox.app import Sandbox
from tests.conftest import PLATFORM
from tests.crm_sync.admin_pages import client_of
from tests.crm_sync.polls import apply, happen, now_utc, poll_now, states
from tests.together import crossing
from tests.wsgi import WsgiAdapter

AGES = st.timedeltas(-timedelta(days=400), timedelta(days=400))
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
EXTREMES = [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)]
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


# --- the rules


@given(AGES, st.floats(0, 60), st.floats(0, 1), AGES)
def test_a_reading_tells_the_clock_as_exactly_as_it_says(ahead, took, share, age):
    began = NOON + age
    answered = began + timedelta(seconds=took * share)  # when the platform wrote its `Date`
    theirs = (answered + ahead).replace(microsecond=0)
    reading = ClockReading(theirs, began + timedelta(seconds=took), took)
    assert abs(reading.ahead - ahead) <= reading.blur + timedelta(microseconds=2)
    assert reading.blur <= timedelta(seconds=30.5)
    assert not reading.differs_from(ahead)
    assert reading.differs_from(None)
    assert reading.differs_from(ahead + 2 * reading.blur + 2 * MOVED)


@pytest.mark.rule("S11")
@given(AGES, st.none() | AGES)
@example(LIMIT, None)
@example(LIMIT + timedelta(microseconds=1), None)
@example(HOUR + LIMIT, HOUR)
@example(MINUTE, -HOUR)
def test_an_event_waits_exactly_until_its_date_is_ten_minutes_ahead_of_the_clock(distance, ahead):
    at = NOON + distance
    allowed = LIMIT + max(ahead or timedelta(0), timedelta(0))
    until = too_early(at, now=NOON, ahead=ahead)
    assert (until is None) == (distance <= allowed)
    if until is not None:
        assert NOON < until == at - allowed
        assert too_early(at, now=until, ahead=ahead) is None
        assert too_early(at, now=until - timedelta(microseconds=1), ahead=ahead) == until


@pytest.mark.parametrize("moment", EXTREMES)
@pytest.mark.parametrize("ahead", [timedelta(days=n * 700_000) for n in (-1, 0, 1)])
def test_no_date_is_too_far_away(moment, ahead):
    until = too_early(moment, now=NOON, ahead=ahead)
    assert until is None or NOON < until <= moment
    assert ClockReading(moment, NOON, 1.0).differs_from(ahead)


@pytest.mark.parametrize(
    ("ahead", "text"),
    [
        (None, ""),
        (SHOWN, ""),
        (-SHOWN, ""),
        (timedelta(seconds=61), "61 seconds ahead of ours"),
        (-timedelta(minutes=12), "12 minutes behind ours"),
        (timedelta(hours=3), "3 hours ahead of ours"),
        (timedelta(days=26_000), "26,000 days ahead of ours"),
    ],
)
def test_people_are_told_of_more_than_a_minute(ahead, text):
    assert clock.difference(ahead) == text


# --- through the platform


def set_ahead(box: Sandbox, ahead: timedelta) -> None:
    """Set the platform's clock; what we noted of it lately holds no more."""
    box.set_clock(now_utc() + ahead)
    Workspace.objects.update(clock_noted_at=None)


def dated(at: datetime, order: str = "5000", new: str = "COMPLETED") -> dict[str, str]:
    return {
        "event": "ORDER_STATUS_UPDATED",
        "orderId": order,
        "previousStatus": "PLACED",
        "newStatus": new,
        "occurredAt": at.isoformat(),
    }


def store(workspace: Workspace, payload: dict[str, str]) -> ReceivedEvent:
    body, source = json.dumps(payload).encode(), ReceivedEvent.Source.CALLBACK
    inbox_store.store(workspace.pk, body, headers={}, method="POST", source=source, now=now_utc())
    return ReceivedEvent.objects.latest("pk")


def adds_up() -> bool:
    call_command("audit", stdout=StringIO())  # fails where it does not
    return True


def known() -> timedelta | None:
    return Workspace.objects.get().clock_ahead


def without(header: str, box: Sandbox, *more: tuple[str, str]) -> None:
    """Take a header out of each answer of the platform, and put others in."""

    def app(environ, start_response):
        def start(status, headers):
            kept = [one for one in headers if one[0] != header]
            start_response(status, [*kept, *more])

        return box(environ, start)

    transport.MOUNTS[PLATFORM] = WsgiAdapter(app)


@pytest.mark.parametrize("ahead", [timedelta(minutes=12), timedelta(days=3)])
def test_events_of_a_platform_whose_clock_is_ahead_are_applied_once_it_is_known(
    box, workspace, ahead
):
    set_ahead(box, ahead)
    happen(box, 9)
    assert apply(workspace) == {"EARLY": 9}
    assert adds_up()
    early = ReceivedEvent.objects.first()
    assert early.effect.startswith("dated ")
    assert " ahead of the clock of the platform: applied at " in early.effect
    assert (early.canonical_digest, early.kind) == ("", "MARKETING_MATERIALS_READY")
    assert early.due_at == early.occurred_at - LIMIT - max(known(), timedelta(0))
    assert apply(workspace) == {}
    poll_now(workspace)
    assert abs(known() - ahead) < timedelta(seconds=3)
    assert apply(workspace) == {"APPLIED": 9}
    assert adds_up()
    happen(box, 2)
    assert apply(workspace) == {"APPLIED": 2}
    poll_now(workspace)  # the history holds nothing that we lack
    assert states() == ["APPLIED"] * 11


@pytest.mark.django_db(transaction=True)
def test_an_event_that_is_applied_while_its_clock_becomes_known_is_settled_at_once(box, workspace):
    set_ahead(box, HOUR)
    happen(box)
    without("Date", box)
    assert apply(workspace) == {"EARLY": 1}
    transport.MOUNTS[PLATFORM] = WsgiAdapter(box)
    ReceivedEvent.objects.update(due_at=now_utc())  # its moment has come
    counts, _ = crossing(
        lambda: apply(workspace),
        lambda: poll_now(workspace),
        at='SELECT "crm_sync_workspace"."clock_ahead"',
    )
    assert (counts, states()) == ({"APPLIED": 1}, ["APPLIED"])
    assert adds_up()


def test_a_copy_from_the_history_does_not_come_beside_what_waits(box, workspace):
    set_ahead(box, HOUR)
    happen(box, 3)
    without("Date", box)
    assert apply(workspace) == {"EARLY": 3}
    poll_now(workspace)
    assert states() == ["EARLY"] * 3
    event = json.loads(bytes(ReceivedEvent.objects.first().body))
    again = store(workspace, dict(reversed(event.items())))  # the same, written otherwise
    assert apply(workspace) == {"EARLY": 1}
    transport.MOUNTS[PLATFORM] = WsgiAdapter(box)
    poll_now(workspace)
    assert apply(workspace) == {"APPLIED": 3, "DUPLICATE": 1}
    again.refresh_from_db()
    assert (
        again.effect == f"the same as received event {ReceivedEvent.objects.order_by('pk')[0].pk}"
    )
    assert adds_up()


def test_where_the_clock_is_not_known_an_event_waits_until_its_moment_has_passed(box, workspace):
    without("Date", box)
    Workspace.objects.update(clock_ahead=None)
    box.set_clock(now_utc() + timedelta(minutes=12))
    happen(box)
    assert apply(workspace) == {"EARLY": 1}
    early = ReceivedEvent.objects.get()
    assert early.effect.startswith("dated 11 minutes ahead of our clock (that of the platform is")
    poll_now(workspace)
    assert known() is None
    with time_machine.travel(early.due_at - timedelta(seconds=1), tick=False):
        assert apply(workspace) == {}
    with time_machine.travel(early.due_at, tick=False):
        assert apply(workspace) == {"APPLIED": 1}
    assert ReceivedEvent.objects.get().cause == ""


@pytest.mark.rule("S11")
def test_an_event_of_2099_never_wins_and_everybody_sees_it(box, workspace, drain_all):
    far = store(workspace, dated(datetime(2099, 1, 1, tzinfo=UTC)))
    store(workspace, dated(now_utc(), new="IN_PROGRESS"))
    assert apply(workspace) == {"EARLY": 1, "APPLIED": 1}
    assert Order.objects.get(platform_id="5000").status == "IN_PROGRESS"
    for ahead in (HOUR, -HOUR, timedelta(0)):
        set_ahead(box, ahead)
        poll_now(workspace)
        assert apply(workspace) == {"EARLY": 1}
        assert adds_up()
    far.refresh_from_db()
    assert far.due_at.year == 2098
    assert ": applied at Wed 31 Dec 2098, 23:" in far.effect
    boss = client_of(superuser=True)
    for page in ("", "crm_sync/receivedevent/causes/", f"crm_sync/receivedevent/{far.pk}/change/"):
        text = boss.get(f"/admin/{page}").content.decode()
        assert "Dated ahead" in text
        assert "ahead of the clock" in text
    assert (
        inbox_store.set_aside(ReceivedEvent.objects.filter(pk=far.pk), now=datetime.now(UTC)) == 1
    )
    far.refresh_from_db()
    assert (far.state, far.due_at) == ("IGNORED", None)
    assert adds_up()


def test_the_last_moment_that_can_be_said_waits_like_any_other(box, workspace):
    store(workspace, dated(EXTREMES[1]))
    assert apply(workspace) == {"EARLY": 1}
    assert adds_up()
    page = f"/admin/crm_sync/receivedevent/{ReceivedEvent.objects.get().pk}/change/"
    assert client_of(superuser=True).get(page).status_code == 200


def test_trying_it_again_changes_nothing_and_a_replay_foretells_that(box, workspace):
    early = store(workspace, dated(now_utc() + HOUR))
    apply(workspace)
    before = ReceivedEvent.objects.values().get()
    previews = replay.preview([ReceivedEvent.objects.get()], now=now_utc())
    assert [(one.state, one.changes) for one in previews] == [("EARLY", [])]
    assert ReceivedEvent.objects.values().get() == before
    played = replay.replay([ReceivedEvent.objects.get()], now=now_utc())
    assert played.played == {early.pk: early.pk}
    assert apply(workspace) == {"EARLY": 1}
    assert adds_up()


@pytest.mark.rule("I29")
def test_a_clock_of_ours_that_is_set_back_and_forth_delays_an_event_until_the_next_answer(
    box, workspace
):
    for wrong in (-timedelta(hours=5), timedelta(hours=5), timedelta(0)):
        right = now_utc()
        box._clock = lambda right=right: right  # the platform's stands; ours is what moves
        with time_machine.travel(right + wrong, tick=False):
            happen(box)
            counts = apply(workspace)
            assert counts == ({"EARLY": 1} if wrong < timedelta(0) else {"APPLIED": 1})
            poll_now(workspace)
            assert abs(known() + wrong) < timedelta(seconds=2)
            assert apply(workspace) == ({"APPLIED": 1} if wrong < timedelta(0) else {})
            assert adds_up()


def test_a_clock_of_the_platform_that_is_set_right_again_makes_nothing_early(box, workspace):
    set_ahead(box, HOUR)
    poll_now(workspace)
    happen(box)
    set_ahead(box, timedelta(0))
    poll_now(workspace)
    happen(box)
    assert apply(workspace) == {"APPLIED": 1, "EARLY": 1}
    early = ReceivedEvent.objects.get(state="EARLY")
    assert early.due_at - now_utc() < HOUR - LIMIT  # dated an hour ahead, by the clock of then
    with time_machine.travel(early.due_at, tick=False):
        assert apply(workspace) == {"APPLIED": 1}


def test_a_platform_that_is_behind_accuses_no_event(box, workspace):
    set_ahead(box, -HOUR)
    poll_now(workspace)
    assert known() < -timedelta(minutes=59)
    store(workspace, dated(now_utc()))
    assert apply(workspace) == {"APPLIED": 1}


# --- how it is noted


def test_the_clock_is_written_only_when_it_has_moved(box, workspace):
    def updates() -> int:
        client = Workspace.objects.get().client()
        with connection.execute_wrapper(watch):
            seen.clear()
            for _ in range(5):
                client.get_webhook()
        return sum("clock_ahead" in sql and sql.startswith("UPDATE") for sql in seen)

    def watch(execute, sql, params, many, context):
        seen.append(sql)
        return execute(sql, params, many, context)

    seen: list[str] = []
    assert updates() == 0
    set_ahead(box, timedelta(seconds=2))
    assert updates() == 0
    set_ahead(box, timedelta(seconds=30))
    assert updates() == 1


def test_machines_of_the_platform_that_do_not_agree_are_noted_no_more_than_each_ten_seconds(
    box, workspace
):
    values = set()
    start = now_utc() + HOUR
    for second in range(40):
        with time_machine.travel(start + timedelta(seconds=second), tick=False):
            box.set_clock(now_utc() + timedelta(minutes=second % 2))
            Workspace.objects.get().client().get_webhook()
            values.add(Workspace.objects.get().clock_noted_at)
    assert 2 <= len(values) <= 40 / CLOCK_PACE.total_seconds() + 1


def test_an_answer_from_a_cache_says_nothing_of_the_clock(box, workspace):
    Workspace.objects.update(clock_ahead=None, clock_noted_at=None)
    without("", box, ("Age", "3600"))
    poll_now(workspace)
    assert known() is None


def test_an_answer_is_not_lost_where_the_clock_cannot_be_noted(box, workspace, caplog):
    def fail(execute, sql, params, many, context):
        if sql.startswith("UPDATE") and "clock_ahead" in sql:
            raise OperationalError("the disk is full")
        return execute(sql, params, many, context)

    Workspace.objects.update(clock_ahead=None, clock_noted_at=None)
    with connection.execute_wrapper(fail):
        assert Workspace.objects.get().client().get_webhook().status == 200
    assert known() is None
    assert "the clock of the platform of main could not be noted" in caplog.text
    poll_now(workspace)
    assert known() is not None


def test_the_overview_tells_of_a_difference_of_more_than_a_minute(box, workspace):
    boss = client_of(superuser=True)
    text = "clock is 12 minutes ahead of ours"
    assert text not in boss.get("/admin/").content.decode()
    set_ahead(box, timedelta(minutes=12, seconds=30))
    poll_now(workspace)
    for page in ("/admin/", f"/admin/crm_sync/workspace/{workspace.pk}/change/"):
        assert text in boss.get(page).content.decode()

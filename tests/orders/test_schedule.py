"""Open orders are read on a schedule that slows with age; ended ones are not read any more."""

from datetime import UTC, datetime, timedelta

import pytest

from orders.reads.read_schedule import next_read, pause

NOW = datetime(2026, 1, 31, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("age", "minutes"),
    [
        (timedelta(0), 15),
        (timedelta(seconds=-90), 15),  # our clock is behind the platform's
        (timedelta(days=1), 15),
        (timedelta(days=2), 30),
        (timedelta(days=8), 120),
        (timedelta(days=400), 360),
    ],
)
def test_the_pause_grows_with_the_age_of_the_order(age, minutes):
    assert pause(age, rng=lambda: 0.5) == timedelta(minutes=minutes)
    assert pause(age, rng=lambda: 0.0) == timedelta(minutes=minutes) * 0.8
    assert pause(age, rng=lambda: 1.0) == timedelta(minutes=minutes) * 1.2


@pytest.mark.rule("3.1 IN_PROGRESS → COMPLETED")
@pytest.mark.parametrize("status", ["COMPLETED", "CANCELLED"])
@pytest.mark.parametrize(
    ("hours", "left"), [(0, timedelta(hours=24)), (23, timedelta(hours=1)), (24, None), (99, None)]
)
def test_an_order_is_read_a_last_time_a_day_after_its_end(status, hours, left):
    ended = NOW - timedelta(hours=hours)
    since = NOW - timedelta(days=9)
    due_at = next_read(status, since=since, status_at=lambda: ended, contradicts=False, now=NOW)
    assert due_at == (left and NOW + left)


def test_an_order_that_had_ended_when_we_first_heard_of_it_is_read_once_more():
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    due_at = next_read("COMPLETED", since=NOW, status_at=lambda: epoch, contradicts=False, now=NOW)
    assert due_at == NOW + timedelta(hours=24)


@pytest.mark.parametrize("status", ["PLACED", "IN_PROGRESS", "UNKNOWN", "SOMETHING_NEW", ""])
def test_every_other_order_is_read_again(status):
    due_at = next_read(status, since=NOW, status_at=lambda: NOW, contradicts=False, now=NOW)
    assert due_at is not None
    assert timedelta(minutes=12) <= due_at - NOW <= timedelta(minutes=18)


def test_a_read_that_contradicts_something_young_is_repeated_soon():
    due_at = next_read("CANCELLED", since=NOW, status_at=lambda: NOW, contradicts=True, now=NOW)
    assert due_at == NOW + timedelta(seconds=15)

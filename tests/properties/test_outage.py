"""A platform that is down, busy, or errs: asked seldom, and everything arrives afterwards (I11)."""

import random
from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from properties.domain.editing import create, edit
from properties.models import Property
from tests.properties.virtual import CALL, World, refuses
from tests.sizes import figures, seed_of, times

COUNT = times("OUTAGE_ROWS", 80)
OUTAGE = 30 * 60.0  # seconds
PROBES = timedelta(seconds=5)


@pytest.mark.rule("I11")
def test_an_outage_is_probed_seldom_and_everything_arrives_afterwards(world: World):
    rng = random.Random(seed_of("outage"))
    make(world, "before the outage")
    world.meets = lambda _: refuses("503 Service Unavailable")
    edit_all(world, "in the outage")
    world.calls.clear()
    world.run(OUTAGE)
    probes = [call.at for call in world.calls]
    # The first that fails opens the breaker.
    assert least_gap(probes) >= PROBES
    assert 10 <= len(probes) <= OUTAGE / 5

    # "Ask again in two minutes" is what we do.
    asked_at: list[datetime] = []

    def busy(_):
        asked_at.append(world.now)
        return refuses("429 Too Many Requests", Retry_After="120")

    world.meets = busy
    world.run(600)
    assert asked_at
    assert least_gap(asked_at) >= timedelta(seconds=120)

    # A fifth of all calls fails. A PATCH that does costs its read again, and later a read that
    # verifies: 1.25 * (1.25 + 1) + 0.25 * 1.25 calls a row, 1.57 times as many as it needs.
    world.meets = lambda _: refuses("500 Internal Server Error") if rng.random() < 0.2 else None
    world.calls.clear()
    world.run(3600)
    needed, calls = 2 * COUNT, len(world.calls)
    peak = max(Counter(int(call.at.timestamp()) for call in world.calls).values())
    figures(
        "outage",
        rows=COUNT,
        probes=len(probes),
        calls_needed=needed,
        calls_at_20_percent_errors=calls,
        peak_a_second=peak,
    )
    assert needed < calls <= 1.57 * needed + 7 * COUNT**0.5  # four deviations
    assert peak <= 1.2 / CALL.total_seconds()
    assert not Property.objects.exclude(due_at=None).exists()
    titles = {p["title"] for p in world.box.workspace.properties.values()}
    assert titles == {"in the outage"}


@pytest.mark.rule("I11")
def test_a_platform_that_is_back_gets_everything_at_the_usual_rate(world: World):
    make(world, "before")
    world.meets = lambda _: refuses("503 Service Unavailable")
    edit_all(world, "after")
    world.run(OUTAGE)
    world.meets = lambda _: None
    back = world.now
    world.calls.clear()
    world.run(OUTAGE)
    # A probe comes within a minute; then nothing waits but for its turn.
    waited = world.calls[0].at - back
    assert waited <= timedelta(seconds=61)
    assert len(world.calls) == 2 * COUNT
    slowest = world.calls[-1].at - world.calls[0].at
    assert slowest <= 2 * COUNT * CALL + timedelta(seconds=15 * 60)
    assert not Property.objects.exclude(due_at=None).exists()


def make(world: World, title: str) -> None:
    for n in range(COUNT):
        create(world.workspace, f"O-{n}", {"title": title}, origin="API", now=world.now)
    world.run(COUNT)


def edit_all(world: World, title: str) -> None:
    for row in Property.objects.all():
        edit(row, {"title": title}, origin="API", now=world.now)


def least_gap(moments: list[datetime]) -> timedelta:
    return min(
        (later - sooner for sooner, later in pairwise(moments)),
        default=timedelta.max,
    )

"""A pause holds for all calls, also for those that were under way when it began (I11).

Real threads, and a platform that answers late: nothing here can be seen one call after the other.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest
import time_machine
from django.db import connection
from django.utils.timezone import now

from crm_sync import hooks
from crm_sync.models import Workspace
from crm_sync.work import turn
from orders.models import Order
from properties.domain.editing import create
from properties.models import Property
from tests.conftest import PLATFORM
from tests.platforms import Between, Canned, Environ
from tests.together import together

pytestmark = pytest.mark.django_db(transaction=True)

CALLS = 8
ROWS = 30
BUSY: Canned = ("429 Too Many Requests", [("Retry-After", "60")], b"{}")
DOWN: Canned = ("503 Service Unavailable", [], b"{}")


class Stub:
    """Holds the first calls until all are under way; the others answer once there is a pause.

    `answers[n]` is the answer to the nth of them, None for the sandbox's own; `ahead` runs ahead of
    each but the first. `later` is the answer to every other call.
    """

    def __init__(self, answers: list[Canned | None], workspace: Workspace) -> None:
        self.answers, self.workspace = answers, workspace
        self.ahead: Callable[[], object] = lambda: None
        self.later: Canned | None = None
        self.calls: list[tuple[str, str]] = []
        self.all_here = threading.Barrier(len(answers))
        self.lock = threading.Lock()

    def __call__(self, environ: Environ) -> Canned | None:
        with self.lock:
            number = len(self.calls)
            self.calls.append((environ["REQUEST_METHOD"], environ["PATH_INFO"]))
        if number >= len(self.answers):
            return self.later
        self.all_here.wait(20)
        if number:
            until_paused(self.workspace)
            time.sleep(0.2)  # who makes a call within a moment of the pause may not know it yet
            self.ahead()
        return self.answers[number]


def until_paused(workspace: Workspace) -> None:
    """Wait until the pause is noted."""
    end = time.monotonic() + 20
    while not Workspace.objects.exclude(pk=workspace.pk, paused_until=None).exists():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def many(workspace, settings) -> Workspace:
    """Return a workspace with more properties to push than calls may be under way."""
    for number in range(ROWS):
        create(workspace, f"P-{number}", {"title": "Flat"}, origin="ADMIN", now=now())
    Workspace.objects.update(max_under_way=CALLS + 2)  # a push leaves two to others
    workspace.refresh_from_db()
    return workspace


@pytest.fixture
def stubbed(box, many) -> Iterator[Callable[..., Stub]]:
    """Return a function that puts a stub between us and the sandbox."""
    between = Between(box, PLATFORM)

    def put(*answers: Canned | None) -> Stub:
        between.before = stub = Stub(list(answers), many)
        return stub

    yield put
    connection.close()


def push(workspace: Workspace, *, calls: int = CALLS) -> dict[str, int]:
    """Take as many turns at one moment as calls may be under way; return their outcomes.

    Args:
        calls: how many of them begin before any goes on.
    """
    begun = threading.Barrier(calls)
    queue = hooks.queue("properties")

    def work(claims, one):
        with suppress(threading.BrokenBarrierError):
            begun.wait(20)  # none takes the row of another that has not begun
        return queue.work(claims, one)

    counts = Counter()
    for tally in together(
        lambda: turn.take(replace(queue, work=work), workspace.pk, seconds=0.001), workers=CALLS
    ):
        counts.update(tally.counts)
    return dict(counts)


@pytest.mark.rule("I11")
def test_a_call_from_before_a_pause_does_not_end_it(many, stubbed):
    stub = stubbed(BUSY, *[None] * (CALLS - 1))
    began = now()
    assert push(many) == {"delayed": 1, "put back": CALLS - 1}
    many.refresh_from_db()
    # The seven have read, and create nothing in the pause.
    assert [method for method, _ in stub.calls] == ["GET"] * CALLS
    assert timedelta(seconds=60) <= many.paused_until - began < timedelta(seconds=75)
    assert (many.pauses, "429" in many.problem) == (1, True)
    assert push(many) == {}
    assert len(stub.calls) == CALLS
    assert hooks.queue("properties").workspaces(now()) == set()


def test_what_was_sent_before_a_pause_does_not_end_its_growth_after_its_time(many, stubbed):
    stub = stubbed(DOWN, *[None] * (CALLS - 1))
    over = {"paused_until": now() - timedelta(seconds=1), "pauses": 5}
    stub.ahead = lambda: Workspace.objects.update(**over)
    push(many)
    many.refresh_from_db()
    assert many.pauses >= 5
    assert "503" in many.problem


@pytest.mark.rule("I11")
@pytest.mark.parametrize(("answer", "longest"), [(DOWN, 7.0), (BUSY, 60.0)])
def test_a_burst_of_refusals_is_one_pause(many, stubbed, answer, longest):
    stubbed(*[answer] * CALLS)
    assert push(many) == {"delayed": CALLS}
    many.refresh_from_db()
    assert many.pauses == 1
    # The first pause: five seconds and a random part of two; no later one of the burst adds to it.
    assert many.paused_until - now() <= timedelta(seconds=longest)


def test_the_longest_time_that_a_burst_asks_for_holds(many, stubbed):
    waits = ("1", "300", "20", "5")
    answers = [("429 Too Many Requests", [("Retry-After", wait)], b"{}") for wait in waits]
    stubbed(*answers, *[None] * (CALLS - len(answers)))
    push(many)
    many.refresh_from_db()
    assert timedelta(seconds=280) < many.paused_until - now() <= timedelta(seconds=300)
    assert many.pauses == 1


@pytest.mark.rule("I11")
def test_a_read_of_an_order_does_not_end_what_a_push_was_told(box, place, many, stubbed):
    order = place()
    Order.objects.filter(pk=order.pk).update(due_at=now() - timedelta(minutes=1))
    stub = stubbed(BUSY, *[None] * CALLS)

    def read() -> None:
        try:
            turn.take(hooks.queue("orders"), many.pk, seconds=20.0)
        finally:
            connection.close()

    reader = threading.Thread(target=read)
    pusher = threading.Thread(target=lambda: (push(many), connection.close()))
    for thread in (pusher, reader):
        thread.start()
    for thread in (pusher, reader):
        thread.join()
    many.refresh_from_db()
    assert ("GET", f"/v1/orders/{order.platform_id}") in stub.calls[: CALLS + 1]
    assert many.paused_until > now() + timedelta(seconds=45)
    assert many.pauses == 1


def test_a_probe_after_the_pause_ends_it_and_everything_goes_out(box, many, stubbed):
    stubbed(*[BUSY] * CALLS)
    push(many)
    with time_machine.travel(now() + timedelta(seconds=61), tick=True):
        while (counts := push(many, calls=1)) and counts.keys() <= {"created"}:
            pass
    many.refresh_from_db()
    assert (many.paused_until, many.pauses, many.problem) == (None, 0, "")
    assert not Property.objects.exclude(due_at=None).exists()

"""The push under every order of edits, faults, deaths and delays (I1 to I4, I8).

Hypothesis draws the order and shrinks what breaks; `push_model` judges. A worker may stop at each
of its calls and go on later, so whatever can come between two calls does come between them.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, Phase, settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from crm_sync.models import Workspace
from crm_sync.work import leases
from properties import merge
from properties.domain.editing import create, due_now, edit
from properties.models import Property
from properties.push.plan import CREATE_WAIT, LATE_EFFECT
from properties.push.push import push
from properties.push.queue import PROPERTIES
from sandbox.app import Sandbox
from sandbox.state.workspace import Properties
from tests.conftest import PLATFORM, TOKEN
from tests.platforms import Between, Canned, Environ
from tests.properties.push_model import VALUES, Model, forbidden, nested, sent, spelled, word, words
from tests.properties.workers import Call, Worker, die, lose, running, stop_at_calls

EXAMPLES = int(os.environ.get("PUSH_EXAMPLES", "30" if connection.vendor == "sqlite" else "10"))
STEPS = 25
HUNT = bool(os.environ.get("HUNT"))
START = datetime(2026, 1, 5, 8, tzinfo=UTC)
SECONDS = [1, 6, 21, 31, 45, 61, 90, 121]  # past each wait of the push, and short of it
NO_END = START + timedelta(days=365)  # while nobody has taken its row over

# Leaves that neither side shares with the others, and the rules that keep them here.
RULED = {"floorLoad": "never", "ceilingHeight": "theirs"}
# Of few fields and few faults in one example the parts of a sequence meet each other.
FEW = st.integers(0, 2)
MAYBE = st.none() | FEW
# Where a call meets it, and what happens there: "lost" and "dies" before the call is done leave it
# in the air, where it may be done later, or never.
FAULTS = [
    *(("request", what) for what in ("lost", "dies", "400", "429", "500", "done and 500")),
    *(("answer", what) for what in ("lost", "dies")),
]


class Platform:
    """The sandbox, also as one that takes a second property under one reference (A45)."""

    def __init__(self, served: Callable[..., None], *, refuses_twins: bool) -> None:
        self.box = Sandbox(token=TOKEN, now=lambda: START)
        self.box.workspace.properties = Properties()
        self.refuses_twins = refuses_twins
        self.served = served

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        before = self.document
        others = Properties()
        if environ["REQUEST_METHOD"] == "POST" and not self.refuses_twins:
            others, self.box.workspace.properties = self.box.workspace.properties, others
        chunks = list(self.box(environ, start_response))
        self.box.workspace.properties.update(others)
        self.served(environ["test.call"], before, self.document, self.box.calls[-1][3])
        return chunks

    @property
    def document(self) -> dict[str, Any]:
        """What stands under our reference, empty where nothing does."""
        found = list(self.box.workspace.properties.values())
        assert len(found) <= 1, "the property was created twice (I8)"
        return found[0] if found else {}

    def set(self, change: dict[str, Any]) -> None:
        """Change or create it as a person on the platform does."""
        there = self.document or {"id": "9", "objectReferenceId": "A-1"}
        self.box.workspace.properties[there["id"]] = there
        if change == {"heatingType": "UNKNOWN"}:  # which nobody sets: there is a newer value
            self.box.workspace.properties[there["id"]] = there | change
        else:
            self.box.edit_property(there["id"], change)


class PushMachine(RuleBasedStateMachine):
    """One property, our people, the platform's people, and workers that come and go."""

    def __init__(self) -> None:
        super().__init__()
        # As hypothesis.extra.django.TestCase: no row outlives its example.
        self.rows = transaction.atomic()
        self.rows._from_testcase = True
        self.rows.__enter__()
        connection.inc_thread_sharing()
        self.now = START
        self.workers: list[Worker] = []
        self.in_the_air: list[Call] = []
        self.unclear: list[Call] = []

    @initialize(
        policy=st.sampled_from(["crm_wins", "crm_wins", "platform_wins", "ask"]),
        refuses_twins=st.sampled_from([False, False, True]),
        leaves=st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=2, unique=True),
        faults=st.lists(st.sampled_from(FAULTS), min_size=1, max_size=2, unique=True),
        filled=st.booleans(),
        there=st.booleans(),
        late=st.booleans(),
        ruled=st.booleans(),
    )
    def connect(
        self,
        policy: str,
        refuses_twins: bool,
        leaves: list[str],
        faults: list[tuple[str, str]],
        filled: bool,
        there: bool,
        late: bool,
        ruled: bool,
    ) -> None:
        """Set the scene.

        Args:
            filled: our people have said something in each field to begin with.
            there: it is on the platform already.
            late: what may still come does come, in the last moment in which it can; else never.
            ruled: rules keep two more leaves here, which nothing may send.
        """
        self.leaves, self.faults, self.late = leaves, faults, late
        self.platform = Platform(self._was_served, refuses_twins=refuses_twins)
        stop_at_calls(Between(self.platform, PLATFORM), lambda: self.now)
        self.workspace = Workspace.objects.create(
            slug="main", base_url=PLATFORM, fixed_token=TOKEN, conflict_policy=policy
        )
        self.model = Model(policy)
        # A form that is as old as its last saving.
        self.form = create(self.workspace, "A-1", {}, origin="FEED", now=self.now)
        self.ruled = RULED if ruled else {}
        edit(self.form, dict.fromkeys(self.ruled, 1), origin="ADMIN", now=self.now)
        Workspace.objects.update(owners={"rules": self.ruled})
        for leaf in leaves if filled else ():
            self._edit(leaf, VALUES[leaf][0][0])
        if there:
            self._drain()

    def teardown(self) -> None:
        try:
            if sys.exc_info()[0] is None:
                self.settle()
        finally:
            for worker in self._standing():
                worker.go_on(die)
            connection.dec_thread_sharing()
            transaction.set_rollback(True)
            self.rows.__exit__(None, None, None)

    # --- people ---
    @rule(which=FEW, choice=FEW)
    def we_edit(self, which: int, choice: int) -> None:
        leaf = self._leaf(which)
        self._edit(leaf, _other(VALUES[leaf][0], leaf, Property.objects.get().desired, choice))

    @rule(which=FEW)
    def we_revert(self, which: int) -> None:
        """Set a field back to what the row says that the platform holds: the ABA of I2."""
        name, dot, member = self._leaf(which).partition(".")
        value = Property.objects.get().observed.get(name)
        value = (value or {}).get(member) if dot else value
        self._edit(self._leaf(which), None if value == "UNKNOWN" else value)

    def _leaf(self, which: int) -> str:
        return self.leaves[which % len(self.leaves)]

    def _edit(self, leaf: str, value: Any) -> None:
        if edit(self.form, {leaf: value}, origin="ADMIN", now=self.now):
            self.model.we_edited(leaf, value, self.platform.document)

    @precondition(lambda self: self.platform.document or self.platform.refuses_twins)
    @rule(which=FEW, choice=FEW)
    def they_edit(self, which: int, choice: int) -> None:
        """Let a person on the platform change a field, or create the property with it."""
        before, leaf = self.platform.document, self._leaf(which)
        self.platform.set(nested(leaf, _other(VALUES[leaf][1], leaf, before, choice)))
        self.model.they_edited(before, self.platform.document)

    @precondition(lambda self: self.ruled and self.platform.document)
    @rule(value=st.integers(2, 4))
    def they_edit_what_they_own(self, value: int) -> None:
        self.platform.set(dict.fromkeys(self.ruled, value))

    # --- workers ---
    @rule()
    def push(self) -> None:
        """Push, or read, as soon as something is due or a sweep comes by."""
        if Property.objects.get().due_at is None:
            due_now(Property.objects.all(), now=self.now)
        self._run(self._begin())

    @rule(which=FEW, choice=FEW, fault=FEW, changing=st.sampled_from([True, True, False]))
    def push_with_a_fault(self, which: int, choice: int, fault: int, changing: bool) -> None:
        self._run_into(fault, self._begin(which, choice), which, changing=changing)

    @rule(which=FEW, choice=FEW, stops=st.integers(1, 3), theirs=FEW)
    def push_while_they_edit(self, which: int, choice: int, stops: int, theirs: int) -> None:
        """Let their people edit between the calls of a push, or ahead of an answer."""
        worker = self._begin(which, choice)
        for _ in range(stops):
            if worker and not worker.ended:
                self._go_on(worker, "passes")
        if self.platform.document:
            self.they_edit(theirs, choice)
        self._run(worker)

    @rule(which=FEW, choice=FEW, edits=st.booleans())
    def claim_and_give_back(self, which: int, choice: int, edits: bool) -> None:
        """Claim, and end before the row has its turn."""
        worker = self._claim(which, choice)
        if worker:
            if edits:
                self.we_edit(which, choice)
            worker.claim.give_back()
            worker.go_on(die)
            worker.result = "given back"
            self._came_to_its_end(worker)

    @rule(
        which=FEW,
        choice=FEW,
        number=st.integers(1, 6),
        dies=st.booleans(),
        fault=MAYBE,
        recorded=st.booleans(),
    )
    def push_interrupted(
        self,
        which: int,
        choice: int,
        number: int,
        dies: bool,
        fault: int | None,
        recorded: bool,
    ) -> None:
        """Die, or let our people edit, ahead of a statement of the push."""
        left = [number]

        def interrupt(execute: Callable[..., Any], *args: Any) -> Any:
            # A transaction is whole or nothing, so it is interrupted only ahead of it.
            left[0] -= running() is worker and len(connection.savepoint_ids) == depth
            if left[0] == 0:
                left[0] = -1
                die() if dies else self.we_edit(which, choice)
            return execute(*args)

        depth = len(connection.savepoint_ids)
        worker = self._claim(which, choice, recorded=recorded)
        if worker:
            with connection.execute_wrapper(interrupt):
                self._step(worker)
                if fault is None:
                    self._run(worker)
                else:
                    self._run_into(fault, worker, which, changing=True)
            if dies and "inflight" not in worker.claim.found:
                self._note_record(worker)  # it may have written one itself, and nothing has left

    @rule(which=FEW, choice=FEW, stops=st.sampled_from([2, 2, 3, 0, 1]), sleeps=st.booleans())
    def begin_a_push(self, which: int, choice: int, stops: int, sleeps: bool) -> None:
        """Let a worker come to one of its calls, or to its answer, and stand there.

        Args:
            sleeps: for longer than its lease.
        """
        worker = self._begin(which, choice)
        for _ in range(stops):
            if worker and not worker.ended:
                self._go_on(worker, "passes")
        if worker and not worker.ended and sleeps:
            self._wait_until(worker.claim.until)

    @precondition(lambda self: self._standing())
    @rule(which=FEW, stops=st.integers(1, 4))
    def a_worker_goes_on(self, which: int, stops: int) -> None:
        """Let one that stands go on; when its lease is over it is a zombie (I3)."""
        worker = self._standing()[which % len(self._standing())]
        for _ in range(stops):
            if not worker.ended:
                self._go_on(worker, "passes")

    @precondition(lambda self: self._standing())
    @rule(fault=FEW, which=FEW)
    def a_worker_meets_a_fault(self, fault: int, which: int) -> None:
        worker = self._standing()[which % len(self._standing())]
        fitting = [what for point, what in self.faults if point == worker.point] or ["lost"]
        self._go_on(worker, fitting[fault % len(fitting)], which)

    def _standing(self) -> list[Worker]:
        return [worker for worker in self.workers if not worker.ended]

    def _claim(self, which: int = 0, choice: int = 0, *, recorded: bool = True) -> Worker | None:
        """Claim as `drain` does, as soon as there is something; else edit, so that there is.

        Args:
            recorded: what is to be sent is on record with the claim, as where a drain makes it.
        """
        if Property.objects.get().due_at is None:
            self.we_edit(which, choice)
        self._wait_for_work()
        workspace = Workspace.objects.get()
        token = Property.objects.get().lease_token
        record = PROPERTIES.record if recorded else lambda row: {}
        claim = leases.claim(Property.objects.all(), now=self.now, record=record)
        if claim is None:
            return None
        for worker in self.workers:
            if worker.claim.token == token:
                worker.taken_at = self.now
        worker = Worker(claim, lambda: push(claim, workspace, clock=lambda: self.now))
        self.workers.append(worker)
        if "inflight" in worker.claim.found:  # none of a creation, nor beside an unclear call
            self._note_record(worker)
        return worker

    def _note_record(self, worker: Worker) -> None:
        # A field that our people cleared is on record too.
        said = dict.fromkeys(VALUES) | merge.leaves(worker.claim.row.desired)
        wanted = json.dumps(merge.document(said)).encode()
        record = Call(worker, {"REQUEST_METHOD": "PATCH"}, wanted, self.now, is_record=True)
        worker.clears.add(record)
        self.unclear.append(record)
        self.model.is_recorded(record)

    def _begin(self, which: int = 0, choice: int = 0) -> Worker | None:
        worker = self._claim(which, choice)
        if worker:
            self._step(worker)
        return worker

    def _run(self, worker: Worker | None) -> None:
        while worker and not worker.ended:
            self._go_on(worker, "passes")

    def _run_into(self, fault: int, worker: Worker | None, which: int, *, changing: bool) -> None:
        """Run it to its end; a fault meets each call that changes something, or each read."""
        point, what = self.faults[fault % len(self.faults)]
        while worker and not worker.ended:
            assert worker.call
            meets = worker.call.changes == changing and worker.point == point
            self._go_on(worker, what if meets else "passes", which)

    def _go_on(self, worker: Worker, what: str, which: int = 0) -> None:
        """Let happen what was drawn where a worker stands, and run it to its next stop."""
        call = worker.call
        assert call is not None
        carries = list(sent(call))
        if what == "400" and not carries:
            what = "passes"  # it is always a field that is refused
        named = carries[which % len(carries)] if carries else ""
        hears = worker.point == "answer" and what == "passes" and worker.claim.fenced.exists()
        if hears:
            self.model.hears(call)
            self._is_clear(call)
        elif worker.point == "request" and what in ("lost", "dies") and call.changes:
            self.in_the_air.append(call)
        elif what in ("400", "429"):
            worker.clears.add(call)
            if what == "400":
                self.model.was_refused(call, named)

        def happens() -> Canned | None:
            if what in ("lost", "dies"):
                return lose() if what == "lost" else die()
            if what == "done and 500":
                self._done(call)
            return None if what == "passes" else _canned(what[-3:], named)

        self._step(worker, happens)
        if hears and (worker.result or not worker.ended):
            self.model.has_written(call)

    def _is_clear(self, answered: Call) -> None:
        """See which calls have no more effect than this answer shows, once it is written."""
        worker = answered.worker
        gone = [w for w in self.workers if (w.taken_at or not w.result) and w is not worker]
        began = worker.claim.until - leases.LEASE  # whether its read verifies is decided then
        over = all(w.taken_at and w.taken_at + leases.LEASE <= began for w in gone)
        earlier = [
            call
            for call in self.unclear
            if call is not answered and not (call.is_record and call.worker is worker)
        ]
        if answered.changes:
            worker.clears.add(answered)
        elif all(_found(call, answered) or (over and _latest(call) <= began) for call in earlier):
            worker.clears.update(earlier)  # I3: the verifying read

    def _step(self, worker: Worker, happens: Callable[[], Canned | None] = lambda: None) -> None:
        worker.go_on(happens)
        if worker.ended and not (worker.result or worker.taken_at or worker.claim.fenced.exists()):
            worker.result = "died when it had given the row back"
        if worker.ended and worker.result:
            self._came_to_its_end(worker)
        elif worker.point == "request" and worker.call and worker.call.changes:
            body = json.loads(worker.call.content)
            assert not forbidden(body), "what must never travel (§4.6)"
            assert not body.keys() & self.ruled.keys(), "what a rule keeps here"
            self.unclear.append(worker.call)
            self.model.leaves_us(worker.call)

    def _came_to_its_end(self, worker: Worker) -> None:
        worker.ended_at = self.now
        for call in worker.clears & set(self.unclear) if worker.result != "lost" else ():
            self.unclear.remove(call)
            self.model.is_clear(call)

    # --- calls and time ---
    def _was_served(
        self, call: Call, before: dict[str, Any], after: dict[str, Any], status: int
    ) -> None:
        if call.changes:
            self.model.had_effect(call, before, after)
        else:
            call.worker.read = self.model.next_moment()
        call.shows = words(after) if status < 300 else None

    def _done(self, call: Call) -> None:
        """Let the platform do a call whose answer nobody hears."""
        list(self.platform(call.again(), lambda *_: None))

    @precondition(lambda self: self.in_the_air)
    @rule(which=FEW)
    def a_call_arrives_late(self, which: int) -> None:
        self._done(self.in_the_air.pop(which % len(self.in_the_air)))

    @rule(seconds=st.sampled_from(SECONDS))
    def time_passes(self, seconds: int) -> None:
        self._wait_until(self.now + timedelta(seconds=seconds))

    def _wait_for_work(self) -> None:
        row, workspace = Property.objects.get(), Workspace.objects.get()
        if row.due_at:
            waits = (row.due_at, row.lease_until, workspace.paused_until)
            self._wait_until(max(moment for moment in waits if moment))

    def _wait_until(self, moment: datetime) -> None:
        """Let time pass; what has waited for too long comes in its last moment, or never.

        A worker that stood still for longer than its window is beyond all cures (L6).
        """
        for call in sorted(self._waiting(), key=_latest):
            if _latest(call) <= moment:
                self.now = max(self.now, _latest(call) - timedelta(milliseconds=1))
                self._comes_or_not(call)
        self.now = max(self.now, moment)

    def _waiting(self) -> list[Call]:
        """Return the calls that change something and have not come to the platform."""
        held = [w.call for w in self._standing() if w.point == "request" and w.call]
        return [call for call in held if call.changes] + self.in_the_air

    def _comes_or_not(self, call: Call) -> None:
        if call in self.in_the_air:
            self.in_the_air.remove(call)
            if self.late:
                self._done(call)
        elif self.late:
            self._run(call.worker)
        else:
            call.worker.go_on(die)

    # --- the judgement ---
    @invariant()
    def a_row_at_rest_has_nothing_to_send(self) -> None:
        """Not at the end alone: a later edit would make good what was lost."""
        row = Property.objects.filter(due_at=None, lease_token=None).first()
        if row:
            self.model.all_is_sent(row)

    def settle(self) -> None:
        """Let all end without more faults, read once more, and judge what there is."""
        for worker in self._standing():
            if worker.call not in self._waiting():
                worker.go_on(die)
        self._drain()
        self.model.all_is_sent(Property.objects.get())
        # What comes after the row is at rest comes too late for it.
        self._wait_until(max((_latest(call) for call in self._waiting()), default=self.now))
        due_now(Property.objects.all(), now=self.now)
        self._drain()
        row = Property.objects.get()
        assert (row.due_at, row.verify_at, row.create_sent_at) == (None, None, None)
        assert (row.lease_token, row.lease_until, row.inflight) == (None, None, {})
        assert row.platform_id == self.platform.document["id"]
        self.model.judge(row, self.platform.document)
        if self.ruled:
            assert row.desired["floorLoad"] == 1, "what is never sent stays ours"
            theirs = self.platform.document.get("ceilingHeight")
            assert row.desired.get("ceilingHeight") == theirs, "what they own"

    def _drain(self) -> None:
        for _ in range(12):
            if Property.objects.get().due_at is None:
                return
            self._run(self._begin())
        row = Property.objects.get()
        raise AssertionError(f"it does not come to rest: {row.last_answer}")


def _other(values: list[Any], leaf: str, document: dict[str, Any], choice: int) -> Any:
    """Choose a value that differs from the one in the document."""
    others = [value for value in values if spelled(leaf, value) != word(document, leaf)]
    return others[choice % len(others)]


def _latest(call: Call) -> datetime:
    """Say until when a call may still have its effect; every wait of the push is made for this."""
    worker = call.worker
    if call.method == "POST":
        return call.sent_at + CREATE_WAIT  # I8
    if worker.taken_at:
        return worker.taken_at + leases.LEASE  # I3
    return worker.ended_at + LATE_EFFECT if worker.ended_at else NO_END


def _found(call: Call, read: Call) -> bool:
    """Tell whether a read shows the property that this call was to create."""
    return call.method == "POST" and read.shows is not None


def _canned(status: str, named: str) -> Canned:
    errors = [{"field": named, "message": "no"}] if status == "400" else []
    headers = [("Retry-After", "30")] if status == "429" else []
    return f"{status} No", headers, json.dumps({"errors": errors}).encode()


@pytest.mark.rule("I1")
@pytest.mark.django_db
def test_nothing_is_lost_or_overwritten_in_any_order_of_edits_faults_and_deaths():
    run_state_machine_as_test(
        PushMachine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            print_blob=True,
            phases=[Phase.reuse, Phase.generate] if HUNT else settings().phases,
            suppress_health_check=list(HealthCheck),
        ),
    )

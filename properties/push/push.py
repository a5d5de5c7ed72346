"""Push one due property as the smallest PATCH (§4.6, I1 to I4).

Read, reconcile, record in flight, PATCH, reconcile the answer, settle. No HTTP call happens inside
a transaction. Each write needs the lease, and a push ends only the revision that it has read, so a
property that was edited in between stays due.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from django.utils import timezone

from crm_sync.durability import durable
from crm_sync.models import Workspace, due
from crm_sync.platform.client import Client
from crm_sync.platform.errors import (
    AuthError,
    NotFoundError,
    OnHold,
    RejectedError,
    TransientError,
)
from crm_sync.platform.responses import Answer
from crm_sync.sentence import sentence
from crm_sync.work.leases import Claim
from properties import merge
from properties.domain import field_history, owners
from properties.domain.candidates import double_of, may_be_unread
from properties.domain.difference import smallest_patch
from properties.merge import Document, Patch
from properties.models import Property
from properties.models.property import WaitReason
from properties.pull.reading import ReadResult, goes_by_id, kept, read
from properties.push import plan
from properties.push.after_restore import is_unread
from properties.push.holder import Holder
from properties.push.plan import (
    DEADLINE,
    MARGIN,
    MATCH_WAIT,
    PARENT_WAIT,
    READ_WAIT,
    CallState,
    EarlierCalls,
    Plan,
    PushOutcome,
    Sent,
)

DEEPEST = 20  # parents above one another
KNOWN_FOR = timedelta(seconds=0.1)  # after that, another worker may have paused the workspace


def push(
    claim: Claim[Property], workspace: Workspace, *, clock: Callable[[], datetime] = timezone.now
) -> PushOutcome:
    """Read, merge, record, PATCH and settle one claimed property.

    Returns:
        the outcome; `PUT_BACK` if no call that changes something may begin (I11, I13), and `HELD`
        if a person holds pushes (I34).

    Raises:
        LeaseLost: another worker holds the row now; nothing more was written.
    """
    holder, now = Holder(claim, workspace.outgoing_kinds, clock), clock()
    found = plan.with_columns(claim.row, claim.found)
    earlier = plan.earlier_calls(found, abandoned=claim.abandoned, now=now)
    if claim.abandoned:  # stored first, whatever the outcome of this push
        holder.write(verify_at=earlier.verify_at)
    if _waits_for_parent(claim.row):
        return holder.end(plan.waits(now + PARENT_WAIT, WaitReason.PARENT))
    one = _Push(holder, workspace, earlier, clock)
    try:
        with workspace.calling() as client:
            return one.run(client)
    except OnHold as error:
        return one.holder.end(plan.held(one.earlier, error))
    except RejectedError as error:
        return one.refused(error)
    except (TransientError, AuthError, NotFoundError) as error:
        # NotFoundError: the property was there when we read it. The next read decides.
        return one.delayed(error)


def _waits_for_parent(row: Property) -> bool:
    """Return whether a parent must be created first; a circle of parents does not wait.

    The platform knows a parent only after its creation. More than `DEEPEST` count as a circle.
    """
    if row.platform_id is not None:
        return False
    seen = {row.object_reference_id}
    parent = row.desired.get("parentRealtyReferenceId")
    waits = False
    while parent and parent not in seen:
        if len(seen) > DEEPEST:
            return False
        seen.add(parent)
        found = (
            Property.objects.filter(workspace=row.workspace_id, object_reference_id=parent)
            .values("platform_id", "due_at", "desired")
            .first()
        )
        if found is None or found["platform_id"] is not None or found["due_at"] is None:
            break
        waits, parent = True, found["desired"].get("parentRealtyReferenceId")
    return waits and parent != row.object_reference_id


@dataclass
class _Push:
    """One push in progress; `call` is the progress of the call that changes the platform."""

    holder: Holder
    workspace: Workspace
    earlier: EarlierCalls
    clock: Callable[[], datetime]
    call: CallState = CallState.UNSENT

    def __post_init__(self) -> None:
        self.known_at = self.clock()  # when the pause of the workspace was last read
        self.ownership = owners.of_workspace(self.workspace)  # the same rules for all its steps

    @property
    def row(self) -> Property:
        """The row as it was last read or written."""
        return self.holder.row

    def run(self, client: Client) -> PushOutcome:
        """Push the row to its end; raise the errors of a call."""
        if self._must_read():
            found = read(client, self.row)
            inflight, now = self.earlier.inflight, self.clock()
            if until := plan.lag_until(self.row, found.document, inflight=inflight, now=now):
                return self.holder.end(plan.lags(self.earlier, until))
            if found.document is None:
                is_gone = self.row.platform_id is not None
                return self.holder.end(plan.gone(self.row)) if is_gone else self._create(client)
            if self.row.platform_id is None:  # a POST that arrives later cannot change it
                self.earlier = EarlierCalls(self.earlier.inflight, must_verify=True)
        else:
            found = ReadResult(None, goes_by_id(self.row))
        made = self._reconcile(found.document)
        if made.ending:
            return made.ending
        if self._must_stop():
            return self._put_back()
        answer = self._send(_patch_call(client, self.row, by_id=found.by_id), made.patch)
        self._settle(client, "PATCH", answer, made.patch)
        return PushOutcome.PUSHED

    def _must_read(self) -> bool:
        row = self.row
        return (
            self.workspace.read_before_write
            or row.platform_id is None
            or self.earlier.must_verify
            or is_unread(row, self.workspace.restored_at)
            or self.ownership.has_unagreed(row.read_at)
            # A row with nothing to send was made due for a read by a walk, a check or a person.
            or not smallest_patch(row, self.ownership, inflight=self.earlier.pending).parts
        )

    def _reconcile(self, document: Document | None) -> Plan:
        """Write what the platform holds and, in the same write, what we shall send (I2, I4)."""
        now, has_time = self.clock(), not self._must_stop(MARGIN)
        return self.holder.write_plan(
            lambda row: plan.reconcile(
                row,
                document,
                self.ownership,
                earlier=self.earlier,
                now=now,
                has_time=has_time,
                restored_at=self.workspace.restored_at,
                fought=partial(field_history.was_fought_over, row, now=now),
            )
        )

    def _create(self, client: Client) -> PushOutcome:
        """Create a property that a read did not find, and never twice (I8).

        If the platform may have it under another reference, a person matches it first (I36).
        """
        if waits := self._waits_before_creation():
            return self.holder.end(waits)
        if self._must_stop(MARGIN):
            return self._put_back()
        patch = smallest_patch(self.row, self.ownership, inflight=self.earlier.pending)
        with durable():
            self.holder.write(
                inflight=self.earlier.inflight_with(patch.parts), create_sent_at=self.clock()
            )
        if self._must_stop():
            return self._put_back()
        try:
            answer = self._send(client.create_property, patch)
        except RejectedError as error:
            if error.status != 409:
                raise
            now, wait = self.clock(), due.backoff(self.row.attempts)
            return self.holder.end(
                plan.created_meanwhile(self.row, error, earlier=self.earlier, now=now, wait=wait)
            )
        self._settle(client, "POST", answer, patch)
        return PushOutcome.CREATED

    def _waits_before_creation(self) -> Plan | None:
        """Return a plan if an earlier creation (I8), a read or a person (I36) comes first."""
        row, now = self.row, self.clock()
        if until := plan.unclear_until(row, now=now):
            return plan.waits(until, WaitReason.CREATION)
        if row.create_sent_at is not None:
            return None
        if may_be_unread(row):  # asked first: what is read from now on, the next question finds
            return plan.waits(now + READ_WAIT, WaitReason.UNREAD)
        return plan.waits(now + MATCH_WAIT, WaitReason.MATCH) if double_of(row) else None

    def _send(self, call: Callable[[Document], Answer], patch: Patch) -> Answer:
        self.call = CallState.OUT
        answer = call(patch.body)
        self.call = CallState.ANSWERED
        return answer

    def _settle(self, client: Client, method: str, answer: Answer, patch: Patch) -> None:
        """Merge the answer, and end the row."""
        what = {"method": method, "status": str(answer.status)}
        said = sentence("%(method)s answered %(status)s", **what)
        columns = {"pushed_at": self.clock(), "last_answer": said}
        sent = Sent(patch.parts, merge.leaves(self.row.desired), columns)
        document = kept(answer) if isinstance(answer.document, dict) else None
        is_answer = sent.is_shown_by(document)
        if not is_answer:  # only a read can show the result
            document = read(client, self.row).document
        if document is None:
            text = sentence(
                "%(method)s answered %(status)s, and no read finds the property", **what
            )
            raise TransientError(text, unclear=False)
        now, rules = self.clock(), self.ownership
        self.holder.write_plan(
            lambda row: plan.settle(
                row,
                document,
                rules,
                sent=sent,
                is_answer=is_answer,
                earlier=self.earlier,
                now=now,
                fought=partial(field_history.was_fought_over, row, now=now),
            )
        )

    def _must_stop(self, needs: timedelta = DEADLINE) -> bool:
        """Return whether no call may begin: a pause (I11), or too little lease left (I13)."""
        now = self.clock()
        if now - self.known_at > KNOWN_FOR:
            self.workspace.refresh_from_db(fields=["paused_until"])
            self.known_at = now
        return self.workspace.is_paused(now) or now + needs > self.holder.claim.until

    def _put_back(self) -> PushOutcome:
        return self.holder.end(plan.put_back(self.earlier, now=self.clock()))

    def refused(self, error: RejectedError) -> PushOutcome:
        """End the push of a row that the platform refused."""
        now, rules = self.clock(), self.ownership
        return self.holder.end(
            plan.refused(self.row, error, rules, earlier=self.earlier, call=self.call, now=now)
        )

    def delayed(self, error: TransientError | AuthError | NotFoundError) -> PushOutcome:
        """End the push of a row after a call failed that may succeed later."""
        now, workspace = self.clock(), self.workspace
        return self.holder.end(
            plan.delayed(
                self.row,
                error,
                earlier=self.earlier,
                call=self.call,
                now=now,
                paused_until=workspace.paused_until if workspace.is_paused(now) else None,
                wait=due.backoff(self.row.attempts + 1),
            )
        )


def _patch_call(client: Client, row: Property, *, by_id: bool) -> Callable[[Document], Answer]:
    if by_id:
        return partial(client.patch_property, str(row.platform_id))
    return partial(client.patch_property_by_reference, str(row.object_reference_id))

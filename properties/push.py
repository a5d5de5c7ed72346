"""One due property becomes the smallest PATCH (design §5, "An edit becomes a PATCH").

No HTTP inside a transaction; every write is fenced by the lease; every ending holds only for the
revision it is about, so an edit that came meanwhile stays due.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

from crm_sync import due, merge
from crm_sync.answers import Answer
from crm_sync.client import Client
from crm_sync.due import Claim, LeaseLost, Tally
from crm_sync.errors import NotAllowed, NotThere, Passing, Refused
from crm_sync.merge import Leaves, Patch
from crm_sync.models import Workspace
from properties.catalog import READ_ONLY
from properties.difference import cannot_say, leaf_of, reads_back_different, smallest_patch
from properties.models import Property
from properties.models.property import ProblemKind, with_problem
from properties.parents import waits_for_parent
from properties.sync import QUEUE, REFERENCE, observe

log = logging.getLogger(__name__)

DEADLINE = timedelta(seconds=settings.CALL_DEADLINE)
CREATE_WAIT = 6 * DEADLINE  # how long an unclear POST may still be on its way (I8)
LATE_EFFECT = 1.5 * DEADLINE  # how long a PATCH without an answer may still land (I2)
MARGIN = 1.25 * DEADLINE  # of the lease, left before each call that changes something (I13)
PARENT_WAIT = timedelta(seconds=5)


def drain(workspace_id: int, budget: float) -> Tally:
    """Push what is due in one workspace, for at most `budget` seconds."""
    tally, end = Tally(), time.monotonic() + budget
    mine = Property.objects.filter(workspace_id=workspace_id)
    while time.monotonic() < end:
        workspace = Workspace.objects.get(pk=workspace_id)
        now = timezone.now()
        under_way = mine.filter(lease_until__gt=now).count()
        if workspace.is_paused(now) or under_way >= workspace.max_under_way:
            break
        claim = due.claim(mine, now=now)
        if claim is None:
            break
        tally.add(push(claim, workspace))
    return tally


def workspaces_due(now: datetime) -> set[int]:
    """Return the ids of the workspaces with a property to push, without those that are paused."""
    rows = Property.objects.filter(due.free(now)).exclude(workspace__paused_until__gt=now)
    return set(rows.values_list("workspace_id", flat=True).distinct())


due.register(due.Queue(QUEUE, workspaces_due, drain))


def push(
    claim: Claim[Property], workspace: Workspace, *, clock: Callable[[], datetime] = timezone.now
) -> str:
    """Take one claimed property through read, merge, record, PATCH and settle.

    Returns:
        what happened: "created", "pushed", "in sync", "refused", "delayed", "waiting", "gone", or
        "lost" when another worker holds the row now and nothing more was written.
    """
    try:
        return _Push(claim, workspace, clock).run()
    except LeaseLost:
        return "lost"


@dataclass
class _Push:
    """One push under way; `row` is the newest state that was read."""

    claim: Claim[Property]
    workspace: Workspace
    clock: Callable[[], datetime]

    def __post_init__(self) -> None:
        self.row = self.claim.row
        self.out = False  # a call that changes the platform is out
        # I3: a holder that never gave the row back may stand still with a PATCH in its hands.
        if self.claim.abandoned:
            self._write(verify_at=self.clock() + due.LEASE)
        self.verifying = self.row.verify_at is not None and self.row.verify_at <= self.clock()
        self.verify_at = None if self.verifying else self.row.verify_at
        # What earlier calls may yet do; past the verifying read that is nothing any more.
        self.before: dict[str, list[Any]] = {} if self.verifying else self.row.inflight

    def run(self) -> str:
        """Run the push and write its ending, whatever it is."""
        if waits_for_parent(self.row):
            self._end(due_at=self.clock() + PARENT_WAIT, last_answer="waits for its parent")
            return "waiting"
        try:
            outcome = self._go(self.workspace.client())
            self.workspace.answered()
        except Refused as error:
            return self._refused(error)
        except (Passing, NotAllowed, NotThere) as error:
            # NotThere: it was there when we read it, and the next read says what to do.
            self.workspace.pause_for(error, self.clock())
            return self._delayed(error)
        return outcome

    def _go(self, client: Client) -> str:
        if self._must_read():
            found = self._read(client)
            if found is None:
                return self._gone() if self.row.platform_id else self._create(client)
            self._observe(found, sent=None)
        patch = smallest_patch(self.row, inflight=self.before)
        if not patch.parts:
            self._settle({}, last_answer="in sync")
            return "in sync"
        self._record_inflight(patch.parts)
        self._take_answer(client, "PATCH", self._send_patch(client, patch), patch.parts)
        return "pushed"

    # --- read before write ---
    def _must_read(self) -> bool:
        row = self.row
        return self.workspace.read_before_write or row.platform_id is None or self.verifying

    def _read(self, client: Client) -> dict[str, Any] | None:
        """Read by reference, and by id where the reference is being given or changed (A44)."""
        row = self.row
        try:
            if self._by_id():
                return _document(client.get_property(str(row.platform_id)))
            return _document(client.get_property_by_reference(str(row.object_reference_id)))
        except NotThere:
            if row.platform_id is None or self._by_id():
                return None
        try:
            return _document(client.get_property(row.platform_id))
        except NotThere:
            return None

    def _by_id(self) -> bool:
        row = self.row
        unnamed = row.object_reference_id is None or (
            row.observed.get(REFERENCE) != row.object_reference_id
        )
        return row.platform_id is not None and unnamed

    def _observe(self, document: dict[str, Any], *, sent: Leaves | None) -> None:
        policy = self.workspace.conflict_policy
        self.row = observe(self.claim, document, policy, now=self.clock(), sent=sent)

    # --- create, I8 ---
    def _create(self, client: Client) -> str:
        sent_at = self.row.create_sent_at
        if sent_at is not None and self.clock() < sent_at + CREATE_WAIT:
            self._end(due_at=sent_at + CREATE_WAIT, last_answer="waits: its creation is unclear")
            return "waiting"
        patch = smallest_patch(self.row, inflight=self.before)
        self._record_inflight(patch.parts, create_sent_at=self.clock())
        try:
            answer = client.create_property(patch.body)
        except Refused as error:
            if error.status != 409:
                raise
            # A45: somebody created it meanwhile; the next read adopts it.
            self._end(due_at=self.clock(), last_answer=str(error)[:500], **self._undone())
            return "waiting"
        self._take_answer(client, "POST", answer, patch.parts)
        return "created"

    # --- the PATCH ---
    def _record_inflight(self, parts: Leaves, **columns: Any) -> None:
        """Write what may reach the platform before it can (I2), with lease enough for the call."""
        if self.clock() + MARGIN > self.claim.until:
            self._end(due_at=self.clock())
            raise LeaseLost
        inflight = {path: list(values) for path, values in self.before.items()}
        for path, value in parts.items():
            values = inflight.setdefault(path, [])
            if value not in values:
                values.append(value)
        self._write(inflight=inflight, **columns)
        self.out = True

    def _send_patch(self, client: Client, patch: Patch) -> Answer:
        if self._by_id():
            return client.patch_property(str(self.row.platform_id), patch.body)
        return client.patch_property_by_reference(str(self.row.object_reference_id), patch.body)

    def _take_answer(self, client: Client, method: str, answer: Answer, sent: Leaves) -> None:
        """Merge the answer; what reads back different waits for a person, it is never a loop."""
        self.out = False
        wanted = merge.leaves(self.row.desired)
        document = answer.document if isinstance(answer.document, dict) else {}
        told = merge.leaves(document)
        if any(path not in told and value not in ([], {}) for path, value in sent.items()):
            # The answer does not show what we sent: only a read can say what became of it.
            self._observe(self._read(client) or document, sent=None)
        else:
            self._observe(document, sent=sent)
        said = f"{method} answered {answer.status}"
        differs = reads_back_different(self.row, sent, wanted)
        self._settle(differs, pushed_at=self.clock(), last_answer=said)

    # --- the endings ---
    def _settle(self, differs: dict[str, str], **columns: Any) -> None:
        """Write that all was sent that can be; what cannot be said becomes a visible state."""
        row = self.row
        problem = with_problem(row.problem, ProblemKind.DIFFERS, differs)
        rest = smallest_patch(row, held=row.held | differs.keys())
        unsaid = set(rest.unsendable) - READ_ONLY
        texts = {path: cannot_say(row, path) for path in sorted(unsaid)}
        self._end(
            # A rest is an edit that came while the PATCH was out.
            due_at=self.clock() if rest.parts else self.verify_at,
            verify_at=self.verify_at,
            # As long as an earlier call may land, its values stay ours.
            inflight=self.before if self.verify_at else {},
            problem=with_problem(problem, ProblemKind.CANNOT_CLEAR, texts),
            attempts=0,
            **columns,
        )

    def _refused(self, error: Refused) -> str:
        """Put the platform's words at the field; the other fields go out without it (§7)."""
        paths = {leaf_of(field.path, self.row): field.message for field in error.fields}
        named = {path: text for path, text in paths.items() if path}
        problem = with_problem(
            self.row.problem, ProblemKind.REFUSED, named or {"": str(error)[:1000]}
        )
        held = self.row.held | named.keys()
        rest = bool(named) and bool(smallest_patch(self.row, held=held).parts)
        self._end(
            due_at=self.clock() if rest else self.verify_at,
            verify_at=self.verify_at,
            problem=problem,
            last_answer=str(error)[:500],
            **self._undone(),
        )
        return "refused"

    def _delayed(self, error: Passing | NotAllowed | NotThere) -> str:
        now, attempts = self.clock(), self.row.attempts + 1
        waits = [now + due.backoff(attempts), self.workspace.paused_until]
        columns = self._undone()
        if self.out and isinstance(error, Passing) and error.unclear:
            # Not before the end of what an earlier holder may do (I3).
            columns = {"verify_at": max(now + LATE_EFFECT, self.verify_at or now)}
            if self.row.create_sent_at:
                waits.append(self.row.create_sent_at + CREATE_WAIT)
        due_at = max(wait for wait in waits if wait)
        self._end(due_at=due_at, attempts=attempts, last_answer=str(error)[:500], **columns)
        return "delayed"

    def _gone(self) -> str:
        text = "the platform has no such property any more; an edit creates it again"
        problem = with_problem(self.row.problem, ProblemKind.GONE, {"": text})
        gone: dict[str, Any] = {"observed": {}, "platform_id": None, "inflight": {}}
        self._end(due_at=None, verify_at=None, problem=problem, **gone)
        return "gone"

    def _undone(self) -> dict[str, Any]:
        """Return the columns after a plain no: nothing of the call is on its way."""
        return {"inflight": self.before, "create_sent_at": None} if self.out else {}

    def _write(self, **columns: Any) -> None:
        """Write columns that the holder owns; the revision stays the one that was read."""
        if not self.claim.fenced.update(**columns):
            raise LeaseLost
        for name, value in columns.items():
            setattr(self.row, name, value)

    def _end(self, **columns: Any) -> None:
        """Give the row back with its ending; one that was edited meanwhile stays due."""
        neutral = {k: v for k, v in columns.items() if k not in ("due_at", "problem")}
        same = self.claim.fenced.filter(revision=self.row.revision)
        if columns.get("problem", self.row.problem) != self.row.problem:
            # Else a form that was opened before would save the problem away.
            columns["revision"] = self.row.revision + 1
        if same.update(lease_token=None, lease_until=None, **columns):
            return
        if not self.claim.release(**neutral):
            raise LeaseLost


def _document(answer: Answer) -> dict[str, Any]:
    if not isinstance(answer.document, dict):
        raise Passing("the platform's answer is no property", unclear=False)
    return answer.document

"""One due property becomes the smallest PATCH (§4.6, I1 to I4).

No HTTP inside a transaction; every write is fenced by the lease; every ending holds only for the
revision it is about, so an edit that came meanwhile stays due.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

from crm_sync.jobs import due
from crm_sync.jobs.due import Claim
from crm_sync.jobs.durability import durable
from crm_sync.models import Workspace
from crm_sync.platform.client import Client
from crm_sync.platform.errors import AuthError, NotFoundError, RejectedError, TransientError
from crm_sync.platform.responses import Answer
from properties import merge
from properties.catalog import READ_ONLY
from properties.difference import cannot_say, reads_back_different, refused_leaf, smallest_patch
from properties.merge import Leaves, Patch
from properties.models import Property
from properties.models.property import ProblemKind, with_problem
from properties.pull.reading import goes_by_id, read
from properties.push.holder import Columns, Holder
from properties.push.parents import waits_for_parent

DEADLINE = timedelta(seconds=settings.CALL_DEADLINE)
CREATE_WAIT = 6 * DEADLINE  # how long an unclear POST may still be on its way (I8)
LATE_EFFECT = 1.5 * DEADLINE  # how long a PATCH without an answer may still land (I2)
MARGIN = 1.25 * DEADLINE  # of the lease, left before each call that changes something (I13)
PARENT_WAIT = timedelta(seconds=5)


def push(
    claim: Claim[Property], workspace: Workspace, *, clock: Callable[[], datetime] = timezone.now
) -> str:
    """Take one claimed property through read, merge, record, PATCH and settle.

    Returns:
        what happened: "created", "pushed", "in sync", "refused", "delayed", "waiting", "gone",
        or "put back" when too little of the lease was left for a call that changes something.

    Raises:
        LeaseLost: another worker holds the row now, and nothing more was written.
    """
    return _Push(claim, workspace, clock).run()


@dataclass
class _Push:
    """One push under way."""

    claim: Claim[Property]
    workspace: Workspace
    clock: Callable[[], datetime]

    def __post_init__(self) -> None:
        self.holder = Holder(self.claim, self.workspace, self.clock)
        self.out = False  # a call that changes the platform is out
        self.patch: Patch | None = None
        self.by_id = goes_by_id(self.row)
        # I3: a holder that never gave the row back may stand still with a PATCH in its hands.
        if self.claim.abandoned:
            self.holder.write(verify_at=self.clock() + due.LEASE)
        self.verifying = self.row.verify_at is not None and self.row.verify_at <= self.clock()
        self.verify_at = None if self.verifying else self.row.verify_at
        # What earlier calls may yet do; past the verifying read that is nothing any more.
        self.before: dict[str, list[Any]] = {} if self.verifying else self.row.inflight

    @property
    def row(self) -> Property:
        """The newest state that was read."""
        return self.holder.row

    def run(self) -> str:
        """Run the push and write its ending, whatever it is."""
        if waits_for_parent(self.row):
            self.holder.end(due_at=self.clock() + PARENT_WAIT, last_answer="waits for its parent")
            return "waiting"
        try:
            outcome = self._go(self.workspace.client())
            self.workspace.answered()
        except RejectedError as error:
            return self._refused(error)
        except (TransientError, AuthError, NotFoundError) as error:
            # NotFoundError: it was there when we read it, and the next read says what to do.
            self.workspace.pause_for(error, self.clock())
            return self._delayed(error)
        return outcome

    def _go(self, client: Client) -> str:
        found = None
        if self._must_read():
            found = self._read(client)
            if found is None:
                return self._gone() if self.row.platform_id else self._create(client)
        # What they say and what we shall send are one write (I2, I4).
        self.holder.merge(found, then=self._after_read)
        if self.patch is None:
            return "put back"
        if not self.patch.parts:
            return "in sync"
        if self._is_late(DEADLINE):
            return self._unsent(verify_at=self.verify_at)
        self.out = True
        self._take_answer(client, "PATCH", self._send_patch(client, self.patch), self.patch.parts)
        return "pushed"

    def _after_read(self, row: Property) -> Columns:
        """Return what to write of a row as it is after the read: its ending, or what goes out."""
        self.patch = smallest_patch(row, inflight=self.before)
        if not self.patch.parts:
            return self._settled(row, {}, last_answer="in sync")
        if self._is_late():
            self.patch = None
            # What a verifying read has settled stays settled.
            known = {"verify_at": self.verify_at, "inflight": self.before}
            return due.RELEASED | known | {"due_at": self.clock()}
        return {"inflight": self._with_inflight(self.patch.parts)}

    # --- read before write ---
    def _must_read(self) -> bool:
        row = self.row
        return (
            self.workspace.read_before_write
            or row.platform_id is None
            or self.verifying
            # With nothing to send it was made due for a read: by a walk, a check, a person.
            or not smallest_patch(row, inflight=self.before).parts
        )

    def _read(self, client: Client) -> dict[str, Any] | None:
        found = read(client, self.row)
        self.by_id = found.by_id
        return found.document

    # --- create, I8 ---
    def _create(self, client: Client) -> str:
        sent_at = self.row.create_sent_at
        if sent_at is not None and self.clock() < sent_at + CREATE_WAIT:
            self.holder.end(
                due_at=sent_at + CREATE_WAIT, last_answer="waits: its creation is unclear"
            )
            return "waiting"
        if self._is_late():
            self.holder.end(due_at=self.clock())
            return "put back"
        patch = smallest_patch(self.row, inflight=self.before)
        with durable():  # I8
            self.holder.write(
                inflight=self._with_inflight(patch.parts), create_sent_at=self.clock()
            )
        if self._is_late(DEADLINE):
            return self._unsent(create_sent_at=None)
        self.out = True
        try:
            answer = client.create_property(patch.body)
        except RejectedError as error:
            if error.status != 409:
                raise
            # A45: somebody created it meanwhile; the next read adopts it. Where that finds nothing,
            # the two would take turns for ever (I11).
            tried = self.row.attempts
            wait = due.backoff(tried) if tried else timedelta()
            columns = {"due_at": self.clock() + wait, "attempts": tried + 1, **self._undone()}
            self.holder.end(last_answer=str(error)[:500], **columns)
            return "waiting"
        self._take_answer(client, "POST", answer, patch.parts)
        return "created"

    # --- the PATCH ---
    def _is_late(self, needs: timedelta = MARGIN) -> bool:
        """Tell whether the lease might end before a call that begins now (I13)."""
        return self.clock() + needs > self.claim.until

    def _unsent(self, **columns: Any) -> str:
        """Give the row back whose record waited too long for the database: no call left."""
        self.holder.end(due_at=self.clock(), inflight=self.before, **columns)
        return "put back"

    def _with_inflight(self, parts: Leaves) -> dict[str, list[Any]]:
        """Return what may reach the platform, to be written before it can (I2)."""
        inflight = {path: list(values) for path, values in self.before.items()}
        for path, value in parts.items():
            values = inflight.setdefault(path, [])
            if value not in values:
                values.append(value)
        return inflight

    def _send_patch(self, client: Client, patch: Patch) -> Answer:
        if self.by_id:
            return client.patch_property(str(self.row.platform_id), patch.body)
        return client.patch_property_by_reference(str(self.row.object_reference_id), patch.body)

    def _take_answer(self, client: Client, method: str, answer: Answer, sent: Leaves) -> None:
        """Merge the answer; what reads back different waits for a person, it is never a loop."""
        self.out = False
        wanted = merge.leaves(self.row.desired)
        document = answer.cleaned if isinstance(answer.document, dict) else {}
        told = merge.leaves(document)
        about: Leaves | None = sent
        if any(path not in told and value not in ([], {}) for path, value in sent.items()):
            # The answer does not show what we sent: only a read can say what became of it.
            document, about = self._read(client) or document, None
        columns = {"pushed_at": self.clock(), "last_answer": f"{method} answered {answer.status}"}
        self.holder.merge(
            document,
            sent=about,
            then=lambda row: self._settled(row, reads_back_different(row, sent, wanted), **columns),
        )

    # --- the endings ---
    def _settled(self, row: Property, differs: dict[str, str], **columns: Any) -> Columns:
        """Return the ending of a row of which all was sent that can be.

        What cannot be said, and what reads back different, becomes a visible state.
        """
        problem = with_problem(row.problem, ProblemKind.DIFFERS, differs)
        rest = smallest_patch(row, blocked=row.blocked | differs.keys())
        return due.RELEASED | {
            # A rest is an edit that came while the PATCH was out.
            "due_at": self.clock() if rest.parts else self.verify_at,
            "verify_at": self.verify_at,
            # As long as an earlier call may land, its values stay ours.
            "inflight": self.before if self.verify_at else {},
            "problem": with_problem(problem, ProblemKind.CANNOT_CLEAR, _unsaid(row, rest)),
            "attempts": 0,
            **columns,
        }

    def _refused(self, error: RejectedError) -> str:
        """Put the platform's words at the field; the other fields go out without it (§7)."""
        paths = {refused_leaf(field.path, self.row): field.message for field in error.fields}
        named = {path: text for path, text in paths.items() if path}
        problem = with_problem(
            self.row.problem, ProblemKind.REFUSED, named or {"": str(error)[:1000]}
        )
        blocked = self.row.blocked | named.keys()
        rest = smallest_patch(self.row, blocked=blocked)
        problem = with_problem(problem, ProblemKind.CANNOT_CLEAR, _unsaid(self.row, rest))
        self.holder.end(
            due_at=self.clock() if named and rest.parts else self.verify_at,
            verify_at=self.verify_at,
            problem=problem,
            last_answer=str(error)[:500],
            **self._undone(),
        )
        return "refused"

    def _delayed(self, error: TransientError | AuthError | NotFoundError) -> str:
        now, paused_until = self.clock(), self.workspace.paused_until
        # What makes all wait is no fault of this row: it goes with the others afterwards.
        paused = self.workspace.is_paused(now)
        attempts = self.row.attempts + (not paused)
        waits = [paused_until if paused else now + due.backoff(attempts)]
        columns = self._undone()
        if self.out and isinstance(error, TransientError) and error.unclear:
            # Not before the end of what an earlier holder may do (I3).
            columns = {"verify_at": max(now + LATE_EFFECT, self.verify_at or now)}
            if self.row.create_sent_at:
                waits.append(self.row.create_sent_at + CREATE_WAIT)
        due_at = max(wait for wait in waits if wait)
        self.holder.end(due_at=due_at, attempts=attempts, last_answer=str(error)[:500], **columns)
        return "delayed"

    def _gone(self) -> str:
        text = "the platform has no such property any more; an edit creates it again"
        problem = with_problem(self.row.problem, ProblemKind.GONE, {"": text})
        gone: dict[str, Any] = {"observed": {}, "platform_id": None, "inflight": {}}
        self.holder.end(due_at=None, verify_at=None, problem=problem, **gone)
        return "gone"

    def _undone(self) -> dict[str, Any]:
        """Return the columns after a plain no: nothing of the call is on its way."""
        return {"inflight": self.before, "create_sent_at": None} if self.out else {}


def _unsaid(row: Property, rest: Patch) -> dict[str, str]:
    """Say at each leaf of what is left why no PATCH says it."""
    return {path: cannot_say(row, path) for path in sorted(set(rest.unsendable) - READ_ONLY)}

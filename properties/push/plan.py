"""Pure: what a read or an answer means for a row, and what is to be written and sent then.

Values in, values out: no database, no clock, no call. `push` makes the calls, and `holder` writes
what stands here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from django.conf import settings

from crm_sync.jobs import due
from crm_sync.platform.errors import RejectedError, SyncError, TransientError
from properties import merge
from properties.catalog import READ_ONLY, same_json
from properties.difference import (
    cannot_say,
    leaves_in_text,
    reads_back_different,
    refused_leaf,
    smallest_patch,
)
from properties.merge import Document, Leaves, Patch
from properties.models import Property
from properties.models.property import ProblemKind, WaitReason, with_problem
from properties.pull.observation import Observation, observe

DEADLINE = timedelta(seconds=settings.CALL_DEADLINE)
CREATE_WAIT = 6 * DEADLINE  # how long an unclear POST may still be on its way (I8)
LATE_EFFECT = 1.5 * DEADLINE  # how long a PATCH without an answer may still land (I2)
MARGIN = 1.25 * DEADLINE  # of the lease, left before each call that changes something (I13)
PARENT_WAIT = timedelta(seconds=5)

Columns = dict[str, Any]
Values = dict[str, list[Any]]  # leaf to values that may have reached the platform


@dataclass(frozen=True)
class Earlier:
    """What earlier calls of ours have left, and what they may still do.

    Attributes:
        inflight: the values that they may have left on the platform by now.
        pending: of these, the ones that may still land; none at the verifying read.
        verify_at: when the row has to be read once more, because some may still land (I3).
        must_verify: that time has come.
    """

    inflight: Values = field(default_factory=dict)
    pending: Values = field(default_factory=dict)
    verify_at: datetime | None = None
    must_verify: bool = False

    def with_(self, parts: Leaves) -> Values:
        """Return what may reach the platform once these leaves are sent as well (I2)."""
        inflight = {path: list(values) for path, values in self.pending.items()}
        for path, value in parts.items():
            values = inflight.setdefault(path, [])
            if value not in values:
                values.append(value)
        return inflight


def earlier_calls(row: Property, *, abandoned: bool, now: datetime) -> Earlier:
    """Say what calls before this claim of a row may have done and may still do.

    Args:
        abandoned: the last holder never gave the row back: it may stand still with a PATCH in its
            hands, so the row is read once more when nothing of it can come any more (I3).
    """
    verify_at = now + due.LEASE if abandoned else row.verify_at
    if verify_at is not None and verify_at <= now:
        return Earlier(row.inflight, must_verify=True)
    return Earlier(row.inflight, row.inflight, verify_at)


def foreseen(row: Property, abandoned: bool) -> Columns:
    """Return the record of what will be sent if a read brings nothing new; empty for none.

    None for a creation, which has a record of its own (I8), and none where an earlier call may yet
    show: what that has left stays recorded as it is until it is read (I3).
    """
    if row.platform_id is None or abandoned or row.verify_at is not None:
        return {}
    earlier = Earlier(row.inflight, row.inflight)
    patch = smallest_patch(row, inflight=earlier.pending)
    return {"inflight": earlier.with_(patch.parts)} if patch.parts else {}


class Call(Enum):
    """How far the call came that changes the platform."""

    UNSENT = "it has not left"
    OUT = "it has left, and no good answer came"
    ANSWERED = "it was done, and the platform said so"


@dataclass(frozen=True)
class Plan:
    """What to write of a row, and what is to be sent then.

    Attributes:
        columns: with `due_at` where this is the end; else what is sent is in flight in it (I2).
        patch: empty at the end.
        ending: the word for what happened; "" where the patch is to be sent.
        seen: what the merge found, with the changes and conflicts to keep (I4).
    """

    columns: Columns
    patch: Patch = field(default_factory=Patch)
    ending: str = ""
    seen: Observation | None = None

    def is_written_in(self, row: Property) -> bool:
        """Tell whether a row holds all of it already but for the time, so that the call may go."""
        has_traces = self.seen is not None and self.seen.leaves_traces
        return not has_traces and changed(row, self.columns).keys() <= {"read_at"}


@dataclass(frozen=True)
class Sent:
    """What went out in one call that was answered.

    Attributes:
        parts: its leaves.
        wanted: all leaves that we wanted when it left; what was edited since has not been sent.
        columns: what to write about the answer.
    """

    parts: Leaves
    wanted: Leaves
    columns: Columns = field(default_factory=dict)

    def is_shown_by(self, answer: Document | None) -> bool:
        """Tell whether an answer shows each leaf; an emptied one is left out of it (§2).

        None and {} show nothing: not even that a list was emptied.
        """
        if not answer:
            return False
        told = merge.leaves(answer)
        return all(path in told or value in ([], {}) for path, value in self.parts.items())


def reconcile(
    row: Property,
    told: Document | None,
    policy: str,
    *,
    earlier: Earlier,
    now: datetime,
    has_time: bool,
) -> Plan:
    """Merge a full read into a row, and say what is to be sent.

    Args:
        told: the platform's document, cleaned text; None where nothing was read.
        policy: who wins where both sides changed a field.
        has_time: enough of the lease is left for a call that changes something (I13).

    Returns:
        the smallest PATCH with its record in flight; or the ending "in sync", or "put back" where
        there is something to send and no time.
    """
    seen = None
    if told is not None:
        seen = observe(row, told, policy, now=now, inflight=earlier.inflight)
    columns = dict(seen.columns) if seen else {}
    merged = with_columns(row, columns)
    patch = smallest_patch(merged, inflight=earlier.pending)
    if not patch.parts:
        columns |= _settled(merged, earlier, now=now) | {"last_answer": "in sync"}
        return Plan(columns, ending="in sync", seen=seen)
    if not has_time:
        columns |= put_back(earlier, now=now).columns
        return Plan(columns, ending="put back", seen=seen)
    return Plan(columns | {"inflight": earlier.with_(patch.parts)}, patch, seen=seen)


def settle(
    row: Property,
    told: Document,
    policy: str,
    *,
    sent: Sent,
    is_answer: bool,
    earlier: Earlier,
    now: datetime,
) -> Plan:
    """Merge what came of a call into the row that was sent, and end it.

    Args:
        told: the answer, or a full read where the answer did not show what was sent; not empty.
        is_answer: which of both: an answer speaks only of what it holds.

    Returns:
        the ending "settled": what reads back different waits for a person, it is never a loop.
    """
    about = sent.parts if is_answer else None
    seen = observe(row, told, policy, now=now, inflight=row.inflight, sent=about)
    columns = dict(seen.columns)
    merged = with_columns(row, columns)
    differs = reads_back_different(merged, sent.parts, sent.wanted)
    columns |= _settled(merged, earlier, now=now, differs=differs) | sent.columns
    return Plan(columns, ending="settled", seen=seen)


def _settled(
    row: Property, earlier: Earlier, *, now: datetime, differs: dict[str, str] | None = None
) -> Columns:
    """Return the ending of a row of which all was sent that can be.

    What cannot be said, and what reads back different, becomes a visible state.
    """
    differs = differs or {}
    problem = with_problem(row.problem, ProblemKind.DIFFERS, differs)
    rest = smallest_patch(row, blocked=row.blocked | differs.keys())
    return {
        # A rest is an edit that came while the PATCH was out.
        **_due(earlier, now if rest.parts else None),
        # As long as an earlier call may land, its values stay ours.
        "inflight": earlier.pending if earlier.verify_at else {},
        "problem": with_problem(problem, ProblemKind.CANNOT_CLEAR, _unsaid(row, rest)),
        "attempts": 0,
    }


def put_back(earlier: Earlier, *, now: datetime) -> Plan:
    """Leave the row due, with nothing sent; what a verifying read has settled stays settled."""
    columns = {"inflight": earlier.pending, "create_sent_at": None}
    return Plan(columns | _due(earlier, now), ending="put back")


def refused(
    row: Property, error: RejectedError, *, earlier: Earlier, call: Call, now: datetime
) -> Plan:
    """Put the platform's words at the field; the other fields go out without it (§7)."""
    named = _named(row, error, call)
    problem = with_problem(row.problem, ProblemKind.REFUSED, named or {"": str(error)[:1000]})
    rest = smallest_patch(row, blocked=row.blocked | named.keys())
    columns = {
        **_due(earlier, now if named and rest.parts else None),
        "problem": with_problem(problem, ProblemKind.CANNOT_CLEAR, _unsaid(row, rest)),
        "last_answer": str(error)[:500],
    }
    return Plan(columns | _taken_back(earlier, call), ending="refused")


def _named(row: Property, error: RejectedError, call: Call) -> dict[str, str]:
    """Return the leaves that a refusal names, with what it says of each (A4).

    Where it names none as such: of what was sent, the leaves that its text names.
    """
    paths = {refused_leaf(one.path, row): one.message for one in error.fields}
    named = {path: text for path, text in paths.items() if path}
    if named or call is Call.UNSENT:
        return named
    texts = (error.words, *(one.message for one in error.fields))
    return {path: text for text in texts for path in leaves_in_text(text, row.inflight)}


def delayed(
    row: Property,
    error: SyncError,
    *,
    earlier: Earlier,
    call: Call,
    now: datetime,
    paused_until: datetime | None,
    wait: timedelta,
) -> Plan:
    """Try again later; a call that changes something and got no answer is watched (I2, I8).

    Args:
        paused_until: when the workspace goes on; None where it does not wait.
        wait: how long this row waits where the others do not.
    """
    # What makes all wait is no fault of this row: it goes with the others afterwards.
    attempts = row.attempts + (paused_until is None)
    due_at = paused_until or now + wait
    reason = WaitReason.PAUSE.value if paused_until else WaitReason.FAILURE.value
    columns = _taken_back(earlier, call)
    if call is Call.OUT and isinstance(error, TransientError) and error.unclear:
        # Not before the end of what an earlier holder may do (I3).
        columns = {"verify_at": max(now + LATE_EFFECT, earlier.verify_at or now)}
        if row.create_sent_at:
            due_at = max(due_at, row.create_sent_at + CREATE_WAIT)
            reason = WaitReason.CREATION.value
    columns |= {"due_at": due_at, "wait_reason": reason, "attempts": attempts}
    return Plan(columns | {"last_answer": str(error)[:500]}, ending="delayed")


def created_meanwhile(
    row: Property, error: RejectedError, *, earlier: Earlier, now: datetime, wait: timedelta
) -> Plan:
    """Read again and adopt it (A45); from the second time on after a wait.

    Where the read finds nothing, the two would take turns for ever (I11).
    """
    columns = {
        "due_at": now + (wait if row.attempts else timedelta()),
        "wait_reason": WaitReason.FAILURE.value if row.attempts else "",
        "attempts": row.attempts + 1,
        "last_answer": str(error)[:500],
    }
    return Plan(columns | _taken_back(earlier, Call.OUT), ending="waiting")


def waits(until: datetime, why: WaitReason) -> Plan:
    """Leave the row for later, with nothing sent."""
    return Plan({"due_at": until, "wait_reason": why.value}, ending="waiting")


def unclear_until(row: Property, *, now: datetime) -> datetime | None:
    """Say until when the creation of a row may still be on its way (I8); None when it is not."""
    sent_at = row.create_sent_at
    return None if sent_at is None or now >= sent_at + CREATE_WAIT else sent_at + CREATE_WAIT


def gone(row: Property) -> Plan:
    """Keep what we want of a property that the platform has no longer."""
    text = "the platform has no such property any more; an edit creates it again"
    columns = {
        **_due(Earlier(), None),
        **{"observed": {}, "platform_id": None, "inflight": {}},
        "problem": with_problem(row.problem, ProblemKind.GONE, {"": text}),
    }
    return Plan(columns, ending="gone")


def _due(earlier: Earlier, at: datetime | None) -> Columns:
    """Return when the row comes again: at that time, else for its verifying read, else never."""
    watched = at is None and earlier.verify_at is not None
    return {
        "due_at": earlier.verify_at if at is None else at,
        "verify_at": earlier.verify_at,
        "wait_reason": WaitReason.VERIFICATION.value if watched else "",
    }


def _taken_back(earlier: Earlier, call: Call) -> Columns:
    """Return the columns after a plain no: nothing of the call is on its way."""
    if call is Call.UNSENT:
        return {"inflight": earlier.inflight}
    return {"inflight": earlier.pending, "create_sent_at": None} if call is Call.OUT else {}


def _unsaid(row: Property, rest: Patch) -> dict[str, str]:
    """Say at each leaf of what is left why no PATCH says it."""
    return {path: cannot_say(row, path) for path in sorted(set(rest.unsendable) - READ_ONLY)}


def with_columns(row: Property, columns: Mapping[str, Any]) -> Property:
    """Return the row as it will be; `copy.copy` and `setattr` take ten times as long."""
    merged = Property.__new__(Property)
    merged.__dict__.update(row.__dict__, **columns)
    return merged


def changed(row: Property, columns: Columns) -> Columns:
    """Leave out what stands there already; `due_at` is not the holder's alone, so it is written."""
    return {
        name: value
        for name, value in columns.items()
        if name == "due_at" or not same_json(getattr(row, name), value)
    }

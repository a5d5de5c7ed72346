"""Pure: decides what to write to a property and what to send, after each read and each answer.

Takes and returns values: no database, no clock, no call. `push` makes the calls, and `holder`
writes the columns of a plan.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from django.conf import settings

from crm_sync.platform.errors import OnHold, RejectedError, SyncError, TransientError, problem_of
from crm_sync.platform.responses import LAG
from crm_sync.sentence import sentence
from crm_sync.work import leases
from properties import merge
from properties.catalog import READ_ONLY, equal
from properties.domain.difference import (
    cannot_say,
    leaves_in_text,
    reads_back_different,
    refused_leaf,
    smallest_patch,
)
from properties.domain.editing import REFERENCE
from properties.merge import Document, Leaves, Patch
from properties.models import Property
from properties.models.property import ProblemKind, WaitReason, with_problem
from properties.ownership import Ownership
from properties.pull.observation import Observation, never_fought, observe
from properties.push import after_restore

DEADLINE = timedelta(seconds=settings.CALL_DEADLINE)
CREATE_WAIT = 6 * DEADLINE  # how long an unclear POST may still arrive (I8)
LATE_EFFECT = 1.5 * DEADLINE  # how long a PATCH without an answer may still arrive (I2)
MARGIN = 1.25 * DEADLINE  # time of the lease that a call that changes something needs (I13)
PARENT_WAIT = timedelta(seconds=5)
READ_WAIT = timedelta(seconds=5)  # after which it comes behind the reads that are due now
MATCH_WAIT = timedelta(hours=1)  # a person who decides makes the row due at once
WHOLE = ""  # in the place of a leaf: the property as a whole
IN_SYNC = sentence("in sync")

Columns = dict[str, Any]
Values = dict[str, list[Any]]  # leaf to the values that may have reached the platform


@dataclass(frozen=True)
class EarlierCalls:
    """The effects that our earlier calls may have had on the property, and may still have.

    Attributes:
        inflight: the values that they may have set on the platform.
        pending: the values of `inflight` that may still arrive; none at the verifying read.
        verify_at: when to read the property again, because a value may still arrive (I3); None if
            no value may still arrive.
        must_verify: `verify_at` has passed.
    """

    inflight: Values = field(default_factory=dict)
    pending: Values = field(default_factory=dict)
    verify_at: datetime | None = None
    must_verify: bool = False

    def inflight_with(self, parts: Leaves) -> Values:
        """Return the values that may reach the platform once these leaves are sent too (I2)."""
        inflight = {path: list(values) for path, values in self.pending.items()}
        for path, value in parts.items():
            values = inflight.setdefault(path, [])
            if value not in values:
                values.append(value)
        return inflight


def earlier_calls(row: Property, *, abandoned: bool, now: datetime) -> EarlierCalls:
    """Return the effects of the calls before this claim.

    Args:
        abandoned: the last holder never released the row. It may be suspended and send its PATCH
            later, so the row is read again when that can no longer happen (I3).
    """
    verify_at = now + leases.LEASE if abandoned else row.verify_at
    if verify_at is not None and verify_at <= now:
        return EarlierCalls(row.inflight, must_verify=True)
    return EarlierCalls(row.inflight, row.inflight, verify_at)


def foreseen(row: Property) -> Columns:
    """Return the columns that record what will be sent, if a read brings nothing new.

    A claim does not know the rules of the workspace, so leaves that a rule keeps here are recorded
    too: the push takes them out again.

    Empty for a creation, which is recorded in `create_sent_at` (I8). Also empty while an earlier
    call may still arrive: the values recorded of it stay until the property is read (I3).
    """
    if row.platform_id is None or row.lease_token or row.verify_at is not None:
        return {}
    earlier = EarlierCalls(row.inflight, row.inflight)
    patch = smallest_patch(row, Ownership(""), inflight=earlier.pending)
    return {"inflight": earlier.inflight_with(patch.parts)} if patch.parts else {}


class PushOutcome(StrEnum):
    """The outcome of a push."""

    CREATED = "created"
    PUSHED = "pushed"
    IN_SYNC = "in sync"
    SETTLED = "settled"
    REFUSED = "refused"
    DELAYED = "delayed"
    WAITING = "waiting"
    GONE = "gone"
    PUT_BACK = "put back"
    HELD = "held"


class CallState(StrEnum):
    """The progress of the call that changes the platform."""

    UNSENT = "it has not left"
    OUT = "it has left, and no success came back"
    ANSWERED = "it was done, and the platform said so"


@dataclass(frozen=True)
class Plan:
    """The columns to write to a row, and the PATCH to send after that.

    Attributes:
        columns: the columns to write. At the end of a push they contain `due_at`; before a PATCH,
            `inflight` with the values to be sent (I2).
        patch: the leaves to send; empty at the end of a push.
        ending: the outcome; None if the patch is still to be sent.
        seen: the result of the merge, with changes and conflicts to store (I4).
    """

    columns: Columns
    patch: Patch = field(default_factory=Patch)
    ending: PushOutcome | None = None
    seen: Observation | None = None

    def is_written_in(self, row: Property) -> bool:
        """Return whether the row has all columns except `read_at` already: nothing is written."""
        has_traces = self.seen is not None and self.seen.leaves_traces
        return not has_traces and changed(row, self.columns).keys() <= {"read_at"}


@dataclass(frozen=True)
class Sent:
    """The content of a call that was answered.

    Attributes:
        parts: the leaves that were sent.
        wanted: all leaves that we wanted then; later edits were not sent.
        columns: the columns to write about the answer.
    """

    parts: Leaves
    wanted: Leaves
    columns: Columns = field(default_factory=dict)

    def is_shown_by(self, answer: Document | None) -> bool:
        """Return whether an answer shows each leaf that was sent; it leaves out empty leaves (§2).

        None and {} show nothing, not even that a list was emptied.
        """
        if not answer:
            return False
        shown = merge.leaves(answer)
        return all(path in shown or value in ([], {}) for path, value in self.parts.items())


def reconcile(
    row: Property,
    document: Document | None,
    ownership: Ownership,
    *,
    earlier: EarlierCalls,
    now: datetime,
    has_time: bool,
    restored_at: datetime | None = None,
    fought: Callable[[str], bool] = never_fought,
) -> Plan:
    """Merge what was read into the row, and find the smallest PATCH.

    Args:
        document: the platform's document, with its texts cleaned; None if nothing was read.
        ownership: who owns a field, and which side wins if both changed one without a rule.
        has_time: enough of the lease is left for a call that changes something (I13).
        restored_at: when the database was restored from a backup, if it ever was.
        fought: see `observe`.

    Returns:
        a plan with the PATCH and its record in flight. Otherwise one with the ending `IN_SYNC`, or
        `PUT_BACK` if there is something to send but too little time.
    """
    seen = None
    if document is not None and after_restore.is_unread(row, restored_at):
        # The platform may have had these values before a newer one, so they do not count as ours.
        earlier = EarlierCalls(verify_at=earlier.verify_at)
        rules = after_restore.rules(ownership)
        seen = observe(row, document, rules, now=now, inflight={})
        seen = after_restore.asked(with_columns(row, seen.columns), seen, rules)
    elif document is not None:
        seen = observe(row, document, ownership, now=now, inflight=earlier.inflight, fought=fought)
    columns = dict(seen.columns) if seen else {}
    if arrived := _arrived(row, earlier, columns.get("observed")):
        columns["replaced"] = _replaced(row, arrived, now=now)
    merged = with_columns(row, columns)
    patch = smallest_patch(merged, ownership, inflight=earlier.pending)
    if not patch.parts:
        columns |= _settled(merged, ownership, earlier, now=now) | {"last_answer": IN_SYNC}
        return Plan(columns, ending=PushOutcome.IN_SYNC, seen=seen)
    if not has_time:
        columns |= put_back(earlier, now=now).columns
        return Plan(columns, ending=PushOutcome.PUT_BACK, seen=seen)
    return Plan(columns | {"inflight": earlier.inflight_with(patch.parts)}, patch, seen=seen)


def settle(
    row: Property,
    document: Document,
    ownership: Ownership,
    *,
    sent: Sent,
    is_answer: bool,
    earlier: EarlierCalls,
    now: datetime,
    fought: Callable[[str], bool] = never_fought,
) -> Plan:
    """Merge into the row what the platform holds after our call, and end the push.

    Args:
        document: the answer, or a full read if the answer did not show what was sent. Not empty.
        is_answer: `document` is the answer. In an answer, an absent leaf means nothing.

    Returns:
        a plan with the ending `SETTLED`. A value that reads back different waits for a person,
        and is not sent again and again.
    """
    verify_at = max(now + LAG, earlier.verify_at or now)
    if not is_answer and lag_until(row, document, inflight=row.inflight, now=now):
        later = lags(EarlierCalls(row.inflight), verify_at).columns | {"verify_at": verify_at}
        return Plan(later | sent.columns, ending=PushOutcome.SETTLED)
    seen = observe(
        row,
        document,
        ownership,
        now=now,
        inflight=row.inflight,
        sent=sent.parts if is_answer else None,
        took=sent.parts,
        fought=fought,
    )
    columns = dict(seen.columns)
    merged = with_columns(row, columns)
    differs = reads_back_different(merged, sent.parts, sent.wanted)
    if not is_answer and not _is_there(merged, sent):  # a copy that lags behind may not show it
        earlier = EarlierCalls(row.inflight, row.inflight, verify_at)
    columns |= _settled(merged, ownership, earlier, now=now, differs=differs) | sent.columns
    columns["replaced"] = _replaced(row, sent.parts if row.platform_id else [WHOLE], now=now)
    return Plan(columns, ending=PushOutcome.SETTLED, seen=seen)


def _is_there(row: Property, sent: Sent) -> bool:
    there = merge.leaves(row.observed)
    return all(equal(path, there.get(path), value) for path, value in sent.parts.items())


def _arrived(row: Property, earlier: EarlierCalls, shown: Document | None) -> list[str]:
    """Return the leaves that a call of ours may have changed whose answer we did not see."""
    if shown is None or not (earlier.inflight or row.platform_id is None):
        return []
    there, held = merge.leaves(shown), merge.leaves(row.observed)
    found = [path for path in earlier.inflight if not equal(path, there.get(path), held.get(path))]
    return found if row.platform_id else [WHOLE]


def _replaced(row: Property, paths: Iterable[str], *, now: datetime) -> list[Any]:
    """Return the values that a read of a copy that lags behind may show in the next seconds.

    Calls may follow each other faster than a copy, so those of the calls before are kept as long.
    """
    held = merge.leaves(row.observed)
    was = {path: held.get(path) for path in paths}
    return [*_recent(row, now), [(now + LAG).timestamp(), was]]


def _recent(row: Property, now: datetime) -> list[Any]:
    return [one for one in row.replaced if one[0] > now.timestamp()]


def lag_until(
    row: Property, document: Document | None, *, inflight: Values, now: datetime
) -> datetime | None:
    """Return until when a read is not believed, because it may be of a copy that lags (A55, I4).

    It shows a value that a call of ours has just replaced. After this time that value counts as
    an edit of the platform.

    Args:
        document: None if the read found no property.
        inflight: the values that our earlier calls may have set (I2). A read of them counts.
    """
    recent = _recent(row, now)
    if not recent:
        return None
    shown, known = merge.leaves(document or {}), merge.leaves(row.observed)

    def is_back(path: str, value: Any) -> bool:
        there, ours = shown.get(path), [known.get(path), *inflight.get(path, [])]
        return equal(path, there, value) and not any(equal(path, there, one) for one in ours)

    if document is None:
        late = [until for until, was in recent if WHOLE in was]
    else:
        late = [until for until, was in recent if any(is_back(*leaf) for leaf in was.items())]
    return datetime.fromtimestamp(max(late), UTC) if late else None


def lags(earlier: EarlierCalls, until: datetime) -> Plan:
    """Return a plan that merges nothing of a read that lags behind, and reads again later."""
    columns = {"due_at": until, "wait_reason": WaitReason.LAG.value, "inflight": earlier.inflight}
    return Plan(columns, ending=PushOutcome.WAITING)


def _settled(
    row: Property,
    ownership: Ownership,
    earlier: EarlierCalls,
    *,
    now: datetime,
    differs: dict[str, str] | None = None,
) -> Columns:
    """Return the final columns of a row after everything that can be sent was sent.

    A leaf that no PATCH can express, or that reads back different, gets a problem.
    """
    differs = differs or {}
    problem = with_problem(row.problem, ProblemKind.DIFFERS, differs)
    rest = smallest_patch(row, ownership, blocked=row.blocked | differs.keys())
    return {
        # The leaves that are left were edited during the PATCH.
        **_due(earlier, now if rest.parts else None),
        # While an earlier call may still arrive, its values stay recorded.
        "inflight": earlier.pending if earlier.verify_at else {},
        "problem": with_problem(problem, ProblemKind.CANNOT_CLEAR, _unsaid(row, rest)),
        "attempts": 0,
    }


def put_back(earlier: EarlierCalls, *, now: datetime) -> Plan:
    """Return a plan that sends nothing and keeps the row due; a verifying read stays settled."""
    columns = {"inflight": earlier.pending, "create_sent_at": None}
    return Plan(columns | _due(earlier, now), ending=PushOutcome.PUT_BACK)


def held(earlier: EarlierCalls, error: OnHold) -> Plan:
    """Return a plan that sends nothing before somebody resumes pushes, or their hold ends (I34)."""
    reason = {"wait_reason": WaitReason.HELD.value, "last_answer": problem_of(error)}
    columns = put_back(earlier, now=error.until).columns | reason
    return Plan(columns, ending=PushOutcome.HELD)


def refused(
    row: Property,
    error: RejectedError,
    ownership: Ownership,
    *,
    earlier: EarlierCalls,
    call: CallState,
    now: datetime,
) -> Plan:
    """Store the platform's message at the refused field, and send the other fields (§7)."""
    named = _named(row, error, call)
    # Without a field that the call had, the next one would be the same (I10).
    less = (named.keys() & row.inflight.keys()) - row.left_out
    is_nameless = row.platform_id is None and REFERENCE in named
    is_less = call is not CallState.UNSENT and bool(less) and not is_nameless
    told = named if is_less else {**named, "": problem_of(error)}
    problem = with_problem(row.problem, ProblemKind.REFUSED, told)
    rest = smallest_patch(row, ownership, blocked=row.left_out | named.keys())
    columns = {
        **_due(earlier, now if is_less and rest.parts else None),
        "problem": with_problem(problem, ProblemKind.CANNOT_CLEAR, _unsaid(row, rest)),
        "last_answer": problem_of(error),
    }
    return Plan(columns | _taken_back(earlier, call), ending=PushOutcome.REFUSED)


def _named(row: Property, error: RejectedError, call: CallState) -> dict[str, str]:
    """Return the leaves that a refusal names, each with its message (A4).

    If it names no leaf, return the leaves of the call that its text mentions.
    """
    paths = {refused_leaf(one.path, row): one.message for one in error.fields}
    named = {path: text for path, text in paths.items() if path}
    if named or call is CallState.UNSENT:
        return named
    texts = (error.words, *(one.message for one in error.fields))
    return {path: text for text in texts for path in leaves_in_text(text, row.inflight)}


def delayed(
    row: Property,
    error: SyncError,
    *,
    earlier: EarlierCalls,
    call: CallState,
    now: datetime,
    paused_until: datetime | None,
    wait: timedelta,
) -> Plan:
    """Try again later. If a call that changes something got no answer, read again then (I2, I8).

    Args:
        paused_until: when the pause of the workspace ends; None if it is not paused.
        wait: how long this row waits if the workspace is not paused.
    """
    # The row did not cause the pause, so it does not count as an attempt.
    attempts = row.attempts + (paused_until is None)
    due_at = paused_until or now + wait
    reason = WaitReason.PAUSE.value if paused_until else WaitReason.FAILURE.value
    columns = _taken_back(earlier, call)
    if call is CallState.OUT and isinstance(error, TransientError) and error.unclear:
        # Not while a call of an earlier holder may still arrive (I3).
        columns = {"verify_at": max(now + LATE_EFFECT, earlier.verify_at or now)}
        if row.create_sent_at:
            due_at = max(due_at, row.create_sent_at + CREATE_WAIT)
            reason = WaitReason.CREATION.value
    columns |= {"due_at": due_at, "wait_reason": reason, "attempts": attempts}
    return Plan(columns | {"last_answer": problem_of(error)}, ending=PushOutcome.DELAYED)


def created_meanwhile(
    row: Property, error: RejectedError, *, earlier: EarlierCalls, now: datetime, wait: timedelta
) -> Plan:
    """Read the property again and adopt it (A45), from the second time on after a wait.

    Without the wait, read and creation would alternate forever if the read finds nothing (I11).
    """
    columns = {
        "due_at": now + (wait if row.attempts else timedelta()),
        "wait_reason": WaitReason.FAILURE.value if row.attempts else "",
        "attempts": row.attempts + 1,
        "last_answer": problem_of(error),
    }
    return Plan(columns | _taken_back(earlier, CallState.OUT), ending=PushOutcome.WAITING)


def waits(until: datetime, why: WaitReason) -> Plan:
    """Return a plan that delays the row and sends nothing."""
    return Plan({"due_at": until, "wait_reason": why.value}, ending=PushOutcome.WAITING)


def unclear_until(row: Property, *, now: datetime) -> datetime | None:
    """Return until when a creation of the row may still arrive (I8); None if none may."""
    sent_at = row.create_sent_at
    return None if sent_at is None or now >= sent_at + CREATE_WAIT else sent_at + CREATE_WAIT


def gone(row: Property) -> Plan:
    """Keep our values of a property that the platform no longer has; mark it as gone.

    What the platform refused or changed there is sent again if an edit creates the property.
    """
    text = sentence("the platform has no such property any more; an edit creates it again")
    asked = {kind: at for kind, at in row.problem.items() if kind == ProblemKind.CONFLICT}
    columns = {
        **_due(EarlierCalls(), None),
        **{"observed": {}, "platform_id": None, "inflight": {}},
        "problem": with_problem(asked, ProblemKind.GONE, {"": text}),
    }
    return Plan(columns, ending=PushOutcome.GONE)


def _due(earlier: EarlierCalls, at: datetime | None) -> Columns:
    """Return when the row is due: at `at`, else for its verifying read, else never."""
    watched = at is None and earlier.verify_at is not None
    return {
        "due_at": earlier.verify_at if at is None else at,
        "verify_at": earlier.verify_at,
        "wait_reason": WaitReason.VERIFICATION.value if watched else "",
    }


def _taken_back(earlier: EarlierCalls, call: CallState) -> Columns:
    """Return the columns after a clear refusal: nothing of the call can still arrive."""
    if call is CallState.UNSENT:
        return {"inflight": earlier.inflight}
    return {"inflight": earlier.pending, "create_sent_at": None} if call is CallState.OUT else {}


def _unsaid(row: Property, rest: Patch) -> dict[str, str]:
    """Return why no PATCH can express each leaf that is left."""
    return {path: cannot_say(row, path) for path in sorted(set(rest.unsendable) - READ_ONLY)}


def with_columns(row: Property, columns: Mapping[str, Any]) -> Property:
    """Return the row with these columns set. `copy.copy` and `setattr` take ten times as long."""
    merged = Property.__new__(Property)
    merged.__dict__.update(row.__dict__, **columns)
    return merged


def changed(row: Property, columns: Columns) -> Columns:
    """Leave out columns that the row has already, except `due_at`, which others write too."""
    return {
        name: value
        for name, value in columns.items()
        if name == "due_at" or not merge.same_json(getattr(row, name), value)
    }

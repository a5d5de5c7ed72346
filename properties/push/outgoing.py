"""The messages about a property: its state once a push has ended.

A row stores what was reported last, so each state of a revision is reported once, however often it
is read. What a dead worker did not report, the next end of a push reports.
"""

from collections.abc import Collection
from datetime import datetime

from crm_sync.hooks.messages import Message, MessageKind
from crm_sync.outgoing import outbox
from crm_sync.platform.problems import explain
from properties.models import Property
from properties.models.property import ProblemKind, SyncState

IN_SYNC, REFUSED, CONFLICT = "property.in_sync", "property.refused", "property.conflict"
KINDS = (
    MessageKind(IN_SYNC, "Both sides of a property are the same"),
    MessageKind(REFUSED, "A property, or a part of it, waits for a person"),
    MessageKind(CONFLICT, "Both sides changed a field of a property, and a person decides"),
)
PROBLEMS = 50  # that a message names
# As in `PropertyQuerySet.with_state`: these count even while something else is to be sent.
_AT_ONCE = (ProblemKind.GONE, ProblemKind.DUPLICATE, ProblemKind.CONFLICT, ProblemKind.REFUSED)
_AT_THE_END = (ProblemKind.DIFFERS, ProblemKind.CANNOT_CLEAR)


def state_of(row: Property) -> SyncState | None:
    """Return the state to report of a row that is not leased; None while a push is due."""
    found = next((kind for kind in _AT_ONCE if kind in row.problem), None)
    if found is None:
        if row.due_at is not None and row.due_at != row.verify_at:
            return None
        found = next((kind for kind in _AT_THE_END if kind in row.problem), None)
    if found is not None:
        return SyncState(found.value)
    return SyncState.IN_SYNC if row.platform_id is not None else None


def message(row: Property, wanted: Collection[str], *, now: datetime) -> Message | None:
    """Return the message about a row as it will be; None if it is not wanted or was sent."""
    state = state_of(row) if wanted else None
    if state is None:
        return None
    kind = {SyncState.IN_SYNC: IN_SYNC, SyncState.CONFLICT: CONFLICT}.get(state, REFUSED)
    if kind not in wanted or row.told == mark(state, row):
        return None
    problems = [
        {"kind": name, "path": path, "message": _words(name, text)}
        for name, fields in row.problem.items()
        for path, text in fields.items()
    ]
    data = {
        "reference": row.object_reference_id,
        "platformId": row.platform_id,
        "revision": row.revision,
        "state": state.value,
        "problems": problems[:PROBLEMS],
    }
    return Message(kind, now, data)


def _words(kind: str, text: str) -> str:
    """Return the text about a field: the platform's message, but no value of either side."""
    known = ProblemKind(kind)
    return str(explain(text))[:500] if known is ProblemKind.REFUSED else str(known.label)


def mark(state: str, row: Property) -> str:
    """Return what a row stores of the last message."""
    return f"{state} {row.revision}"


def tell(row: Property, message: Message, *, now: datetime) -> None:
    """Put the message into the outbox; inside the transaction that ends the push."""
    outbox.tell(row.workspace_id, [message.kind], lambda: [message], now=now)

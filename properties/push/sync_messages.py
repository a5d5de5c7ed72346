"""The messages about a property: its state after a push has ended.

A row stores what was reported last, so each state of a revision is reported once, even if it is
read often. If a worker dies before it reports a state, the end of the next push reports it.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils.translation import gettext_lazy as _

from crm_sync.hooks import MessageFacts, MessageKind
from crm_sync.links import absolute
from crm_sync.outgoing.outbox import Message
from crm_sync.platform.errors import Problem
from crm_sync.platform.problems import explain
from properties.domain.headline import headline
from properties.models import Property
from properties.models.property import ProblemKind, SyncState

IN_SYNC, REFUSED, CONFLICT = "property.in_sync", "property.refused", "property.conflict"


def facts(workspace_id: int, documents: Sequence[Mapping[str, Any]]) -> list[MessageFacts]:
    """Return what a chat shows of messages about properties. One query."""
    references = {one["reference"] for one in documents}
    rows = Property.objects.filter(workspace=workspace_id, object_reference_id__in=references)
    columns = ("object_reference_id", "pk", "desired__address", "title")
    known = {reference: rest for reference, *rest in rows.values_list(*columns)}
    found = []
    for one in documents:
        key, address, title = known.get(one["reference"], (None, None, ""))
        name, state = headline(address, title), str(SyncState(one["state"]).label)
        link = absolute("admin:properties_property_change", key) if key else ""
        found.append(MessageFacts(name, one["reference"], state, link))
    return found


KINDS = (
    MessageKind(IN_SYNC, _("Both sides of a property are the same"), facts),
    MessageKind(REFUSED, _("A property, or a part of it, waits for a person"), facts),
    MessageKind(
        CONFLICT, _("Both sides changed a field of a property, and a person decides"), facts
    ),
)
PROBLEMS = 50  # problems that a message names
# Not reported: the push has not ended, or nothing of the property is on the platform.
_UNDER_WAY = (
    SyncState.PENDING,
    SyncState.HELD,
    SyncState.TO_MATCH,
    SyncState.PUSHING,
    SyncState.NEVER_PUSHED,
)


def message(row: Property, *, now: datetime) -> Message | None:
    """Return the message about a row with its new columns; None if it was reported already."""
    if (state := row.state_at(now)) in _UNDER_WAY or row.told == mark(state, row):
        return None
    kind = {SyncState.IN_SYNC: IN_SYNC, SyncState.CONFLICT: CONFLICT}.get(state, REFUSED)
    problems = [
        {"kind": kind, "path": path, "message": _words(kind, problem)}
        for kind, path, problem in row.problems
    ]
    data = {
        "reference": row.object_reference_id,
        "platformId": row.platform_id,
        "revision": row.revision,
        "state": state.value,
        "problems": problems[:PROBLEMS],
    }
    return Message(kind, now, data)


def _words(kind: str, problem: Problem) -> str:
    """Return the text about a field: the platform's message, and no value of either side."""
    known = ProblemKind(kind)
    return str(explain(problem))[:500] if known is ProblemKind.REFUSED else str(known.label)


def mark(state: str, row: Property) -> str:
    """Return the mark of a message, which the row stores."""
    return f"{state} {row.revision}"

"""The tab "Sync": the differences, the next call, and the last changes and conflicts."""

import json
from datetime import datetime
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext, pgettext

from crm_sync.admin.ui.cells import EMPTY, badge, exact_moment, moment
from crm_sync.platform.errors import Problem
from crm_sync.sentence import said
from crm_sync.templatetags.problems import problem_cell
from properties import merge
from properties.admin.property.change_history import Entry, entries
from properties.admin.words import worded
from properties.catalog import READ_ONLY, UNSENDABLE as NOT_SENDABLE, equal, label, sendable
from properties.domain import owners
from properties.domain.difference import planned
from properties.merge import Owner
from properties.models import Change, Conflict, Property
from properties.models.property import ProblemKind, SyncState, WaitReason
from properties.ownership import Ownership

NEWEST = 50  # conflicts; the rest stays in the database
LAST_CHANGES = 5  # the page of the history has them all
TONES = {
    SyncState.IN_SYNC: "good",
    SyncState.NEVER_PUSHED: "muted",
    SyncState.PENDING: "info",
    SyncState.HELD: "warning",
    SyncState.TO_MATCH: "warning",
    SyncState.PUSHING: "info",
    SyncState.CONFLICT: "warning",
    SyncState.REFUSED: "danger",
    SyncState.DIFFERS: "warning",
    SyncState.CANNOT_CLEAR: "warning",
    SyncState.DUPLICATE: "danger",
    SyncState.GONE: "danger",
}


def state_badge(state: str) -> SafeString:
    """Show a state in text and colour."""
    return badge(SyncState(state).label, TONES[SyncState(state)])


def sync_tab(row: Property, now: datetime) -> dict[str, Any]:
    """Return the tab from the row and two bounded queries, without a call to the platform."""
    ownership = owners.of(row)
    call, parts = planned(row, ownership)
    differences = _differences(row, set(parts), ownership)
    leaves = merge.leaves(row.desired).keys() | merge.leaves(row.observed).keys()
    return {
        "facts": _facts(row, now),
        "differences": differences,
        "agreeing": len(leaves - READ_ONLY - {one["path"] for one in differences}),
        "call": call_text(call, row),
        "body": pretty(merge.document(parts)) if parts else "",
        "changes": _changes(row),
        "open_conflicts": len(row.problem.get(ProblemKind.CONFLICT, ())),
        "ended_conflicts": [_event(conflict, now) for conflict in _ended_conflicts(row)],
    }


def pretty(value: Any) -> str:
    """Return JSON for a person."""
    return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)


def _facts(row: Property, now: datetime) -> list[tuple[str, SafeString | str]]:
    return [
        (gettext("Last answer"), problem_cell(row.last_answer)),
        (gettext("Refreshed from there"), exact_moment(row.read_at, now)),
        (pgettext("moment", "Sent to the platform"), exact_moment(row.pushed_at, now)),
        (gettext("Next attempt"), exact_moment(row.due_at, now)),
        (gettext("Waits because"), _why(row, now) or EMPTY),
        (gettext("Failed attempts in a row"), str(row.attempts)),
        (gettext("Revision"), str(row.revision)),
    ]


def _why(row: Property, now: datetime) -> str:
    """Return in words why the row waits; for a hold with its reason."""
    if row.wait_reason == WaitReason.HELD and row.due_at and row.due_at > now:
        return str(Problem.of(row.last_answer))
    return row.waits_because(now)


def call_text(call: str, row: Property) -> str:
    """Return a planned call in words."""
    if call == "PATCH":
        names = {"property": row.object_reference_id or row.platform_id}
        return gettext("A change of %(property)s") % names
    return gettext("A new property") if call == "POST" else gettext("Nothing to send")


def _differences(row: Property, to_send: set[str], ownership: Ownership) -> list[dict[str, Any]]:
    """Return every leaf that differs, waits for a person, or is on its way."""
    ours, theirs = merge.leaves(row.desired), merge.leaves(row.observed)
    found = []
    for path in sorted((ours.keys() | theirs.keys() | row.blocked | row.inflight.keys()) - {""}):
        differs = not equal(path, ours.get(path), theirs.get(path))
        if path in READ_ONLY or not (differs or path in row.blocked or path in row.inflight):
            continue
        difference = {
            "name": label(path),
            "path": path,
            "is_kept": ownership(path) is Owner.NEVER,
            "ours": worded(path, ours.get(path)),
            "confirmed": worded(path, theirs.get(path)),
            "state": _leaf_state(row, path, ours.get(path), ownership, is_sent=path in to_send),
            "reason": "; ".join(map(said, row.problems_at(path)))
            or ownership.note(path, theirs.get(path)),
        }
        found.append(difference)
    return found


def _leaf_state(
    row: Property, path: str, ours: Any, ownership: Ownership, *, is_sent: bool
) -> SafeString:
    """Return the badge that explains why a leaf is in the table."""
    if ownership(path) is Owner.NEVER:
        return badge(gettext("Never sent"), "muted")
    for kind, tone in (
        (ProblemKind.CONFLICT, "warning"),
        (ProblemKind.REFUSED, "danger"),
        (ProblemKind.DUPLICATE, "danger"),
        (ProblemKind.DIFFERS, "warning"),
        (ProblemKind.CANNOT_CLEAR, "warning"),
    ):
        if path in row.problem.get(kind, {}):
            return badge(SyncState(kind.value).label, tone)
    if path in row.inflight:
        return badge(gettext("On its way"), "info")
    if is_sent:
        return badge(gettext("Will be sent"), "info")
    if ownership(path) in (Owner.THEIRS, Owner.FILL):
        return badge(gettext("Theirs will be taken"), "info")
    unsaid = sendable(path, ours) is NOT_SENDABLE
    return badge(gettext("Cannot be sent") if unsaid else gettext("Differs"), "warning")


def _changes(row: Property) -> list[Entry]:
    newest = Change.objects.filter(real_estate_property=row).select_related("actor")
    return entries(row, list(newest.order_by("-at", "-pk")[:LAST_CHANGES]))


def _ended_conflicts(row: Property) -> list[Conflict]:
    """Return the newest ended conflicts; the open ones are among the differences."""
    ended = Conflict.objects.exclude(decision=Conflict.Decision.OPEN)
    found = ended.filter(real_estate_property=row)
    return list(found.select_related("decided_by").order_by("-created_at", "-pk")[:NEWEST])


def _event(conflict: Conflict, now: datetime) -> dict[str, Any]:
    """Return one conflict in words."""
    path = conflict.path
    return {
        "when": moment(conflict.created_at, now),
        "name": label(path),
        "values": [worded(path, v) for v in (conflict.base, conflict.ours, conflict.theirs)],
        "who": conflict.who,
        "state": badge(conflict.get_decision_display(), "muted"),
    }

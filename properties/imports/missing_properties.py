"""Handle the properties that a full feed lacks. They are never deleted, and no value is cleared.

The policy of a sender may set their availability state. A property that returns gets the state that
it had before, unless somebody has changed the state in between.
"""

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db.models import Q

from crm_sync.models import Workspace
from properties.domain import owners
from properties.domain.editing import Invalid, Outdated, RowEdit, edit, edit_all
from properties.merge import Owner
from properties.models import Change, Property, Sender

log = logging.getLogger(__name__)

STATE = "availabilityState"
EXEMPT = "REFERENCE"  # a sold property that is still shown; no feed of offers has it
LISTED = "ACTIVE"  # for a property that returns and had no state before


def state_of(sender: Sender | None) -> str:
    """Return the state for missing properties; "" if they are only listed."""
    is_set = sender is not None and sender.missing == Sender.Missing.SET_STATE
    return sender.missing_state if sender is not None and is_set else ""


def exempt(workspace: Workspace, references: Sequence[str]) -> list[str]:
    """Return the references that no policy changes: also because the platform owns the state."""
    owner = owners.of_workspace(workspace)(STATE)
    if owner is Owner.THEIRS:
        return sorted(references)
    kept = Q(desired__availabilityState=EXEMPT)
    if owner is Owner.FILL:
        kept |= Q(observed__availabilityState__isnull=False)
    rows = Property.objects.filter(kept, workspace=workspace, object_reference_id__in=references)
    return sorted(str(one) for one in rows.values_list("object_reference_id", flat=True))


def set_state(
    workspace: Workspace, rows: Iterable[Property], state: str, *, now: datetime, cause: str = ""
) -> None:
    """Set the state of all properties that are not exempt. A second call changes nothing (I1).

    A property that somebody exempts at the same moment is not changed either.
    """
    rules, changes, by = owners.of_workspace(workspace), {STATE: state}, Change.Origin.MISSING
    listed = [row for row in rows if row.desired.get(STATE) != EXEMPT]
    edits = [RowEdit(row, changes, {}) for row in listed]
    done = edit_all(edits, origin=by, now=now, cause=cause, ownership=rules)
    for row in (one for one in listed if one.pk not in done):
        while row.desired.get(STATE) != EXEMPT:
            try:
                edit(row, changes, origin=by, now=now, cause=cause, revision=row.revision)
            except Outdated:
                continue  # the row has been read again
            except Invalid:  # a rule has given the state to the platform since the preview
                log.warning("%s keeps its state, since the platform owns it", row)
            break


def state_before(row: Property) -> str | None:
    """Return the state that a property had before the policy set one; None if it set none."""
    if row.fed_by is not None or not row.fed:
        return None
    if row.fed.get(STATE) is not None and row.fed[STATE] == row.desired.get(STATE):
        return None  # its feed said so itself
    changes = Change.objects.filter(real_estate_property=row, path=STATE)
    last = changes.order_by("-revision").first()
    if last is None or last.origin != Change.Origin.MISSING:
        return None
    return last.old or LISTED

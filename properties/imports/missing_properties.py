"""What becomes of the properties that a full feed lacks: never deleted, and nothing is cleared.

The policy of a sender may set their availability state. A property that comes back gets the state
that it had before, unless somebody has changed it meanwhile.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from crm_sync.models import Workspace
from properties.domain.editing import Outdated, edit
from properties.models import Change, Property, Sender

STATE = "availabilityState"
EXEMPT = "REFERENCE"  # shown for what was sold; no feed of offers holds it
LISTED = "ACTIVE"  # for a property that returns and had no state before


def state_of(sender: Sender | None) -> str:
    """Return the state that what is missing gets; "" where it is only listed."""
    is_set = sender is not None and sender.missing == Sender.Missing.SET_STATE
    return sender.missing_state if sender is not None and is_set else ""


def exempt(workspace: Workspace, references: Sequence[str]) -> list[str]:
    """Return those that no policy changes."""
    rows = Property.objects.filter(
        workspace=workspace,
        object_reference_id__in=references,
        desired__availabilityState=EXEMPT,
    )
    return sorted(str(one) for one in rows.values_list("object_reference_id", flat=True))


def set_state(rows: Iterable[Property], state: str, *, now: datetime) -> None:
    """Set the state of those that are not exempt; doing it twice changes nothing (I1).

    Nor of one that somebody exempts at this very moment.
    """
    for row in rows:
        while row.desired.get(STATE) != EXEMPT:
            changes, by = {STATE: state}, Change.Origin.MISSING
            try:
                edit(row, changes, origin=by, now=now, revision=row.revision)
            except Outdated:
                continue  # the row is now as it is
            break


def state_before(row: Property) -> str | None:
    """Return the state that a property had before its feed lacked it; None where nobody set one."""
    if row.fed_by is not None or not row.fed:
        return None
    changes = Change.objects.filter(real_estate_property=row, path=STATE)
    last = changes.order_by("-revision").first()
    if last is None or last.origin != Change.Origin.MISSING:
        return None
    return last.old or LISTED

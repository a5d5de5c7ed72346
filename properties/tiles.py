"""The figures that this app adds to the dashboard."""

from django.db.models import Count
from django.utils import timezone

from crm_sync.admin_cells import list_of
from crm_sync.status import TILES, Tile
from properties.models import Property
from properties.models.property import SyncState

# State, tone, and what it means for a person.
SHOWN = (
    (SyncState.IN_SYNC, "good", "both sides say the same"),
    (SyncState.PENDING, "info", "on their way"),
    (SyncState.NEVER_PUSHED, "info", "not on the platform yet"),
    (SyncState.CONFLICT, "danger", "both sides changed a field"),
    (SyncState.REFUSED, "danger", "the platform refused a field"),
    (SyncState.DIFFERS, "warning", "the platform rounded or trimmed"),
    (SyncState.CANNOT_CLEAR, "warning", "the platform keeps a value"),
    (SyncState.DUPLICATE, "danger", "one reference, two properties"),
    (SyncState.GONE, "danger", "deleted over there"),
)
ALWAYS = frozenset({SyncState.IN_SYNC, SyncState.PENDING, SyncState.CONFLICT, SyncState.REFUSED})


def tiles() -> list[Tile]:
    """Count the properties by state, with one query; rare states show up when there are any."""
    annotated = Property.objects.with_state(timezone.now()).order_by()
    states = annotated.values_list("sync_state")  # type: ignore[misc] # hidden in with_state
    counts: dict[str, int] = dict(states.annotate(Count("pk")))
    # What is being pushed right now is on its way like what waits for it.
    counts[SyncState.PENDING] = counts.get(SyncState.PENDING, 0) + counts.get(SyncState.PUSHING, 0)
    listed = list_of("properties.property")
    return [
        Tile(str(state.label), counts.get(state, 0), tone, f"{listed}?state={state}", hint)
        for state, tone, hint in SHOWN
        if state in ALWAYS or counts.get(state)
    ]


TILES.append(tiles)

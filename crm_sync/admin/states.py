"""How the states of a delivery look."""

from django.utils.safestring import SafeString

from crm_sync.admin.ui.cells import badge
from crm_sync.models import Delivery

State = Delivery.State
TONES = {
    State.RECEIVED: "info",
    State.APPLIED: "good",
    State.DUPLICATE: "muted",
    State.STALE: "muted",
    State.IGNORED: "muted",
    State.EARLY: "warning",
    State.QUARANTINED: "warning",
    State.FAILED: "danger",
}


def state_badge(delivery: Delivery) -> SafeString:
    """Show where a delivery stands."""
    return named_badge(delivery.state)


def named_badge(state: str) -> SafeString:
    """Show a state by its name."""
    return badge(State(state).label, TONES[State(state)])

"""The state of a received event, and what it did or why it is stuck."""

from django.utils.safestring import SafeString

from crm_sync.admin.ui.cells import badge
from crm_sync.inbox.failure_groups import worded
from crm_sync.models import ReceivedEvent
from crm_sync.sentence import said
from crm_sync.text import capitalized

State = ReceivedEvent.State
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


def state_badge(received_event: ReceivedEvent) -> SafeString:
    """Show the state of a received event."""
    return named_badge(received_event.state)


def named_badge(state: str) -> SafeString:
    """Show a state by its name."""
    return badge(State(state).label, TONES[State(state)])


def told(received_event: ReceivedEvent) -> str:
    """Return why an event is stuck, worded by its cause, else what it did."""
    return worded(received_event.problem_kind, received_event.cause) or received_event.effect


def told_alone(received_event: ReceivedEvent) -> str:
    """Return `told` for a place in which it is the whole text, in the language of the reader."""
    return capitalized(said(told(received_event)))

"""What a reader has to know of a sender."""

from properties.feeds import USUAL, Profile
from properties.models import Sender


def profile_of(sender: Sender | None) -> Profile:
    """Return how a sender writes its feeds; without one, what most senders mean."""
    if sender is None:
        return USUAL
    return Profile(
        language=sender.language,
        reference=sender.reference,
        flags=sender.flags,
        sheet=sender.sheet,
        header_row=sender.header_row,
        columns=sender.columns,
        lenient=sender.lenient,
    )

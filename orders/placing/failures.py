"""What can go wrong with an order that a person wants to place or change.

    NoSuchChoice     what was named does not exist; nothing was sent
    ChangedMeanwhile another window changed the placement; nothing was saved
    AlreadySent      the placement is not ready to be sent; it is sent at most once (I9)
    KeyReused        two wishes have one name; the second was not sent
    OutcomeUnknown   the platform may have done it; a read of the order shows it

What the platform itself answers are the errors of `crm_sync.platform.errors`.
"""


class NoSuchChoice(Exception):
    """A user, property, product, instruction or assignment that is not there; says what is."""


class ChangedMeanwhile(Exception):
    """The placement is not as this window has seen it."""


class AlreadySent(Exception):
    """Somebody sent it before, or it was never ready."""


class KeyReused(AlreadySent):
    """The key or token was used before, for another call."""


class OutcomeUnknown(Exception):
    """No clear answer came to a change of an order."""

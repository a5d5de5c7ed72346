"""The errors of placing or changing an order.

    NoSuchChoice     a choice does not exist, and nothing was sent
    ChangedMeanwhile another window changed the placement, and nothing was saved
    AlreadySent      the placement is not ready to be sent, because it is sent at most once (I9)
    KeyReused        two requests have one name, and the second was not sent
    RefusedBefore    the platform refused this request before, and it was not sent again
    OutcomeUnknown   the platform may have done it, and a read of the order shows it

The platform's own answers are the errors of `crm_sync.platform.errors`.
"""


class NoSuchChoice(Exception):
    """A user, property, product, instruction or assignment is not there. Names what is there."""


class ChangedMeanwhile(Exception):
    """The placement has changed since this window showed it."""


class AlreadySent(Exception):
    """It was sent before, or was never ready."""


class KeyReused(AlreadySent):
    """The key or token was used before, for another call."""


class RefusedBefore(AlreadySent):
    """The platform refused it when it was sent before. The message has its words."""


class OutcomeUnknown(Exception):
    """There was no clear answer to a change of an order."""

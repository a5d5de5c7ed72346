"""The kinds of work that a person can hold (I34)."""

from collections.abc import Collection
from enum import StrEnum
from functools import reduce

from django.utils.translation import gettext_lazy as _

from crm_sync.sentence import Sentence, sentence
from crm_sync.translated import Text


class WorkKind(StrEnum):
    """A kind of work that writes: on the platform, here, or in another system."""

    PUSHES = "pushes"
    ORDERS = "orders"
    IMPORTS = "imports"
    FILES = "files"
    MESSAGES = "messages"


# What leaves this installation. Imports and files come in.
LEAVING = (WorkKind.PUSHES, WorkKind.ORDERS, WorkKind.MESSAGES)
# What each kind stops, for people.
MEANINGS: dict[WorkKind, Text] = {
    WorkKind.PUSHES: _("Changes of properties that are sent to the platform"),
    WorkKind.ORDERS: _("New orders, reschedules and cancellations"),
    WorkKind.IMPORTS: _("Feeds that are fetched and imported"),
    WorkKind.FILES: _("Downloads of pictures and documents"),
    WorkKind.MESSAGES: _("Messages and files to other systems"),
}
# For people; who sends a change has no push.
WORDS: dict[WorkKind, Sentence] = {
    WorkKind.PUSHES: sentence("changes"),
    WorkKind.ORDERS: sentence("orders"),
    WorkKind.IMPORTS: sentence("imports"),
    WorkKind.FILES: sentence("files"),
    WorkKind.MESSAGES: sentence("messages"),
}
# As a stored sentence begins.
NAMES: dict[WorkKind, Sentence] = {
    WorkKind.PUSHES: sentence("Changes"),
    WorkKind.ORDERS: sentence("Orders"),
    WorkKind.IMPORTS: sentence("Imports"),
    WorkKind.FILES: sentence("Files"),
    WorkKind.MESSAGES: sentence("Messages"),
}


def listed(kinds: Collection[WorkKind]) -> Sentence:
    """Return the kinds in words, in the order of `WorkKind`; at least one."""
    *some, last = [WORDS[kind] for kind in WorkKind if kind in kinds]
    if not some:
        return last
    return sentence("%(some)s and %(last)s", some=reduce(_with, some), last=last)


def _with(some: Sentence, another: Sentence) -> Sentence:
    return sentence("%(some)s, %(next)s", some=some, next=another)

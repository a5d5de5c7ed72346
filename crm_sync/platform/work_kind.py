"""The kinds of work that a person can hold (I34)."""

from enum import StrEnum


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
MEANINGS = {
    WorkKind.PUSHES: "Changes of properties that are sent to the platform",
    WorkKind.ORDERS: "New orders, reschedules and cancellations",
    WorkKind.IMPORTS: "Feeds that are fetched and imported",
    WorkKind.FILES: "Downloads of pictures and documents",
    WorkKind.MESSAGES: "Messages to other systems",
}


# For people; who sends a change has no push.
WORDS = {WorkKind.PUSHES: "changes"}


def listed(kinds: "list[WorkKind]") -> str:
    """Return the kinds in words, in the order of `WorkKind`."""
    names = [WORDS.get(kind, kind.value) for kind in WorkKind if kind in kinds]
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)

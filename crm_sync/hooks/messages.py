"""What an app sends to other systems: a kind of message, and one message."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class MessageKind:
    """A kind of message that somebody can subscribe to.

    Attributes:
        name: its `type`, such as "property.in_sync".
        text: when it is sent, for people.
    """

    name: str
    text: str


@dataclass(frozen=True)
class Message:
    """One thing that happened.

    Attributes:
        kind: the name of a registered kind.
        at: when it happened.
        data: ids and states as JSON, never people's data; the workspace is added.
    """

    kind: str
    at: datetime
    data: Mapping[str, Any]

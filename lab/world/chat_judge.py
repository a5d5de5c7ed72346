"""Judges what people read in Slack: each change is in one message."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from lab.world.record import Record

SHOWN = 10  # changes that a message shows; it counts the others
MORE = re.compile(r"and (\d+) more")


class ChatJudge:
    """What came, by the id under which it came.

    Attributes:
        counts: the changes of each message.
    """

    def __init__(self, record: Record) -> None:
        self.record = record
        self.counts: dict[str, int] = {}

    def received(self, key: str, body: str) -> None:
        """Take note of a message that was taken. A repetition has as many changes."""
        count = _count(json.loads(body)["blocks"])
        self.record.world.tell(f"the chat gets {count} changes")
        known = self.counts.setdefault(key, count)
        if count != known:
            wrong = f"the message {key} in the chat had {known} changes, and has {count}"
            self.record.wrong.append(wrong)

    def pending(self) -> int:
        """Return how many changes are still to be told."""
        ((count,),) = self.record.messages("count(*)", "SLACK", "and state = 'PENDING'")
        return int(count)

    def have_come(self) -> None:
        """Each change is in one message, and each message has all of its changes."""
        written = Counter(group for (group,) in self.record.messages('"group"', "SLACK"))
        self.record.wrong += [
            f"the message {key} in the chat has {count} changes, and {written[key]} are of it"
            for key, count in self.counts.items()
            if written[key] != count
        ]
        self.record.wrong += [
            f"{count} changes count as told in the chat, and never came in {key}"
            for key, count in written.items()
            if key not in self.counts
        ]


def _count(blocks: Sequence[dict[str, Any]]) -> int:
    more = MORE.fullmatch(blocks[-1]["text"]["text"])
    return SHOWN + int(more[1]) if more else len(blocks)

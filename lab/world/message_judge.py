"""Judges what we tell other programs: each reported change, and each message of it."""

import json
from collections import Counter
from typing import Any

from lab.world.record import Record


class MessageJudge:
    """What the receiver of our messages got."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.taken: dict[str, str] = {}  # the body by id

    def received(self, key: str, body: str) -> None:
        """Take note of a message that the receiver took; one id has one body."""
        if self.taken.setdefault(key, body) != body:
            self.record.wrong.append(f"the message {key} came with another body")

    def pending(self) -> int:
        """Return how many messages are still to be sent."""
        ((count,),) = self.record.messages("count(*)", "JSON", "and state = 'PENDING'")
        return int(count)

    def have_come(self) -> None:
        """Each reported change has one message, and each message came, as it was written.

        What was *delivered* was taken, and what was taken is *delivered*.
        """
        rows = self.record.messages("message_id, payload, state", "JSON")
        known = {key: payload for key, payload, _ in rows}
        for key, payload, state in rows:
            if state != "DELIVERED":
                self.record.wrong.append(f"the message {key} is {state} in the end")
            elif self.taken.get(key) != payload:
                self.record.wrong.append(f"the message {key} is delivered, and never came")
        self.record.wrong += [
            f"nobody wrote the message {key}" for key in self.taken.keys() - known
        ]
        mine = "select kind, data from crm_sync_reportedchange where workspace_id = 1"
        changes = self.record.ask(mine)  # nobody subscribes to those of the neighbour
        reported = Counter(_told(kind, json.loads(data)) for kind, data in changes)
        messages = [json.loads(payload) for payload in known.values()]
        written = Counter(_told(one["type"], one["data"]) for one in messages)
        self.record.wrong += [f"no message of {one}" for one in reported - written]
        self.record.wrong += [
            f"a message of {one}, which was not reported" for one in written - reported
        ]

    def each_state_is_reported(self) -> None:
        """I37: whoever follows the changes has read of the state of each property."""
        rows = self.record.ask(
            "select object_reference_id, told from properties_property as home where told <> ''"
            " and not exists (select 1 from crm_sync_reportedchange where"
            " data ->> 'reference' = home.object_reference_id"
            " and data ->> 'state' || ' ' || (data ->> 'revision') = home.told)"
        )
        self.record.wrong += [f"{name}: no change tells of {told} (I37)" for name, told in rows]


def _told(kind: str, data: dict[str, Any]) -> str:
    """Return what a message or a change tells, without its workspace."""
    told = {name: value for name, value in data.items() if name != "workspace"}
    return f"{kind} {json.dumps(told, sort_keys=True)}"

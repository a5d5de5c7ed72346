"""Pure: the points that the interface does not decide, as switches.

A row contains name, rule, positions (the first is the default), and what the switch decides.
"""

import re
from dataclasses import dataclass

from sandbox.wire import Document, bad

TABLE = """
orderDetail A35 full brief
    whether an order contains its whole assignments, or only id and status of each
placed §4.3 order id
    what POST /v1/orders answers: the order, or {"id"} alone
changed §4.4 order 204
    what reschedule and cancel answer
created §4.6 property empty
    what the create of a property answers: 201 with the property, or without a body
updated §4.6 property 204
    what the update of a property answers
configured A21 configuration empty
    what PUT and PATCH of the webhook answer, with or without a body
noWebhook A20 404 204 null {}
    what GET /v1/webhooks answers while none is configured: a status, or 200 with this body
ids A7 text number
    whether ids in answers are texts or numbers; in callbacks they are texts (§2)
items A1 content items
    the name of the array of a page
addresses A51 absolute relative
    whether the addresses of files are absolute or relative in answers
errors A4 list text field object keys
    how an error names fields: `errors` as a list, only in `message`, one as `field`, `errors` as
    an object, or as keys of the body
badToken A5 401 403
    the status for a token that is missing, wrong or too old
unknownIds A5 404 403
    the status for an id that this workspace does not have; references are 404
unknownFields §4.6 dropped refused
    what happens to a property field that is not in the table
product A38 optional required
    whether `product` is required to list materials
emptyMembers §2 shown omitted
    whether answers show members that are empty: null, "", [] and {}
merge A10 deep shallow
    whether members inside the four merged objects are merged too, or replaced
"""

# The kinds of platform for `--platform`.
PLATFORMS: dict[str, dict[str, str]] = {
    "rich": {},
    "strict": {
        **{"badToken": "403", "unknownIds": "403", "unknownFields": "refused"},
        **{"product": "required", "errors": "keys"},
    },
    "brief": {
        **{"orderDetail": "brief", "placed": "id", "changed": "204", "created": "empty"},
        **{"updated": "204", "configured": "empty", "noWebhook": "204", "errors": "text"},
        "emptyMembers": "omitted",
    },
    "odd": {
        **{"ids": "number", "items": "items", "addresses": "relative", "merge": "shallow"},
        **{"noWebhook": "{}", "errors": "object"},
    },
}


@dataclass(frozen=True, slots=True)
class Switch:
    """One point that the interface does not decide."""

    name: str
    rule: str
    positions: tuple[str, ...]
    decides: str


def _parse(table: str) -> dict[str, Switch]:
    switches = {}
    for entry in re.split(r"\n(?=\S)", table.strip()):
        head, *lines = entry.splitlines()
        name, rule, *positions = head.split()
        decides = " ".join(line.strip() for line in lines)
        switches[name] = Switch(name, rule, tuple(positions), decides)
    return switches


SWITCHES = _parse(TABLE)
USUAL = {name: one.positions[0] for name, one in SWITCHES.items()}


def turned(now: dict[str, str], wanted: Document) -> dict[str, str]:
    """Return the positions after `{"platform": kind, name: position, …}`. All members are optional.

    A kind sets every switch first. Raises `Refused(400)` that names the wrong member.
    """
    named = {name: position for name, position in wanted.items() if name != "platform"}
    if (kind := wanted.get("platform")) is not None:
        if not isinstance(kind, str) or kind not in PLATFORMS:
            raise bad("platform", f"must be one of {', '.join(PLATFORMS)}")
        now = USUAL | PLATFORMS[kind]
    for name, position in named.items():
        if name not in SWITCHES:
            raise bad(name, "is not a switch")
        if position not in SWITCHES[name].positions:
            raise bad(name, f"must be one of {', '.join(SWITCHES[name].positions)}")
    return now | named

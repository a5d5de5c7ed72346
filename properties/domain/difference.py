"""Which leaves of a row differ, and the PATCH and the texts for people that follow."""

import json
import re
from collections.abc import Collection
from functools import partial
from typing import Any

from properties import merge
from properties.catalog import UNSENDABLE, equal, find, holds_unknown, leaf_of, sendable
from properties.merge import Leaves, Patch
from properties.models import Property

_NAME = re.compile(r"[A-Za-z_]\w*(?:\[\d*\]|\.\w+)*")  # the name of a field in a text
_CAPITAL = re.compile(r"(?:^|(?<=\.))[A-Z]")


def planned(row: Property) -> tuple[str, Leaves]:
    """Return the call that a push would make without a read, and the leaves that it would send."""
    patch = smallest_patch(row, inflight=row.inflight)
    if not patch.parts:
        return "nothing to send", {}
    return ("POST" if row.platform_id is None else "PATCH"), patch.parts


def smallest_patch(
    row: Property, *, inflight: Collection[str] = (), blocked: Collection[str] | None = None
) -> Patch:
    """Return the smallest PATCH of a row: see `properties.merge.smallest_patch`.

    Args:
        blocked: the leaves to leave out; by default the leaves that wait for a person.
    """
    return merge.smallest_patch(
        desired=row.desired,
        observed=row.observed,
        inflight=inflight,
        blocked=row.blocked if blocked is None else blocked,
        equal=equal,
        sendable=partial(_sendable, row),
    )


def _sendable(row: Property, path: str, value: Any) -> Any:
    """Return what may be sent; UNSENDABLE if it would erase an UNKNOWN that both sides hold."""
    if holds_unknown(path, value) and holds_unknown(path, merge.leaves(row.observed).get(path)):
        return UNSENDABLE
    return sendable(path, value)


def refused_leaf(path: str, row: Property) -> str:
    """Return the leaf that holds a refused path; "" if catalog and row have no such leaf.

    ASP.NET writes `Prices.Rent.Gross` for prices.rent.gross.
    """
    for leaf in map(leaf_of, (path, _CAPITAL.sub(lambda one: one[0].lower(), path))):
        if "." in leaf or find(leaf) is not None or leaf in merge.leaves(row.desired):
            return leaf
    return ""


def leaves_in_text(text: str, leaves: Collection[str]) -> list[str]:
    """Return the leaves that a text names, in the order of the text.

    "prices.rent.gross" names prices.rent. "hasElevator" names the only leaf with that ending.
    """
    found: dict[str, None] = {}
    for word in _NAME.findall(text):
        ends = [leaf for leaf in leaves if leaf.endswith(f".{word}")]
        leaf = ends[0] if len(ends) == 1 else leaf_of(word)
        if leaf in leaves:
            found[leaf] = None
    return list(found)


def reads_back_different(row: Property, sent: Leaves, wanted: Leaves) -> dict[str, str]:
    """Return, for each leaf that reads back different, what was sent and what was read.

    Args:
        wanted: our values when `sent` was sent. Later edits have not been sent yet.
    """
    observed, desired = merge.leaves(row.observed), merge.leaves(row.desired)
    return {
        path: _taken(path, value, observed.get(path))
        for path, value in sent.items()
        if equal(path, desired.get(path), wanted.get(path))
        and not equal(path, observed.get(path), desired.get(path))
    }


def _taken(path: str, sent: Any, there: Any) -> str:
    if equal(path, sent, there):
        return f"UNKNOWN cannot be sent, so the platform holds {short(there)} without it"
    return f"The platform took {short(sent)} and reads back {short(there)}"


def cannot_say(row: Property, path: str) -> str:
    """Return the message for a leaf that no PATCH can clear or express (A12)."""
    kept = merge.leaves(row.observed).get(path)
    if holds_unknown(path, kept):
        return (
            f"The platform keeps {short(kept)}, since no PATCH can hold UNKNOWN:"
            " take it out to send the rest, which erases that value there"
        )
    return (
        f"The platform keeps {short(kept)}, since no PATCH can clear a value:"
        " enter one, or clear it on the platform"
    )


def short(value: Any) -> str:
    """Return a value for a person to read, cut to 80 characters."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else f"{text[:77]}…"

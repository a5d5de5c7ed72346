"""Which leaves of a row differ, and the PATCH and the texts for people that follow."""

import json
import re
from collections.abc import Collection, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from crm_sync.sentence import sentence
from properties import merge
from properties.catalog import (
    UNSENDABLE,
    equal,
    find,
    holds_unknown,
    is_vacant,
    leaf_of,
    sendable,
)
from properties.merge import Leaves, Owner, Patch
from properties.models import Property
from properties.models.property import ProblemKind
from properties.ownership import Ownership

_NAME = re.compile(r"[A-Za-z_]\w*(?:\[\d*\]|\.\w+)*")  # the name of a field in a text
_CAPITAL = re.compile(r"(?:^|(?<=\.))[A-Z]")


def planned(row: Property, ownership: Ownership) -> tuple[str, Leaves]:
    """Return the call that a push would make without a read, and the leaves that it would send."""
    patch = smallest_patch(row, ownership, inflight=row.inflight)
    if not patch.parts:
        return "nothing to send", {}
    return ("POST" if row.platform_id is None else "PATCH"), patch.parts


def smallest_patch(
    row: Property,
    ownership: Ownership,
    *,
    inflight: Collection[str] = (),
    blocked: Collection[str] | None = None,
) -> Patch:
    """Return the smallest PATCH of a row: see `properties.merge.smallest_patch`.

    Args:
        ownership: the rules of its workspace.
        blocked: the leaves to leave out; by default those that wait for a person (`left_out`).
    """
    return merge.smallest_patch(
        desired=row.desired,
        observed=row.observed,
        inflight=inflight,
        blocked=row.left_out if blocked is None else blocked,
        equal=equal,
        sendable=partial(_sendable, row),
        owner=ownership,
        vacant=is_vacant,
    )


def undecided(row: Property, ownership: Ownership) -> set[str]:
    """Return the leaves in which a rule has not had its effect yet, since it is newer.

    A push decides them, although neither side has changed: theirs is adopted, a conflict is over,
    or a leaf that was never sent is compared.
    """
    is_elsewhere = row.platform_id is None or "" in row.blocked
    if is_elsewhere or not (ownership.rules or ownership.lifted):
        return set()
    ours, theirs = merge.leaves(row.desired), merge.leaves(row.observed)
    conflicts = row.problem.get(ProblemKind.CONFLICT, {})
    found = set()
    for path in (ours.keys() | theirs.keys() | row.blocked) - {""}:
        owner, their = ownership(path), theirs.get(path)
        if owner is Owner.NEVER:
            is_open = path in row.blocked
        elif equal(path, ours.get(path), their):
            is_open = False
        elif owner is Owner.THEIRS or (owner is Owner.FILL and not is_vacant(path, their)):
            is_open = True
        elif path in conflicts:
            is_open = rule_ends(path, their, ownership, row.read_at)
        else:
            is_open = ownership.is_unagreed(path, row.read_at)
        if is_open:
            found.add(path)
    return found


def rule_ends(path: str, theirs: Any, ownership: Ownership, read_at: datetime | None) -> bool:
    """Return whether a rule ends a conflict that a person was asked about.

    Only a rule that is newer than the question does, and none erases a value that no PATCH can
    hold (`properties.domain.unsayable`).
    """
    owner = ownership(path)
    if owner is Owner.NEVER:
        return True
    decides = owner in (Owner.OURS, Owner.FILL) and ownership.is_new(path, read_at)
    return decides and not holds_unknown(path, theirs)


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
        return sentence(
            "UNKNOWN cannot be sent, so the platform holds %(value)s without it",
            value=short(there),
        )
    are_objects = isinstance(sent, Mapping) and isinstance(there, Mapping)
    if are_objects and equal(path, merge.laid_over(there, sent), there):  # A10
        kept = {name: value for name, value in there.items() if name not in sent}
        return sentence(
            "The platform keeps %(value)s, since no PATCH can clear a part of this value:"
            " clear it there, or enter another value",
            value=short(kept),
        )
    return sentence(
        "The platform took %(sent)s and reads back %(there)s", sent=short(sent), there=short(there)
    )


def cannot_say(row: Property, path: str) -> str:
    """Return the message for a leaf that no PATCH can clear or express (A12)."""
    kept = merge.leaves(row.observed).get(path)
    if holds_unknown(path, kept):
        return sentence(
            "The platform keeps %(value)s, since no PATCH can hold UNKNOWN:"
            " take it out to send the rest, which erases that value there",
            value=short(kept),
        )
    return sentence(
        "The platform keeps %(value)s, since no PATCH can clear a value:"
        " enter one, or clear it on the platform",
        value=short(kept),
    )


def short(value: Any) -> str:
    """Return a value for a person to read, cut to 80 characters."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else f"{text[:77]}…"

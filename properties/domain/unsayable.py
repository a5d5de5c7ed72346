"""Values of the platform that no PATCH can hold: a person decides before one is erased (I4).

A value that is newer than the API reads as UNKNOWN (A50). UNKNOWN is refused, also inside lists
and objects (§4.6 rule 4, A13), which are sent whole. So each change of such a leaf would erase it.
"""

from typing import Any

from django.utils.translation import gettext_lazy as _
from django.utils.translation import override

from properties import merge
from properties.catalog import UNSENDABLE, equal, holds_unknown, sendable
from properties.domain.difference import short
from properties.merge import Clash, Leaves
from properties.models import Property
from properties.models.property import ProblemKind

NOTE = _(
    "The platform holds a value here that this app does not know, and no PATCH can hold it."
    " If ours is sent, that value is erased there."
)


def erasing(row: Property, changes: Leaves, *, by_person: bool) -> tuple[Clash, ...]:
    """Return a clash for each change that would erase such a value.

    Args:
        row: the row as it was read, before the changes.
        by_person: a person who takes UNKNOWN out has seen it, so we do not ask them again.
    """
    before, asked = merge.leaves(row.desired), row.problem.get(ProblemKind.CONFLICT, {})
    found = []
    for path, ours in changes.items():
        if not (holds_unknown(path, before.get(path)) or path in asked):
            continue
        theirs = merge.leaves(row.observed).get(path)
        is_decided = by_person and not holds_unknown(path, ours)
        if holds_unknown(path, theirs) and not is_decided and not equal(path, ours, theirs):
            found.append(Clash(path, ours=ours, base=theirs, theirs=theirs))
    return tuple(found)


def texts(clashes: tuple[Clash, ...]) -> dict[str, str]:
    """Return the message for each leaf until a person has decided."""
    with override("en"):  # what is stored is English
        return {
            one.path: f"{NOTE} Ours is {short(one.ours)}, the platform's {short(one.theirs)}."
            " Decide whose value stands"
            for one in clashes
        }


def without_unknown(path: str, value: Any) -> Any:
    """Return our value as it is sent after a decision for it; None if nothing is left of it."""
    if not holds_unknown(path, value):
        return value
    said = sendable(path, value)
    return None if said is UNSENDABLE else said

"""A field that somebody else changed while its page was open: both values, and what is chosen.

The question is put for each member in which both values differ, as in a conflict with the platform
(I4). Members that only one side changed are answered beforehand; whoever saves may change that.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.functional import cached_property

from properties import members
from properties.catalog import equal
from properties.members import Member

MINE, THERE = "MINE", "THERE"


@dataclass(frozen=True)
class Question:
    """The question which of two values of a leaf is saved.

    Attributes:
        mine: the value that the page would save.
        shown: the value when the page was opened.
        there: the stored value now.
        chosen: by the name of an input, the side; None before the question was put.
    """

    leaf: str
    mine: Any
    shown: Any
    there: Any
    chosen: Mapping[str, Any] | None = None

    @cached_property
    def members(self) -> list[Member]:
        """The members in which mine and what is there differ."""
        return members.differing(self.leaf, self.mine, self.shown, self.there)

    @property
    def sides(self) -> list[tuple[str, Member, str]]:
        """For each member: the name of its inputs, the member, and the side; "" for neither."""
        named = [(f"whose:{self.leaf}:{n}", member) for n, member in enumerate(self.members)]
        return [(name, member, self._side(name, member)) for name, member in named]

    @property
    def is_answered(self) -> bool:
        """Whether a person has seen both values and chosen a side for each member."""
        return self.chosen is not None and all(side for _, _, side in self.sides)

    @property
    def answer(self) -> Any:
        """The value that the chosen sides make."""
        taken = {member.steps for _, member, side in self.sides if side == THERE}
        return members.from_both(self.leaf, self.mine, self.there, taken)

    def _side(self, name: str, member: Member) -> str:
        if self.chosen is not None:
            side = str(self.chosen.get(name, ""))
            return side if side in (MINE, THERE) else ""
        if equal(member.path, member.base, member.ours):
            return THERE
        return MINE if equal(member.path, member.base, member.theirs) else ""

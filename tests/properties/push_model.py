"""What both sides wrote and saw, field by field, and what must have become of it.

The model knows the edits of both sides and what passed over the wire; of the product it reads only
what a person can see: `desired`, the problems and the Conflict rows.

What no client can keep, since the platform has no If-Match, no updatedAt and no event for
properties (L1, L2), is no fault here:
- a platform edit that comes after the worker's read and before the effect of its call (L1);
- a platform edit to the value that we were last told, or to one of ours whose outcome is not
  known, or that a claim has on record: a read cannot tell them apart (L2, decision 16);
- an edit of ours to the value that we were last told, with nothing of ours on its way: both sides
  said the same, so it is no change.
"""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from crm_sync.models import Workspace
from properties.models import Conflict, Property
from tests.properties.workers import Call

Policy = Workspace.ConflictPolicy

# Leaf → what our people choose from, and what the platform's people do; None clears.
VALUES: dict[str, tuple[list[Any], list[Any]]] = {
    "title": (["Flat", "House", None], ["Flat", "House", "Loft"]),
    "numberOfRooms": ([2, 3, None], [2, 3, 4]),
    "propertyCategories": ([["VILLA"], ["LOFT", "VILLA"], []], [["VILLA"], ["LOFT"], []]),
    "prices.rent": ([{"net": 900}, {"net": 950}, None], [{"net": 900}, {"net": 990}]),
    "characteristics.hasElevator": (
        ["APPLIES", "DOES_NOT_APPLY", None],
        ["APPLIES", "DOES_NOT_APPLY", "UNKNOWN"],
    ),
    # The platform reads UNKNOWN where it holds a value newer than this API (§2.4).
    "heatingType": (["GAS", "OIL", None], ["GAS", "WOOD", "UNKNOWN"]),
}
SAYS_NOTHING = "nothing"


def nested(leaf: str, value: Any) -> dict[str, Any]:
    """Return a document that holds this leaf alone."""
    name, dot, member = leaf.partition(".")
    return {name: {member: value}} if dot else {name: value}


def word(document: dict[str, Any], leaf: str) -> str:
    """Return the value of a leaf as one comparable text."""
    name, dot, member = leaf.partition(".")
    value = (document.get(name) or {}).get(member) if dot else document.get(name)
    return spelled(leaf, value)


def spelled(leaf: str, value: Any) -> str:
    cleared = leaf.startswith("characteristics.") and value == "UNKNOWN"  # A12
    return SAYS_NOTHING if value in (None, [], {}) or cleared else json.dumps(value)


def words(document: dict[str, Any]) -> dict[str, str]:
    return {leaf: word(document, leaf) for leaf in VALUES}


@dataclass
class Theirs:
    """An edit of somebody on the platform that stands there.

    Attributes:
        blind: no read can tell it from what was there, or from a value of ours.
        shown: when an answer that holds it first reached a worker of ours.
    """

    value: str
    made: int
    blind: bool
    shown: int | None = None


@dataclass
class Leaf:
    """One field: the last word of both sides.

    Attributes:
        edited: when our people last changed it; 0 is never.
        reached: the platform has held that value since.
        no_change: that edit said what we had been told, with nothing of ours on its way.
        told: what the last answer said, and the one before until it is written down.
        doubt: values of ours that left in calls whose outcome is not known yet.
        recorded: values of ours that stand in the record of a claim, sent or not.
        known: every value that one of both sides wrote.
    """

    ours: str = SAYS_NOTHING
    edited: int = 0
    reached: bool = True
    no_change: bool = False
    theirs: Theirs | None = None
    told: set[str] = field(default_factory=lambda: {SAYS_NOTHING})
    doubt: Counter[str] = field(default_factory=Counter)
    recorded: Counter[str] = field(default_factory=Counter)
    known: set[str] = field(default_factory=lambda: {SAYS_NOTHING})
    refused: set[str] = field(default_factory=set)


class Model:
    """Who wrote what last, who was shown what, and the judgement."""

    def __init__(self, policy: str) -> None:
        self.policy = policy
        self.moment = 0
        self.leaves = {name: Leaf() for name in VALUES}

    def next_moment(self) -> int:
        self.moment += 1
        return self.moment

    # --- what happens ---
    def we_edited(self, name: str, value: Any, there: dict[str, Any]) -> None:
        leaf, ours = self.leaves[name], spelled(name, value)
        leaf.ours, leaf.edited = ours, self.next_moment()
        leaf.known.add(ours)
        leaf.reached = word(there, name) == ours
        leaf.no_change = ours in leaf.told and not +leaf.doubt

    def they_edited(self, before: dict[str, Any], after: dict[str, Any]) -> None:
        moment = self.next_moment()
        for name, leaf in self.leaves.items():
            value = word(after, name)
            if word(before, name) != value:
                blind = value in leaf.told or value in +leaf.doubt or value in +leaf.recorded
                leaf.known.add(value)
                leaf.theirs = Theirs(value, moment, blind)
                leaf.reached = leaf.reached or value == leaf.ours

    def is_recorded(self, call: Call) -> None:
        """Take note of what a claim has put on record before the call leaves, if it ever does."""
        for name, value in sent(call).items():
            self.leaves[name].recorded[value] += 1

    def leaves_us(self, call: Call) -> None:
        """Take note of what may reach the platform from now on."""
        for name, value in sent(call).items():
            self.leaves[name].doubt[value] += 1

    def is_clear(self, call: Call) -> None:
        """Take note that a call, or what was on record of one, has no more effect to come."""
        for name, value in sent(call).items():
            leaf = self.leaves[name]
            (leaf.recorded if call.is_record else leaf.doubt)[value] -= 1

    def was_refused(self, call: Call, name: str) -> None:
        self.leaves[name].refused.add(sent(call)[name])

    def had_effect(self, call: Call, before: dict[str, Any], after: dict[str, Any]) -> None:
        """Judge each value that a call of ours has replaced, before it is forgotten."""
        for name, leaf in self.leaves.items():
            value = word(after, name)
            if word(before, name) == value:
                continue
            if leaf.theirs is not None:
                self._may_overwrite(name, leaf, leaf.theirs, call)
            leaf.theirs = None
            leaf.reached = leaf.reached or value == leaf.ours
        self.next_moment()

    def hears(self, call: Call) -> None:
        """Take note of an answer that reaches the holder of the row."""
        moment = self.next_moment()
        for name, value in (call.shows or {}).items():
            leaf = self.leaves[name]
            leaf.told = leaf.told | {value}
            theirs = leaf.theirs
            if theirs and theirs.value == value and theirs.shown is None:
                theirs.shown = moment

    def has_written(self, call: Call) -> None:
        """Take note that whoever heard an answer did not die over it."""
        for name, value in (call.shows or {}).items():
            self.leaves[name].told = {value}

    # --- what must hold ---
    def _may_overwrite(self, name: str, leaf: Leaf, theirs: Theirs, call: Call) -> None:
        came_after_the_read = call.worker.read is not None and theirs.made > call.worker.read
        looks_like_ours = theirs.blind or theirs.value in +leaf.doubt + leaf.recorded
        replaced_by_edit = theirs.shown is not None and leaf.edited > theirs.shown
        if came_after_the_read or looks_like_ours or replaced_by_edit:
            return
        assert self._conflict(name, theirs=theirs.value), (
            f"{name}: {theirs.value} of the platform was overwritten and is in no conflict (I4)"
        )

    def _conflict(self, name: str, **sides: str) -> bool:
        """Tell whether a Conflict row holds these values."""
        leaf = self.leaves[name]
        return any(
            all(spelled(name, getattr(row, side)) == value for side, value in sides.items())
            and spelled(name, row.ours) in leaf.known
            for row in Conflict.objects.filter(path=name)
        )

    def all_is_sent(self, row: Property) -> None:
        """See that no edit of ours is left for a sweep to find."""
        for name in self.leaves:
            local, remote = word(row.desired, name), word(row.observed, name)
            assert local == remote or row.problems_at(name), f"{name}: {local} was not sent (I1)"

    def judge(self, row: Property, there: dict[str, Any]) -> None:
        """Hold both sides against what was done to each field, now that all is quiet."""
        assert words(row.observed) == words(there)
        asked = set(Conflict.objects.filter(decision="").values_list("path", flat=True))
        assert asked == set(row.problem.get("CONFLICT", {})), "an open question that is none"
        for name, leaf in self.leaves.items():
            remote, local = word(there, name), word(row.desired, name)
            problem = row.problems_at(name)
            assert problem == [] or self._justified(row, name, remote), (name, problem)
            assert local == remote or problem, f"{name}: {local} here, {remote} there, no problem"
            if not leaf.edited:
                expected = leaf.theirs.value if leaf.theirs else SAYS_NOTHING
                assert remote == expected, f"{name}: {remote}, nobody of ours touched {expected}"
            elif remote != leaf.ours and not problem:
                assert self._given_way(name, leaf), (
                    f"{name}: our {leaf.ours} is lost, the platform holds {remote} (I1)"
                )

    def _given_way(self, name: str, leaf: Leaf) -> bool:
        """Tell whether our last edit was rightly followed by another value."""
        if self.policy == Policy.PLATFORM_WINS and self._conflict(name, ours=leaf.ours):
            return True
        return leaf.theirs is not None and (leaf.reached or leaf.no_change)

    def _justified(self, row: Property, name: str, remote: str) -> bool:
        """Tell whether the problem that a person is shown at a field is true."""
        leaf = self.leaves[name]
        kinds = {kind for kind, fields in row.problem.items() if name in fields}
        local = word(row.desired, name)
        # §4.6 rule 1 and A10: a scalar cannot be cleared, nor a member of a merged object.
        nothing = local == SAYS_NOTHING and leaf.edited
        cannot_be_said = nothing or row.desired.get(name) == "UNKNOWN"
        reasons = {
            "REFUSED": local in leaf.refused,
            "CANNOT_CLEAR": cannot_be_said and remote != local,
            "DIFFERS": name == "prices.rent" and cannot_be_said and remote != local,
            "CONFLICT": self.policy == Policy.ASK
            and self._conflict(name, ours=local, theirs=remote),
        }
        return all(reasons[kind] for kind in kinds)


def sent(call: Call) -> dict[str, str]:
    """Return the leaves that a call carries, leaf to value."""
    body = json.loads(call.content or b"{}")
    found = {}
    for leaf in VALUES:
        name, dot, member = leaf.partition(".")
        inside = body.get(name, {}) if dot else body
        if (member or name) in inside:
            found[leaf] = spelled(leaf, inside[member or name])
    return found


def forbidden(body: Any, path: str = "") -> list[str]:
    """Return where a body holds what must never travel (§4.6 rules 1, 4 and 5)."""
    if isinstance(body, dict):
        inner = [at for key, value in body.items() for at in forbidden(value, f"{path}.{key}")]
        return inner + [f"{path}.{key}" for key in body if key == "rooms"]
    if isinstance(body, list):
        return [at for value in body for at in forbidden(value, path)]
    unknown = body == "UNKNOWN" and not path.startswith(".characteristics.")
    return [path] if body is None or unknown else []

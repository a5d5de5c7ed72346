"""Pure: who owns each leaf of a workspace's properties, by the rules of its people.

A rule names a leaf ("prices.rent", "address"), one of the four merged objects ("prices") or a group
of the catalog ("group:Prices"). The most specific rule counts (docs/ownership.md).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Self

from crm_sync.sentence import sentence
from properties.catalog import (
    GROUPS,
    MERGED,
    OTHERS,
    READ_ONLY,
    children,
    equal,
    group_of,
    is_vacant,
)
from properties.merge import Owner

GROUP = "group:"
# The key of the property, and what only the platform sets, have no owner to choose.
FIXED = READ_ONLY | {"objectReferenceId"}
# A worker may know the rules of a moment ago, and its call takes some seconds.
MARGIN = timedelta(minutes=1)


@dataclass(frozen=True)
class Ownership:
    """The rules of a workspace; called with a leaf, it returns the owner.

    Attributes:
        policy: which side wins if both changed a leaf without a rule.
        rules: a leaf, an object or a group to its owner.
        since: when each rule was last set or taken out.
        lifted: leaves that were never sent, and when this ended; an object or a group stands for
            its leaves that the catalog does not know.
        where: the name of the workspace, for the texts.
    """

    policy: str
    rules: Mapping[str, Owner] = field(default_factory=dict)
    since: Mapping[str, datetime] = field(default_factory=dict)
    lifted: Mapping[str, datetime] = field(default_factory=dict)
    where: str = ""

    @classmethod
    def of(cls, policy: str, stored: Mapping[str, Any], where: str) -> Self:
        """Return the rules as a workspace stores them; an owner of a newer version is left out."""
        rules = {
            path: Owner(owner)
            for path, owner in stored.get("rules", {}).items()
            if owner in {one.value for one in Owner}
        }
        since, lifted = _times(stored.get("since", {})), _times(stored.get("lifted", {}))
        return cls(policy, rules, since, lifted, where)

    @property
    def stored(self) -> dict[str, Any]:
        """The form in which a workspace stores the rules."""
        return {
            "rules": {key: owner.value for key, owner in self.rules.items()},
            "since": {key: at.isoformat() for key, at in self.since.items()},
            "lifted": {path: at.isoformat() for path, at in self.lifted.items()},
        }

    def __call__(self, path: str) -> Owner:
        """Return the owner of a leaf."""
        if not self.rules:
            return Owner.POLICY
        return self.rules.get(self.rule_of(path), Owner.POLICY)

    def rule_of(self, path: str) -> str:
        """Return the key of the rule that decides a leaf; "" if there is none."""
        if path in FIXED:
            return ""
        return next((key for key in keys_of(path) if key in self.rules), "")

    def changed(self, key: str, owner: Owner, *, now: datetime) -> Self:
        """Return the rules with one set, or taken out by `Owner.POLICY`."""
        rules = {**self.rules, key: owner}
        if owner is Owner.POLICY:
            del rules[key]
        after, lifted = replace(self, rules=rules), dict(self.lifted)
        for path in (*LEAVES, *MERGED, *(GROUP + group for group in RULED_GROUPS)):
            if after(path) is Owner.NEVER:
                lifted.pop(path, None)
            elif self(path) is Owner.NEVER:
                lifted[path] = now
        return replace(after, since={**self.since, key: now}, lifted=lifted)

    def is_new(self, path: str, read_at: datetime | None) -> bool:
        """Return whether a rule about a leaf was set since we last read the property."""
        times = [self.since[key] for key in keys_of(path) if key in self.since]
        return bool(times) and _is_before(read_at, max(times))

    def is_unagreed(self, path: str, read_at: datetime | None) -> bool:
        """Return whether our last read of a leaf was no agreement, since it was never sent then.

        What the platform had then is no base of a merge: without one, both sides have changed it.
        """
        if not self.lifted:
            return False
        at = self.lifted.get(path if path in _KNOWN else [*keys_of(path)][1])
        return at is not None and _is_before(read_at, at)

    def has_unagreed(self, read_at: datetime | None) -> bool:
        """Return whether any leaf of a row that was read then has no agreed base."""
        return any(_is_before(read_at, at) for at in self.lifted.values())

    def refusal(self, path: str, value: Any, theirs: Any) -> str:
        """Return why nobody may set a leaf to a value here; "" if they may.

        Args:
            theirs: the value that the platform last confirmed.
        """
        reason = self.lock(path, theirs)
        return "" if not reason or equal(path, value, theirs) else reason

    def lock(self, path: str, theirs: Any) -> str:
        """Return why a leaf can only be read here, in whole sentences; "" if it can be edited."""
        owner = self(path)
        if owner is Owner.THEIRS:
            return sentence(
                "The platform owns this, by a rule of workspace %(workspace)s. Change it on the"
                " platform.",
                workspace=self.where,
            )
        if owner is Owner.FILL and not is_vacant(path, theirs):
            return sentence(
                "The platform has a value here, and a rule of workspace %(workspace)s only fills"
                " what is empty. Change it on the platform.",
                workspace=self.where,
            )
        return ""

    def note(self, path: str, theirs: Any) -> str:
        """Return what a person has to know who edits a leaf; "" if it is sent as any other."""
        if self(path) is Owner.NEVER:
            return sentence(
                "This is never sent to the platform, by a rule of workspace %(workspace)s.",
                workspace=self.where,
            )
        return self.lock(path, theirs)


def _times(stored: Mapping[str, str]) -> dict[str, datetime]:
    return {key: datetime.fromisoformat(at) for key, at in stored.items()}


def _is_before(read_at: datetime | None, at: datetime) -> bool:
    return read_at is None or read_at < at + MARGIN


def keys_of(path: str) -> Iterator[str]:
    """Yield the keys of rules that may decide a leaf, the most specific first."""
    yield path
    name, dot, _ = path.partition(".")
    if dot and name in MERGED:
        yield name
    yield path if path.startswith(GROUP) else GROUP + group_of(path)


def group_leaves(group: str) -> list[str]:
    """Return the leaves of a group that can have a rule, in the order of the catalog."""
    rows = [row for some in GROUPS.values() for row in some if group_of(row.path) == group]
    found = []
    for row in rows:
        parts = [child.path for child in children(row.path)] if row.path in MERGED else [row.path]
        found += [path for path in parts if path not in FIXED]
    return found


RULED_GROUPS = [name for name in (*GROUPS, OTHERS) if name not in ("Read-only", "Extra")]
LEAVES = [path for group in RULED_GROUPS for path in group_leaves(group)]
_KNOWN = frozenset(LEAVES)
# All that a rule may be about.
RULED = frozenset({*LEAVES, *MERGED, *(GROUP + group for group in RULED_GROUPS)})


def lockable(rules: Mapping[str, Owner]) -> bool:
    """Return whether any rule may keep an edit of ours from a field."""
    return not {Owner.THEIRS, Owner.FILL}.isdisjoint(rules.values())

"""Pure: the three-way merge and the smallest PATCH (§4.6, I4, I5).

A document is cut into leaves: each first-level member of the four merged objects is a leaf
("prices.rent"), and so is every other top-level field ("address"). `base` is what the platform last
confirmed, `ours` is what our people want, `theirs` is what a read or an answer contains.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any, Final

MERGED = frozenset({"characteristics", "energyCertificate", "prices", "swissReferences"})  # rule 3


class _Unsendable(Enum):
    UNSENDABLE = "no PATCH can express it"


UNSENDABLE: Final = (
    _Unsendable.UNSENDABLE
)  # what `sendable` returns if no PATCH can express the value


class Owner(StrEnum):
    """Who owns a leaf: whose value stands, and whether ours is sent (docs/ownership.md)."""

    POLICY = ""  # no rule: the workspace's policy decides if both sides changed it
    OURS = "ours"
    THEIRS = "theirs"
    ASK = "ask"
    FILL = "fill"
    NEVER = "never"


Document = dict[str, Any]
Leaves = dict[str, Any]
Equal = Callable[[str, Any, Any], bool]
Sendable = Callable[[str, Any], Any]
OwnerOf = Callable[[str], Owner]
Vacant = Callable[[str, Any], bool]


def leaves(document: Mapping[str, Any]) -> Leaves:
    """Cut a document into its leaves, path to value; null means the same as absent (rule 1).

    A field without a name is left out: the path "" stands for the whole property.
    """
    found = {name: value for name, value in document.items() if name and value is not None}
    for name in MERGED & found.keys():
        members = found.pop(name)
        if isinstance(members, dict):
            for member, inner in members.items():
                if inner is not None:
                    found[f"{name}.{member}"] = inner
    return found


def document(parts: Mapping[str, Any]) -> Document:
    """Join leaves into a document; the inverse of `leaves` if nothing is null."""
    whole: Document = {}
    for path, value in parts.items():
        name, dot, member = path.partition(".")
        if dot and name in MERGED:
            whole.setdefault(name, {})[member] = value
        else:
            whole[path] = value
    return whole


def same_json(a: object, b: object) -> bool:
    """Return whether two values are the same JSON. The order of members does not count.

    PostgreSQL sorts the members of a document. 1 and 1.0 are the same, 1 and True are not.
    """
    return a is b or (a == b and _same_truths(a, b))


def _same_truths(a: Any, b: Any) -> bool:
    """Return whether two equal values have True and False in the same places."""
    if isinstance(a, dict):
        return all(_same_truths(member, b[name]) for name, member in a.items())
    if isinstance(a, list):
        return all(map(_same_truths, a, b))
    return isinstance(a, bool) is isinstance(b, bool)


def changed(before: Document, changes: Mapping[str, Any]) -> Document:
    """Return `before` with the leaves of `changes` set, or removed if they are None."""
    parts = leaves(before) | dict(changes)
    return document({path: value for path, value in parts.items() if value is not None})


def may_send(owner: Owner, path: str, theirs: Any, vacant: Vacant) -> bool:
    """Return whether our value of a leaf may be sent to a platform that holds `theirs`."""
    if owner is Owner.FILL:
        return vacant(path, theirs)
    return owner not in (Owner.THEIRS, Owner.NEVER)


@dataclass(frozen=True)
class Clash:
    """One leaf in which a value of one side gives way to the other, with all three values."""

    path: str
    ours: Any
    base: Any
    theirs: Any


@dataclass(frozen=True)
class Merge:
    """The result of a merge.

    Attributes:
        adopted: the leaves in which theirs becomes ours; None if they cleared it.
        clashes: the leaves that both sides changed differently, and those in which a rule decides
            against a change of one side. So no value is lost silently (I4).
    """

    adopted: Leaves = field(default_factory=dict)
    clashes: tuple[Clash, ...] = ()


def three_way(
    *,
    base: Document,
    ours: Document,
    theirs: Document,
    inflight: Mapping[str, list[Any]],
    equal: Equal,
    owner: OwnerOf,
    vacant: Vacant,
) -> Merge:
    """Compare the three documents leaf by leaf (I4, I5).

    Args:
        inflight: by leaf, the values that may have reached the platform. They count as ours (I2),
            also together with members that we left out and that the platform kept (A10).
        equal: equality by the catalog type of a leaf; None means absent.
        owner: who owns a leaf.
        vacant: whether a value of a leaf means that the platform has none.
    """
    base_, ours_, theirs_ = leaves(base), leaves(ours), leaves(theirs)
    adopted: Leaves = {}
    clashes = []
    for path in sorted(base_.keys() | ours_.keys() | theirs_.keys()):
        was, our, their = base_.get(path), ours_.get(path), theirs_.get(path)
        who = owner(path)
        if who is Owner.NEVER or equal(path, their, our):
            continue
        clash = Clash(path, ours=our, base=was, theirs=their)
        if who is Owner.THEIRS or (who is Owner.FILL and not vacant(path, their)):
            adopted[path] = their
            clashes += [] if equal(path, our, was) else [clash]
            continue
        if equal(path, their, was):
            continue
        ours_there = (
            said for value in inflight.get(path, ()) for said in (value, laid_over(was, value))
        )
        if any(equal(path, their, value) for value in ours_there):
            continue
        stays = path in inflight or who in (Owner.OURS, Owner.FILL)
        if equal(path, our, was) and not stays:
            adopted[path] = their
        else:
            clashes.append(clash)
    return Merge(adopted, tuple(clashes))


def laid_over(before: Any, value: Any) -> Any:
    """Return one object merged deep into another (A10); lists are replaced."""
    if not isinstance(before, Mapping) or not isinstance(value, Mapping):
        return value
    said = {name: inner for name, inner in value.items() if inner is not None}
    return {**before, **{name: laid_over(before.get(name), inner) for name, inner in said.items()}}


@dataclass(frozen=True)
class Patch:
    """The smallest PATCH: its leaves, and the leaves that differ but that no PATCH can express."""

    parts: Leaves = field(default_factory=dict)
    unsendable: tuple[str, ...] = ()

    @property
    def body(self) -> Document:
        """The JSON body to send, with the merged objects nested again."""
        return document(self.parts)


def smallest_patch(
    *,
    desired: Document,
    observed: Document,
    inflight: Collection[str],
    blocked: Collection[str],
    equal: Equal,
    sendable: Sendable,
    owner: OwnerOf,
    vacant: Vacant,
) -> Patch:
    """Return what has to be sent: every leaf that differs, and every leaf in flight (I2).

    Args:
        blocked: leaves that wait for a person. They are left out.
        owner: who owns a leaf; what a rule keeps here is left out, whether or not it is in flight.
        vacant: whether a value of a leaf means that the platform has none.
        sendable: returns the value as it may be sent, or UNSENDABLE (UNKNOWN, read-only, a cleared
            scalar).
    """
    want, have = leaves(desired), leaves(observed)
    parts: Leaves = {}
    unsendable = []
    for path in sorted(want.keys() | have.keys() | set(inflight)):
        differs = not equal(path, want.get(path), have.get(path))
        if path in blocked or not (differs or path in inflight):
            continue
        if not may_send(owner(path), path, have.get(path), vacant):
            continue
        value = sendable(path, want.get(path))
        if value is not UNSENDABLE:
            parts[path] = value
        elif differs:
            unsendable.append(path)
    return Patch(parts, tuple(unsendable))

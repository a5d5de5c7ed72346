"""Pure: compares two values of one leaf member by member, and makes a value from both.

A member is a part that a person decides by itself: `net` of `prices.rent`, the French title of
`localizations`. A key distinguishes the entries of a list. If entries have no key, or if it is not
unique, the whole list is one member.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from properties.catalog import Kind, children, equal, find, inner_label, last_label

# The keys of the entries of a list; for `localizations` the platform requires it (§4.6).
KEYS = {
    "localizations": ("languageCode",),
    "publishers": ("id",),
    "publishers[].options": ("key", "languageCode"),
    "publishers[].promotions": ("name",),
    "prices.additionalOffers": ("type",),
    "parkingLots": ("type",),
    "virtualTourLinks": ("url",),
    "videoLinks": ("url",),
}
# A latitude of one side and a longitude of the other make a third point, which is wrong.
WHOLE = frozenset({"geo"})
MOST = 100  # members of one leaf; if more differ, the whole leaf is one member

Key = tuple[str, ...]
Step = str | Key  # the name of a member, or the key of an entry of a list
Steps = tuple[Step, ...]


@dataclass(frozen=True)
class Member:
    """A part of a leaf in which two values differ.

    Attributes:
        steps: its place in the leaf; empty for the leaf itself.
        path: its path in the catalog, with the index of an entry in our list.
        name: its name in words; "" for the leaf itself.
    """

    steps: Steps
    path: str
    name: str
    ours: Any
    base: Any
    theirs: Any


def differing(leaf: str, ours: Any, base: Any, theirs: Any) -> list[Member]:
    """Return the members in which ours and theirs differ; none if both mean the same."""
    whole = Member((), leaf, "", ours, base, theirs)
    found = list(_differing(whole))
    return [whole] if len(found) > MOST else found


def from_both(leaf: str, ours: Any, theirs: Any, taken: Collection[Steps]) -> Any:
    """Return our value with the taken members from theirs. If all are taken, return theirs.

    Args:
        taken: the `steps` of members that `differing` returns.
    """
    members = differing(leaf, ours, None, theirs)
    chosen = [one for one in members if one.steps in taken]
    if chosen and len(chosen) == len(members):
        return theirs
    value = ours
    for one in chosen:
        value = _put(leaf, value, one.steps, one.theirs)
    return value


def _differing(whole: Member) -> Iterator[Member]:
    """Yield the members of a value that differ; the value itself if it has no members."""
    if equal(whole.path, whole.ours, whole.theirs):
        return
    found = [deep for one in _inside(whole) for deep in _differing(one)]
    yield from found or [whole]  # none: only the order differs


def _inside(whole: Member) -> Iterator[Member]:
    """Yield the parts of a value, if both sides have it in a form that has parts."""
    ours, theirs = whole.ours, whole.theirs
    if isinstance(ours, dict) and isinstance(theirs, dict):
        if whole.path.rpartition(".")[2] not in WHOLE:
            yield from _members(whole, ours, theirs)
    elif isinstance(ours, list) and isinstance(theirs, list):
        yield from _entries(whole, ours, theirs)


def _members(whole: Member, ours: dict[str, Any], theirs: dict[str, Any]) -> Iterator[Member]:
    base = whole.base if isinstance(whole.base, dict) else {}
    field = find(whole.path)
    in_words = inner_label if whole.name else last_label
    for name in _in_table_order(whole.path, [*ours, *(n for n in theirs if n not in ours)]):
        path = f"{whole.path}.{name}"
        words = name if field and field.kind is Kind.MAP else in_words(path)
        yield Member(
            (*whole.steps, name),
            path,
            below(whole.name, words),
            ours.get(name),
            base.get(name),
            theirs.get(name),
        )


def _in_table_order(path: str, names: list[str]) -> list[str]:
    """Return the names as the catalog lists them, unknown ones last: a database may sort them."""
    known = {one.name: number for number, one in enumerate(children(path))}
    return sorted(names, key=lambda name: known.get(name, len(known)))


def _entries(whole: Member, ours: list[Any], theirs: list[Any]) -> Iterator[Member]:
    """Yield the entries of two lists, if each entry has a unique key in both."""
    mine, others = _by_key(whole.path, ours), _by_key(whole.path, theirs)
    if mine is None or others is None:
        return
    before = _by_key(whole.path, whole.base) or {}
    for index, key in enumerate([*mine, *(key for key in others if key not in mine)]):
        yield Member(
            (*whole.steps, key),
            f"{whole.path}[{index}]",
            below(whole.name, ", ".join(part for part in key if part)),
            mine.get(key),
            before.get(key),
            others.get(key),
        )


def _by_key(path: str, items: Any) -> dict[Key, Any] | None:
    """Return the entries of a list by their keys; None if the keys are not unique."""
    field = find(path)
    names = KEYS.get(field.path) if field else None
    if names is None or not isinstance(items, list):
        return None
    keys = [_key(item, names) for item in items]
    known = [key for key in keys if key is not None]
    if len(set(known)) < len(items):
        return None
    return dict(zip(known, items, strict=True))


def _key(item: Any, names: tuple[str, ...]) -> Key | None:
    """Return the key of an entry; None if it is no object or has no first part of the key."""
    values = [item.get(name) for name in names] if isinstance(item, dict) else [None]
    key = tuple(value if isinstance(value, str) else "" for value in values)
    return key if key[0] else None


def _put(path: str, holder: Any, steps: Steps, value: Any) -> Any:
    """Return a copy of `holder` with `value` at `steps`, or without it if `value` is None."""
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(step, str):
        inner = _put(f"{path}.{step}", holder.get(step), rest, value)
        members = {**holder, step: inner}
        if inner is None:
            del members[step]
        return members
    entries = dict(_by_key(path, holder) or {})
    entries[step] = _put(f"{path}[0]", entries.get(step), rest, value)
    return [item for item in entries.values() if item is not None]


def below(name: str, inside: str) -> str:
    """Return the name of a part of a value with this name; "" is the value itself."""
    return f"{name} · {inside}" if name else inside

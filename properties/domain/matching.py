"""Pure: match the properties that are only here with those that are only on the platform.

Values in, values out: each side is pairs of an id and a key (`properties.match_keys`).
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

Keyed = Iterable[tuple[int, str | None]]


@dataclass(frozen=True)
class MatchGroup:
    """The rows of both sides that have one key, in order; both have at least one."""

    key: str
    ours: tuple[int, ...]
    theirs: tuple[int, ...]


@dataclass(frozen=True)
class Matching:
    """The result of a comparison. Each row is in exactly one of these, once.

    Attributes:
        matched: ours and theirs, of keys that each side has once.
        ambiguous: the keys that both sides have, and one of them more than once.
        only_ours, only_theirs: the rows without a key, or with one that the other side lacks.
    """

    matched: tuple[tuple[int, int], ...] = ()
    ambiguous: tuple[MatchGroup, ...] = ()
    only_ours: tuple[int, ...] = ()
    only_theirs: tuple[int, ...] = ()

    @property
    def seen(self) -> str:
        """The matched pairs as a person names them who has seen them: a short digest."""
        return hashlib.sha256(repr(self.matched).encode()).hexdigest()[:16]

    def choices(self) -> dict[int, tuple[int, ...]]:
        """Return for each ambiguous row of ours those of theirs that it may be, in order."""
        return {mine: group.theirs for group in self.ambiguous for mine in group.ours}


def match(ours: Keyed, theirs: Keyed) -> Matching:
    """Compare both sides in one pass each; the order of the rows does not change the result."""
    by_key, only_ours = _by_key(ours)
    their_keys, only_theirs = _by_key(theirs)
    matched: list[tuple[int, int]] = []
    ambiguous: list[MatchGroup] = []
    for key, mine in by_key.items():
        if (found := their_keys.pop(key, None)) is None:
            only_ours += mine
        elif len(mine) == len(found) == 1:
            matched.append((mine[0], found[0]))
        else:
            ambiguous.append(MatchGroup(key, tuple(sorted(mine)), tuple(sorted(found))))
    for left in their_keys.values():
        only_theirs += left
    return Matching(
        tuple(sorted(matched)),
        tuple(sorted(ambiguous, key=lambda group: group.ours)),
        tuple(sorted(only_ours)),
        tuple(sorted(only_theirs)),
    )


def _by_key(rows: Keyed) -> tuple[dict[str, list[int]], list[int]]:
    """Return the ids by key, and those without a key."""
    found: dict[str, list[int]] = defaultdict(list)
    without: list[int] = []
    for row, key in rows:
        (without if key is None else found[key]).append(row)
    return found, without

"""Pure: find a shorter story of a broken promise, by playing the seed with fewer decisions."""

from collections.abc import Callable
from typing import Protocol, TypeVar


class Played(Protocol):
    """What a play came to: what is wrong, and the decisions that were taken."""

    wrong: list[str]
    taken: list[str]


Verdict = TypeVar("Verdict", bound=Played)


def shorter(found: Verdict, play: Callable[[frozenset[str]], Verdict], *, plays: int) -> Verdict:
    """Leave decisions out, in ever smaller parts, as long as a promise is still broken.

    Args:
        found: a play in which one was broken.
        play: plays the same seed without these decisions.
        plays: how often at most.

    Returns:
        the play with the fewest decisions that was found.
    """
    off: frozenset[str] = frozenset()
    size = max(1, len(found.taken) // 2)
    while True:
        is_shorter = False
        for begin in range(0, len(found.taken), size):
            if not plays:
                return found
            plays -= 1
            part = frozenset(found.taken[begin : begin + size])
            one = play(off | part)
            if one.wrong and len(one.taken) < len(found.taken):
                found, off, is_shorter = one, off | part, True
                break
        if is_shorter:
            size = min(size, max(1, len(found.taken) // 2))
        elif size == 1:
            return found
        else:
            size = max(1, size // 2)

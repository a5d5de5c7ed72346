"""One core for each player, since only one thread of its processes runs at a time."""

import os


def pin(number: int) -> None:
    """Let the calling thread, and all that it starts, run on one core; `number` says on which.

    A hand-over to another core costs a fifth of a play. Only Linux knows how to forbid it.
    """
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[number % len(cores)]})

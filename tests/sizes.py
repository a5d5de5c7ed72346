"""The same tests at any size: counts, seeds and the platform from the environment; what came of it.

`make test` and `make kills` run them as they stand here; `make chaos` sets CHAOS_… to the counts of
a long run and puts the figures of all of them into one table.
"""

import json
import os
import random
from pathlib import Path
from typing import Any

# The kind of platform that the run is against, as `python -m sandbox --platform` takes it.
KIND = os.environ.get("SANDBOX_PLATFORM", "rich")


def times(name: str, commit: int) -> int:
    """Return how many there are to be: CHAOS_<name>, else what a commit is tested with."""
    return int(os.environ.get(f"CHAOS_{name}", commit))


def seed_of(what: str) -> int:
    """Return CHAOS_SEED, or a fresh one, and print it; pytest shows it where the test fails."""
    seed = int(os.environ.get("CHAOS_SEED") or random.randrange(1_000_000))
    figures(what, seed=seed)
    return seed


def figures(what: str, **values: Any) -> None:
    """Print what a run came to, and append it to the file that CHAOS_FIGURES names."""
    print(f"{what}: " + ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in values.items()))
    path = os.environ.get("CHAOS_FIGURES")
    if path:
        with Path(path).open("a") as file:
            file.write(json.dumps({"what": what, **values}) + "\n")

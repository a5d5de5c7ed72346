"""Pages that are opened some times, and what each time took."""

import json
import time
from collections.abc import Callable
from statistics import median

from django.test import Client

from lab.benchmarks.page import seconds_of_additions

MILLION = 1_000_000
Clock = Callable[[], float]  # seconds


def visit(client: Client, what: str, address: str, *, rounds: int) -> None:
    """Open a page some times, after a first time that does not count, and print what it took.

    The line is `{"what": text, "milliseconds": [of each request], "kilobytes": of HTML,
    "additions": milliseconds of a million}`; additions tell how fast the machine was just then.
    """
    took, size = times(client, address, rounds=rounds)
    bare = median(seconds_of_additions(MILLION) * 1000 for _ in range(rounds))
    found = {"what": what, "milliseconds": took, "kilobytes": size, "additions": bare}
    print(json.dumps(found), flush=True)


def times(
    client: Client, address: str, *, rounds: int, clock: Clock = time.perf_counter
) -> tuple[list[float], float]:
    """Open a page some times, after a first time that does not count.

    Args:
        clock: `time.process_time` counts the processor alone, however busy the machine is.

    Returns:
        the milliseconds of each time, and the kilobytes of the last HTML.
    """
    took = []
    for _ in range(rounds + 1):
        began = clock()
        answer = client.get(address)
        took.append((clock() - began) * 1000)
        if answer.status_code != 200:
            raise SystemExit(f"{address}: {answer.status_code}")
    return took[1:], len(answer.content) / 1024

"""Pages that are opened some times, and what each time took."""

import json
import time

from django.test import Client


def visit(client: Client, what: str, address: str, *, rounds: int) -> None:
    """Open a page some times, after a first time that does not count, and print what it took."""
    took = []
    for _ in range(rounds + 1):
        began = time.perf_counter()
        answer = client.get(address)
        took.append((time.perf_counter() - began) * 1000)
        if answer.status_code != 200:
            raise SystemExit(f"{address}: {answer.status_code}")
    size = len(answer.content) / 1024
    line = {"what": what, "milliseconds": took[1:], "kilobytes": size}
    print(json.dumps(line), flush=True)

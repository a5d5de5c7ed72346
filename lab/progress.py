"""What a long run tells while it goes on: a line for each step, a bar where somebody looks."""

import sys
import time
from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

INTERVAL = 0.2  # seconds between two checks


class TooSlow(AssertionError):
    """Something did not come about within its time."""


class Steps:
    """Says what goes on, and waits for it within a bound."""

    def __init__(self, scene: str) -> None:
        self.scene, self.began = scene, time.monotonic()
        print(f"== {scene}", flush=True)

    def say(self, text: str) -> None:
        print(f"{time.monotonic() - self.began:6.1f} s  {text}", flush=True)

    def until(
        self,
        text: str,
        done: Callable[[], int],
        total: int,
        *,
        limit: float,
        at: Callable[[float], None] = lambda share: None,
    ) -> float:
        """Wait until `done` reaches `total`, and return the seconds that it took.

        Args:
            at: is told at each look which share is done.

        Raises:
            TooSlow: after `limit` seconds.
        """
        began = time.monotonic()
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        console, quiet = Console(stderr=True), not sys.stderr.isatty()
        bar = Progress(
            *columns, TimeElapsedColumn(), console=console, transient=True, disable=quiet
        )
        with bar:
            task = bar.add_task(text, total=total)
            while (count := done()) < total:
                bar.update(task, completed=count)
                at(count / total)
                if time.monotonic() - began > limit:
                    raise TooSlow(f"{text}: {count} of {total} after {limit:g} s")
                time.sleep(INTERVAL)
        seconds = time.monotonic() - began
        self.say(f"{text}: {total:,} in {seconds:.1f} s")
        return seconds

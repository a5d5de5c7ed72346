"""What the long runs of scale and soak share: the installation, an order, the feed, the end."""

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import requests

from lab.benchmarks.figures import Figure
from lab.progress import Steps
from tests.journeys.rows import ask
from tests.processes import Installation
from tests.redis import Redis


@dataclass
class Result:
    """The figures of a scene, and what did not hold."""

    figures: list[Figure] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def has_held(self) -> bool:
        """Tell whether nothing was wrong and every figure reaches what it must."""
        return not self.wrong and all(one.is_met for one in self.figures)

    def figure(
        self, what: str, value: float, unit: str, *, below: float | None = None, digits: int = 0
    ) -> None:
        self.figures.append(Figure(what, value, unit, below=below, digits=digits))

    def conclude(self, name: str, folder: Path, seconds: float) -> bool:
        """Print what was wrong and whether it held; what it left stays if it did not."""
        for wrong in self.wrong:
            print(f"  WRONG  {wrong}")
        if self.has_held:
            shutil.rmtree(folder)
        word = "held" if self.has_held else f"FAILED, what it left is in {folder}"
        print(f"{name}: {word} ({seconds:.0f} s)", flush=True)
        return self.has_held


def table(path: Path, count: int, prefix: str, *, title: str) -> Path:
    """Write a feed of properties, each field of which the title changes."""
    lines = ["objectReferenceId,title,numberOfRooms,prices.rent.net"]
    for n in range(count):
        lines.append(f"{prefix}-{n},{title},{1 + n % 7 + len(title) % 2},{900 + n + len(title)}")
    path.write_text("\n".join(lines))
    return path


def as_in_production(folder: Path, url: str, redis: Redis, *, deadline: float) -> Installation:
    """Return an installation with the settings of production, of which nothing runs yet."""
    return Installation(
        folder,
        url,
        CELERY_BROKER_URL=redis.url,
        DJANGO_SETTINGS_MODULE="config.settings",
        CALL_DEADLINE=f"{deadline:g}",
        WEB_CONCURRENCY="2",
        ORDER_READS_A_MINUTE="6000",  # its pace is proved elsewhere
    )


def add_workspace(one: Installation, slug: str, sandbox: str) -> None:
    one.manage("add_workspace", slug, "--base-url", sandbox, "--token-env", "PLATFORM_TOKEN")


def place(one: Installation, url: str, steps: Steps, slug: str, reference: str) -> None:
    """Place an order for a property as soon as the platform has it."""
    query = f"select 1 from properties_property where object_reference_id = '{reference}'"
    there = f"{query} and platform_id is not null"
    steps.until(f"{reference} is there", lambda: len(ask(url, there)), 1, limit=60)
    words = ("--user", "AGENT-1", "--product", "GROUND_PHOTO", "--product", "FLOOR_PLAN")
    one.manage("place_order", slug, "--reference", reference, *words)


def play(name: str, folder: Path, scene: Callable[[Result], None]) -> bool:
    """Run a scene, print what it came to, and tell whether all of it held."""
    began, result = time.monotonic(), Result()
    try:
        scene(result)
    except (AssertionError, psycopg.Error, requests.RequestException) as error:
        result.wrong.append(f"{type(error).__name__}: {error}")  # with what was measured before
    print(name, *(one.line() for one in result.figures), sep="\n", flush=True)
    return result.conclude(name, folder, time.monotonic() - began)

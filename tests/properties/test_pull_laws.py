"""Nothing is called gone by mistake, however the list shifts and whatever its envelope says (I28).

Each storm is drawn from a seed that is printed when it fails: `STORM_SEED=… pytest -m chaos` runs
the same one again.
"""

import json
import os
import random
from dataclasses import dataclass, field

import pytest

from crm_sync.platform import transport
from properties.models import Property, Walk
from properties.pull.walk import pull
from tests.conftest import PLATFORM
from tests.wsgi import WsgiAdapter

LIST = "/v1/real-estate-properties"


@dataclass
class Storm:
    """A platform whose people add and remove properties between any two calls, and that lies."""

    box: object
    rng: random.Random
    changes: int  # at most, before each page
    number: int = 0
    removed: set[str] = field(default_factory=set)
    is_quiet: bool = False

    def __post_init__(self):
        self.box.workspace.properties.clear()
        transport.MOUNTS[PLATFORM] = WsgiAdapter(self)

    def add(self) -> None:
        """Add a property at any place of the list."""
        self.number += 1
        key, reference = f"9{self.number:05}", f"P-{self.number}"
        stored = self.box.workspace.properties
        others = list(stored.items())
        new = (key, {"id": key, "objectReferenceId": reference, "title": f"House {key}"})
        others.insert(self.rng.randint(0, len(others)), new)
        stored.clear()
        for one, document in others:
            stored[one] = document

    def remove(self) -> None:
        stored = self.box.workspace.properties
        if stored:
            self.removed.add(stored.pop(self.rng.choice(list(stored)))["objectReferenceId"])

    def __call__(self, environ, start_response):
        is_list = environ["PATH_INFO"] == LIST
        if not self.is_quiet:
            for _ in range(self.rng.randint(0, self.changes) if is_list else 0):
                self.rng.choice((self.add, self.remove))()
            if not is_list and self.rng.random() < 0.01:
                self.remove()
        if self.is_quiet or not is_list:
            return self.box(environ, start_response)
        content = b"".join(self.box(environ, lambda *_: None))
        page = json.loads(content) | {"totalElements": self.rng.randint(0, 2 * self.number)}
        page["last"] = self.rng.choice((page["last"],) * 8 + (True, False))
        if self.rng.random() < 0.1:
            del page["last"]
        body = json.dumps(page).encode()
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        start_response("200 OK", headers)
        return [body]

    @property
    def references(self) -> set[str]:
        return {one["objectReferenceId"] for one in self.box.workspace.properties.values()}


def weather(box, workspace, drain_all, *, seed: int, stock: int, size: int, walks: int) -> None:
    """Let a storm pass over a mirrored stock, then look at what is left once it is quiet."""
    print(f"STORM_SEED={seed}")
    storm = Storm(box, random.Random(seed), changes=size // 5)
    for _ in range(stock):
        storm.add()
    storm.is_quiet = True
    list(pull(workspace, size=size))
    drain_all()
    known = storm.references
    assert set(Property.objects.values_list("object_reference_id", flat=True)) == known
    storm.is_quiet = False
    missed = 0
    for _ in range(walks):
        missed += list(pull(workspace, size=size))[-1].missing
        drain_all()
        assert gone() & storm.references == set()
    assert storm.removed
    assert missed > len(storm.removed & known)  # pages did hide properties that are there
    storm.is_quiet = True
    for _ in range(2):
        list(pull(workspace, size=size))
        drain_all()
    mirrored = Property.objects.exclude(problem__has_key="GONE")
    assert set(mirrored.values_list("object_reference_id", flat=True)) == storm.references
    assert gone() <= storm.removed
    assert known & storm.removed <= gone()
    assert not Walk.objects.filter(finished_at=None).exists()
    assert not [call for call in box.calls if call[0] not in ("GET", "PUT")]


def gone() -> set[str]:
    found = Property.objects.filter(problem__has_key="GONE")
    return set(found.values_list("object_reference_id", flat=True))


@pytest.mark.rule("I28")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_shifting_list_that_lies_makes_nothing_gone_that_is_there(
    box, workspace, drain_all, seed
):
    weather(box, workspace, drain_all, seed=seed, stock=60, size=10, walks=4)


@pytest.mark.chaos
def test_a_storm_over_two_thousand_properties_makes_nothing_gone_that_is_there(
    box, workspace, drain_all
):
    seed = int(os.environ.get("STORM_SEED") or random.randrange(1_000_000))
    weather(box, workspace, drain_all, seed=seed, stock=2000, size=100, walks=4)

"""Creations whose calls come late, or never, or are not answered (I8)."""

import random
from collections import Counter
from datetime import timedelta

import pytest

from properties.domain.editing import create
from properties.models import Property
from properties.push.plan import CREATE_WAIT
from tests.platforms import Canned, Environ
from tests.properties.virtual import World
from tests.properties.workers import Killed
from tests.sizes import figures, seed_of, times

COUNT = times("CREATES", 150)
LATE = (20.0, 90.0)  # seconds


@pytest.mark.rule("I8")
def test_each_property_is_created_once_whatever_becomes_of_its_creation(world: World):
    rng = random.Random(seed_of("creations"))
    befell: Counter[str] = Counter()

    def meets(environ: Environ) -> Canned | None:
        if environ["REQUEST_METHOD"] != "POST":
            return None
        dice = rng.random()
        what = fate(dice)
        befell[what] += 1
        match what:
            case "late" | "killed, late":
                delay = timedelta(seconds=rng.uniform(*LATE))
                world.late(environ, delay, dies=what != "late")
            case "never":
                raise TimeoutError
            case "killed ahead":
                raise Killed
        environ["test.fate"] = what
        return None

    def ends(environ: Environ) -> None:
        match environ.get("test.fate"):
            case "unanswered":
                raise TimeoutError
            case "killed after":
                raise Killed

    world.meets, world.ends = meets, ends
    for n in range(COUNT):
        create(world.workspace, f"C-{n}", {"title": f"House {n}"}, origin="FEED", now=world.now)
    assert LATE[1] < CREATE_WAIT.total_seconds()
    world.run(4 * 3600)
    references = Counter(p["objectReferenceId"] for p in world.box.workspace.properties.values())
    figures("creations", creates=COUNT, **befell)
    assert references == Counter(f"C-{n}" for n in range(COUNT))
    ids = {p["objectReferenceId"]: p["id"] for p in world.box.workspace.properties.values()}
    for row in Property.objects.all():
        assert (row.platform_id, row.due_at) == (ids[row.object_reference_id], None)
        assert (row.create_sent_at, row.inflight, row.problem) == (None, {}, {})
    assert {
        "late",
        "never",
        "unanswered",
        "killed ahead",
        "killed after",
        "killed, late",
    } <= befell.keys()


def fate(dice: float) -> str:
    """Ten percent late, ten without an answer, five lost, twenty workers killed."""
    for chance, what in (
        (0.10, "late"),
        (0.20, "unanswered"),
        (0.25, "never"),
        (0.30, "killed ahead"),
        (0.35, "killed after"),
        (0.45, "killed, late"),
    ):
        if dice < chance:
            return what
    return "answered"

"""One property that can never be pushed, and one that is never found, among many others (I10)."""

from datetime import datetime

import pytest

from properties.domain.editing import create, edit
from properties.models import Property
from tests.platforms import Canned, Environ
from tests.properties.virtual import World, refuses
from tests.sizes import figures, times

KEYS = 40
ROUNDS = times("POISON_ROUNDS", 3)
HOUR = 3600.0
REFUSED, MISSING = "P-7", "P-23"
NO = b'{"errors": [{"field": "title", "message": "not this one"}]}'


def poisonous(environ: Environ) -> Canned | None:
    reference = environ["PATH_INFO"].rpartition("/")[2]
    if reference == REFUSED and environ["REQUEST_METHOD"] == "PATCH":
        return refuses("400 Bad Request", NO)
    if reference in (MISSING, Property.objects.get(object_reference_id=MISSING).platform_id):
        return refuses("404 Not Found")
    return None


def rows() -> dict[str, Property]:
    return {row.object_reference_id: row for row in Property.objects.all()}


def make(world: World) -> None:
    for n in range(KEYS):
        create(world.workspace, f"P-{n}", {"title": "House"}, origin="API", now=world.now)
    world.run(60)
    world.calls.clear()


def edit_all(world: World, number: int) -> list[float]:
    """Edit each; the seconds until it was on the platform, of those that got there."""
    began = world.now
    for row in rows().values():
        edit(row, {"title": f"House {number}"}, origin="API", now=world.now)
    world.run(60)
    arrived: dict[str, datetime] = {
        call.reference: call.at for call in world.calls if call.method == "PATCH"
    }
    healthy = {reference: at for reference, at in arrived.items() if at >= began}
    return [
        (at - began).total_seconds()
        for reference, at in sorted(healthy.items())
        if reference not in (REFUSED, MISSING)
    ]


@pytest.mark.rule("I10")
def test_what_cannot_be_pushed_holds_nothing_else_up_and_is_not_tried_again(world: World):
    make(world)
    calm = [wait for n in range(ROUNDS) for wait in edit_all(world, n)]
    world.meets = poisonous
    waits = edit_all(world, 100)
    assert len(waits) == KEYS - 2
    # Nothing is tried again for as long as nobody edits it.
    tried = len(world.calls)
    world.run(HOUR)
    assert world.calls[tried:] == []
    refused, missing = rows()[REFUSED], rows()[MISSING]
    assert refused.problem == {"REFUSED": {"title": "not this one"}}
    assert (list(missing.problem), missing.due_at, refused.due_at) == (["GONE"], None, None)
    # The others are as fast as ever, round after round.
    waits += [wait for n in range(ROUNDS) for wait in edit_all(world, 200 + n)]
    p99, calm_p99 = sorted(waits)[int(0.99 * len(waits))], sorted(calm)[int(0.99 * len(calm))]
    figures("poison", rounds=ROUNDS, p99_s=round(p99, 2), p99_without_s=round(calm_p99, 2))
    assert p99 <= 1.1 * calm_p99
    there = {p["objectReferenceId"]: p["title"] for p in world.box.workspace.properties.values()}
    assert {there[f"P-{n}"] for n in range(KEYS) if f"P-{n}" not in (REFUSED, MISSING)} == {
        f"House {200 + ROUNDS - 1}"
    }


def test_a_field_that_was_refused_is_tried_once_more_when_somebody_edits_it(world: World):
    make(world)
    world.meets = poisonous
    edit_all(world, 1)
    world.calls.clear()
    edit(rows()[REFUSED], {"title": "Another"}, origin="ADMIN", now=world.now)
    world.run(HOUR)
    assert [(c.method, c.reference) for c in world.calls] == [("GET", REFUSED), ("PATCH", REFUSED)]
    world.meets = lambda _: None
    edit(rows()[REFUSED], {"title": "A third"}, origin="ADMIN", now=world.now)
    world.run(60)
    assert rows()[REFUSED].problem == {}


def test_a_reference_that_is_taken_and_never_found_is_asked_for_less_and_less(world: World):
    def contradicts(environ: Environ) -> Canned:
        is_read = environ["REQUEST_METHOD"] == "GET"
        return refuses("404 Not Found") if is_read else refuses("409 Conflict")

    world.meets = contradicts
    create(world.workspace, "P-1", {"title": "House"}, origin="API", now=world.now)
    world.run(HOUR)
    assert 4 <= len(world.calls) < 100
    world.meets = lambda _: None
    world.run(HOUR)
    assert rows()["P-1"].due_at is None
    assert len(world.box.workspace.properties) == 1

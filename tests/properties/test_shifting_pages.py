"""A walk over pages that shift and lie: nothing that is there is ever called gone (I28)."""

import json
import random
from typing import Any

from properties.models import Property
from properties.pull.walk import pull
from tests.conftest import PLATFORM
from tests.platforms import Between, Canned, Environ
from tests.sizes import figures, seed_of, times

COUNT = times("PAGED", 60)
WALKS = 4
LIST = "/v1/real-estate-properties"


def test_only_what_is_not_there_by_its_own_read_is_gone(box, workspace, drain_all):
    rng = random.Random(seed_of("pages"))
    there = box.workspace.properties
    there.clear()
    number = 0

    def add() -> None:
        nonlocal number
        number += 1
        key = str(rng.randrange(10**9))
        there[key] = {"id": key, "objectReferenceId": f"S-{number}", "title": "House"}

    def shift_and_lie(environ: Environ) -> Canned | None:
        """Add and remove around each page; its end and its total are sometimes wrong."""
        if environ["PATH_INFO"] != LIST:
            return None
        for _ in range(rng.randrange(4)):
            add()
            del there[rng.choice(list(there))]
        answer: list[Any] = []
        body = json.loads(b"".join(box(environ, lambda *begun: answer.extend(begun))))
        if rng.random() < 0.05:
            body["last"] = not body["last"]
        body["totalElements"] = rng.randrange(2 * COUNT)
        return answer[0], [("Content-Type", "application/json")], json.dumps(body).encode()

    for _ in range(COUNT):
        add()
    between = Between(box, PLATFORM)
    between.before = shift_and_lie
    for _ in range(WALKS):
        for _walk in pull(workspace, size=max(10, COUNT // 20)):
            pass
        drain_rest(drain_all)
        for row in Property.objects.all():
            gone = "GONE" in row.problem
            # Gone, or removed since and not asked for again yet.
            assert not gone or row.object_reference_id not in references(there)
    between.before = lambda _: None
    for _walk in pull(workspace, size=100):
        pass
    drain_rest(drain_all)
    known = {row.object_reference_id: "GONE" in row.problem for row in Property.objects.all()}
    figures("pages", properties=COUNT, known=len(known), gone=sum(known.values()))
    assert {name for name, gone in known.items() if not gone} == references(there)
    assert sum(known.values()) > 0


def drain_rest(drain_all) -> None:
    drain_all()
    assert not Property.objects.exclude(due_at=None).exists()


def references(there: dict[str, dict[str, Any]]) -> set[str]:
    return {one["objectReferenceId"] for one in there.values()}

"""No shape of an answer stops the doctor: it exists for the answers that nobody expected."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from django.utils import timezone

from crm_sync import hooks
from crm_sync.doctor import assumptions, connection
from crm_sync.hooks import Finding, Verdict
from orders.plugged import doctor as of_orders
from properties.plugged import doctor as of_properties
from tests.conftest import PLATFORM
from tests.journeys.test_kinds import placed
from tests.platforms import Between

GONE = "it is left out"
HALF = "\ud800"  # of a surrogate pair: it can be neither sent nor printed
SHAPES = [GONE, None, 5, True, "", "text", [], [1, None, "x", [1]], {}, {"x": {"y": [1]}}, HALF]
MEMBERS = 10  # of an object that are changed, one after the other
ASSUMED = {**assumptions.ASSUMPTIONS, **of_properties.ASSUMPTIONS, **of_orders.ASSUMPTIONS}


@pytest.fixture
def delivered(box, workspace, drain_all):
    """An order of which there is all that the doctor looks at."""
    placed(workspace, drain_all)
    while box.step():
        box.deliver()
        drain_all()
    return workspace


def objects(value: Any) -> Iterator[dict]:
    """Yield the objects of a JSON document, the outer one first."""
    if isinstance(value, dict):
        yield value
    for one in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from objects(one)


def told(box, workspace, change: Callable[[Any], Any]) -> list[Finding]:
    """Let the doctor look at a platform whose answers are all changed."""

    def reword(_, answer):
        status, headers, body = answer
        document = json.dumps(change(json.loads(body))).encode() if body else body
        kept = [pair for pair in headers if pair[0].lower() != "content-length"]
        return status, kept, document

    Between(box, PLATFORM).reword = reword
    return list(connection.findings(workspace, timezone.now()))


def broken(found: list[Finding]) -> list[Finding]:
    """Return the checks that broke off, and those whose words cannot be printed."""
    return [one for one in found if "broke off" in one.found or HALF in one.found + one.remedy]


@pytest.mark.parametrize("shape", SHAPES[1:], ids=repr)
def test_an_answer_of_any_shape_breaks_no_check(box, delivered, shape):
    assert broken(told(box, delivered, lambda _: shape)) == []
    assert broken(told(box, delivered, lambda document: {"content": shape, "x": [shape]})) == []
    assert broken(told(box, delivered, lambda document: [{f"{shape}": shape}])) == []


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_a_member_of_any_shape_breaks_no_check(box, delivered, shape):
    def change(number: int, document: Any) -> Any:
        for one in list(objects(document))[:2]:
            for name in list(one)[number : number + 1]:
                if shape is GONE:
                    del one[name]
                else:
                    one[name] = shape
        return document

    for number in range(MEMBERS):
        found = told(box, delivered, partial(change, number))
        assert broken(found) == []
        names = {one.name for one in found}
        assert names >= ASSUMED.keys() or "the rest" in names


def test_an_order_that_is_told_by_another_name_is_a_finding(box, delivered):
    def change(document: Any) -> Any:
        for one in objects(document):
            if "assignments" in one:
                one["orderId"] = one.pop("id")
                one["assignments"] = ["SA1"]
        return document

    found = {one.name: one for one in told(box, delivered, change)}
    assert found["A43"].verdict == Verdict.WARNING
    assert found["A43"].found.endswith("the platform's has no `id`.")
    assert found["A35"].verdict == Verdict.WARNING


def test_a_check_that_breaks_off_is_one_finding_and_the_others_go_on(box, workspace):
    def breaks(_, live):
        yield Finding("begun", Verdict.OK, "It is well.")
        raise KeyError("id")

    def refuses(_, live):
        raise AttributeError("no such thing")

    def fine(_, live):
        return [Finding("last", Verdict.OK, "It is well.")]

    with hooks.replaced(live_checks=(breaks, refuses, fine)):
        found = list(connection.findings(workspace, timezone.now()))
    mine = [one for one in found if one.name in ("begun", "last") or "broke off" in one.found]
    assert [(one.name, one.verdict) for one in mine] == [
        ("begun", Verdict.OK),
        ("checks of tests.crm_sync.test_doctor_deviations", Verdict.FAILED),
        ("checks of tests.crm_sync.test_doctor_deviations", Verdict.FAILED),
        ("last", Verdict.OK),
    ]
    assert "KeyError: 'id'" in mine[1].found

"""What is stuck for the same reason has the same kind and the same cause."""

import json

import pytest

from crm_sync.inbox.failure_groups import ERROR, LENGTH, OTHER, WORDS, place_of, worded
from crm_sync.platform.events import Fault, NotUnderstood, parse, read_moment

STATUS = {"event": "ORDER_STATUS_UPDATED", "occurredAt": "2026-01-31T10:00:00Z", "orderId": "1"}
STATUS |= {"previousStatus": "PLACED", "newStatus": "IN_PROGRESS"}


def why(body):
    with pytest.raises(NotUnderstood) as caught:
        parse(body if isinstance(body, bytes) else json.dumps(body).encode())
    return caught.value.fault, caught.value.about


@pytest.mark.parametrize(
    ("bodies", "fault", "about", "sentence"),
    [
        ([b"", b"{\n\n", b"x"], Fault.NOT_JSON, "", "It is not JSON."),
        ([b"\xff\xfe\xff"], Fault.NOT_UTF8, "", "It is not JSON: the bytes are not UTF-8."),
        ([[], [1]], Fault.NOT_AN_OBJECT, "array", "It is a JSON array, not an object."),
        ([b"[" * 9_999], Fault.TOO_DEEP, "", "Its JSON is nested too deeply."),
        (
            [{"event": "ORDER_ARCHIVED"}, {"event": "ORDER_ARCHIVED", "n": 2}],
            *(Fault.UNKNOWN_EVENT, "ORDER_ARCHIVED", "The event ORDER_ARCHIVED is unknown."),
        ),
        (
            [{}, {"event": 7}, {"event": "x" * 300}, {"event": "<b>'7'</b>"}],
            *(Fault.UNKNOWN_EVENT, "", "The event has no name that we can read."),
        ),
        (
            [STATUS | {"newStatus": ""}, STATUS | {"newStatus": None, "orderId": "2"}],
            Fault.MISSING,
            "ORDER_STATUS_UPDATED newStatus",
            "A required field is missing: ORDER_STATUS_UPDATED newStatus.",
        ),
        (
            [STATUS | {"orderId": "5" * 300}, STATUS | {"orderId": "6" * 256}],
            *(Fault.TOO_LONG, "orderId", "orderId is too long."),
        ),
        (
            [STATUS | {"orderId": ["5"]}, STATUS | {"orderId": {}}],
            *(Fault.NOT_A_TEXT, "orderId", "orderId is not a text."),
        ),
        (
            [STATUS | {"occurredAt": "soon's"}, STATUS | {"occurredAt": ""}],
            *(Fault.NOT_A_TIMESTAMP, "occurredAt", "occurredAt is not a timestamp."),
        ),
    ],
)
def test_one_cause_for_all_that_have_the_same_trouble(bodies, fault, about, sentence):
    assert {why(body) for body in bodies} == {(fault, about)}
    assert worded(fault, about) == sentence


def test_an_error_of_ours_is_about_its_class_and_our_function():
    def failed(value):
        try:
            read_moment("occurredAt", value)
        except NotUnderstood as error:
            return place_of(error)

    assert {failed("x"), failed("another value")} == {
        "NotUnderstood in crm_sync.platform.events.read_moment"
    }
    assert place_of(KeyError("order 5000")) == "KeyError"
    assert len(place_of(type("E" * 300, (Exception,), {})())) == LENGTH


def test_every_kind_has_a_sentence_and_an_older_text_stays_as_it_is():
    assert WORDS.keys() >= set(Fault)
    for kind in WORDS.keys() - {OTHER}:
        assert worded(kind, "{name}").endswith(".")
    assert worded(OTHER, "KeyError: '…'") == "KeyError: '…'"
    assert worded("", "") == ""
    assert worded(ERROR, "KeyError") == "An error of ours: KeyError."


def test_a_kind_of_another_version_is_shown_as_it_is():
    assert worded("TOO_OLD", "orderId") == "TOO_OLD: orderId"
    assert worded("TOO_OLD", "") == "TOO_OLD"

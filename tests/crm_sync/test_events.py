"""The seven events of §6.3 from raw bytes, and everything else that bytes can be (I17)."""

import json
from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings, strategies as st

from crm_sync.platform.events import (
    REQUIRED,
    UNDATED,
    Event,
    NotUnderstood,
    canonical_digest,
    parse,
)

AT = "2026-03-01T10:00:00Z"
PAYLOADS: dict[str, dict[str, object]] = {
    "VISUALS_READY": {
        "event": "VISUALS_READY",
        "timestamp": AT,
        "orderId": "12",
        "assignmentId": "34",
        "visualType": "POST",
        "product": "GROUND_PHOTO",
    },
    "PHOTOGRAPHER_BOOKED": {
        "event": "PHOTOGRAPHER_BOOKED",
        "timestamp": AT,
        "orderId": "12",
        "photographerId": "51",
    },
    "ORDER_STATUS_UPDATED": {
        "event": "ORDER_STATUS_UPDATED",
        "occurredAt": AT,
        "orderId": "12",
        "previousStatus": "PLACED",
        "newStatus": "IN_PROGRESS",
    },
    "ASSIGNMENT_STATUS_UPDATED": {
        "event": "ASSIGNMENT_STATUS_UPDATED",
        "occurredAt": AT,
        "orderId": "12",
        "assignmentId": "34",
        "previousStatus": "CREATED",
        "newStatus": "SCHEDULED",
    },
    "APPOINTMENT_DATE_UPDATED": {
        "event": "APPOINTMENT_DATE_UPDATED",
        "occurredAt": AT,
        "orderId": "12",
        "assignmentId": "34",
        "scheduledAt": "2026-03-05T09:00:00+01:00",
    },
    "ESTIMATED_DELIVERY_UPDATED": {
        "event": "ESTIMATED_DELIVERY_UPDATED",
        "occurredAt": AT,
        "orderId": "12",
        "assignmentId": "34",
        "estimatedDeliveryAt": "2026-03-07",
    },
    "MARKETING_MATERIALS_READY": {
        "event": "MARKETING_MATERIALS_READY",
        "timestamp": AT,
        "propertyId": "201",
        "targetPlatform": "INSTAGRAM",
    },
}
NEEDED = [(kind, name) for kind, fields in PAYLOADS.items() for name in fields if name != "event"]
BOOKED = PAYLOADS["PHOTOGRAPHER_BOOKED"]
ASSIGNED = PAYLOADS["ASSIGNMENT_STATUS_UPDATED"]
APPOINTED = PAYLOADS["APPOINTMENT_DATE_UPDATED"]


def read(payload: object) -> Event:
    return parse(json.dumps(payload).encode())


def reason(payload: object) -> str:
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    with pytest.raises(NotUnderstood) as caught:
        parse(body)
    return str(caught.value)


def test_there_are_seven_events():
    assert set(REQUIRED) == set(PAYLOADS)


@pytest.mark.rule("2.3 all", "6.1 rule 6", "6.3 ASSIGNMENT_STATUS_UPDATED event")
@pytest.mark.parametrize("kind", PAYLOADS)
def test_each_event_is_understood_with_its_required_fields_alone(kind):
    event = read(PAYLOADS[kind])
    assert (event.kind, event.at) == (kind, datetime(2026, 3, 1, 10, tzinfo=UTC))
    assert event.fields == PAYLOADS[kind]


@pytest.mark.rule(
    "6.3 VISUALS_READY timestamp; VISUALS_READY orderId; VISUALS_READY assignmentId",
    "6.3 VISUALS_READY visualType; VISUALS_READY product; PHOTOGRAPHER_BOOKED",
    "6.3 ORDER_STATUS_UPDATED; ASSIGNMENT_STATUS_UPDATED occurredAt",
    "6.3 ASSIGNMENT_STATUS_UPDATED orderId; ASSIGNMENT_STATUS_UPDATED assignmentId",
    "6.3 ASSIGNMENT_STATUS_UPDATED previousStatus; ASSIGNMENT_STATUS_UPDATED newStatus",
    "6.3 APPOINTMENT_DATE_UPDATED; ESTIMATED_DELIVERY_UPDATED; MARKETING_MATERIALS_READY",
)
@pytest.mark.parametrize(("kind", "name"), NEEDED)
def test_without_a_required_field_an_event_is_not_understood_and_the_field_named(kind, name):
    payload = {key: value for key, value in PAYLOADS[kind].items() if key != name}
    assert reason(payload) == f"{kind} without {name}"


@pytest.mark.rule("2 optional", "6.3 APPOINTMENT_DATE_UPDATED")
@pytest.mark.parametrize(("kind", "name"), NEEDED)
def test_null_is_allowed_for_a_cleared_appointment_alone(kind, name):
    payload = PAYLOADS[kind] | {name: None}
    if name == "scheduledAt":
        assert read(payload).moment("scheduledAt") is None
    else:
        assert reason(payload) == f"{kind} without {name}"


@pytest.mark.parametrize("name", [name for _, name in NEEDED if name.endswith("Id")][:3])
@pytest.mark.parametrize("value", [{}, [], {"a": 1}, [[1]]])
def test_an_id_that_is_an_object_or_a_list_is_not_understood(name, value):
    assert reason(PAYLOADS["VISUALS_READY"] | {name: value}) == f"{name} is not a text: {value!r}"


@pytest.mark.parametrize("value", [True, False])
def test_a_truth_is_no_id(value):
    """A number is one (A7)."""
    told = reason(PAYLOADS["VISUALS_READY"] | {"orderId": value})
    assert told == f"orderId is not a text: {value}"


@pytest.mark.parametrize(("kind", "name"), NEEDED)
def test_a_required_field_that_is_empty_is_as_one_that_is_missing(kind, name):
    if name in ("timestamp", "occurredAt", "scheduledAt", "estimatedDeliveryAt"):
        assert reason(PAYLOADS[kind] | {name: ""}).startswith(f"{name} is not a ")
    elif name == "previousStatus":
        assert read(PAYLOADS[kind] | {name: ""}).text(name) == ""
    else:
        for empty in ("", " ", "\0", "\ud800"):
            assert reason(PAYLOADS[kind] | {name: empty}) == f"{kind} without {name}"


@pytest.mark.parametrize(("kind", "name"), [one for one in NEEDED if one[1].endswith("Id")])
def test_an_id_that_is_longer_than_255_characters_is_refused_and_not_cut(kind, name):
    assert read(PAYLOADS[kind] | {name: "7" * 255}).text(name) == "7" * 255
    told = f"{name} is longer than 255 characters: {'7' * 40}…"
    assert reason(PAYLOADS[kind] | {name: "7" * 256}) == told


def test_an_id_that_may_be_left_out_is_refused_where_it_is_too_long():
    assert reason(BOOKED | {"assignmentId": "7" * 256}).startswith("assignmentId is longer than")
    assert read(BOOKED | {"assignmentId": ""}).text("assignmentId") == ""


def test_an_object_where_a_text_may_stand_is_no_text():
    told = read(ASSIGNED | {"assignmentType": {"name": "PHOTO"}, "actionRequired": ["X"]})
    assert (told.text("assignmentType"), told.text("actionRequired")) == ("", "")
    assert read(ASSIGNED | {"assignmentType": True}).text("assignmentType") == "true"


@pytest.mark.parametrize("clock", ["occurredAt", "timestamp"])
def test_an_event_of_another_kind_is_one_where_it_names_its_order(clock):
    moment = "2026-03-01T10:00:00Z"
    event = read({"event": "ORDER_NOTE_ADDED", "orderId": 12, clock: moment, "scheduledAt": "soon"})
    assert (event.kind, event.is_known, event.text("orderId")) == ("ORDER_NOTE_ADDED", False, "12")
    assert event.at == datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert read({"event": "NEW", "orderId": "12", "occurredAt": "soon"}).at == UNDATED


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"orderId": ""}, "unknown event NEW"),
        ({"orderId": {"id": "12"}}, "unknown event NEW"),
        ({"orderId": "7" * 256}, "orderId is longer than 255 characters: " + "7" * 40 + "…"),
    ],
)
def test_an_event_of_another_kind_that_names_no_order_says_why(fields, text):
    assert reason({"event": "NEW", "occurredAt": "2026-03-01T10:00:00Z"} | fields) == text


@pytest.mark.rule("2 optional", "6.3 ASSIGNMENT_STATUS_UPDATED estimatedDeliveryAt")
def test_optional_fields_are_read_and_unknown_ones_kept():
    event = read(
        ASSIGNED
        | {
            "assignmentType": "PHOTO",
            "scheduledAt": "2026-03-05T09:00:00",
            "estimatedDeliveryAt": "2026-03-07",
            "actionRequired": "DOCUMENT_UPLOAD_REQUIRED",
            "somethingNew": {"a": [1]},
        }
    )
    assert event.moment("scheduledAt") == datetime(2026, 3, 5, 9, tzinfo=UTC)
    assert event.day("estimatedDeliveryAt") == date(2026, 3, 7)
    assert (event.text("assignmentType"), event.text("actionRequired")) == (
        "PHOTO",
        "DOCUMENT_UPLOAD_REQUIRED",
    )
    assert event.fields["somethingNew"] == {"a": [1]}
    assert (event.text("absent"), event.moment("absent"), event.day("absent")) == ("", None, None)


@pytest.mark.rule("2 ids")
def test_a_numeric_id_is_the_same_as_its_text():
    assert read(BOOKED | {"orderId": 12}).text("orderId") == "12"


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-03-01T10:00:00Z", datetime(2026, 3, 1, 10, tzinfo=UTC)),
        ("2026-03-01T10:00:00", datetime(2026, 3, 1, 10, tzinfo=UTC)),
        ("2026-03-01T10:00:00.123456+02:00", datetime(2026, 3, 1, 8, 0, 0, 123456, tzinfo=UTC)),
        ("2026-03-01T10:00:00-05:30", datetime(2026, 3, 1, 15, 30, tzinfo=UTC)),
        ("2026-03-29T02:30:00+01:00", datetime(2026, 3, 29, 1, 30, tzinfo=UTC)),
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
    ],
)
def test_a_timestamp_is_read_with_its_offset_and_as_utc_without(text, moment):
    assert read(BOOKED | {"timestamp": text}).at == moment
    assert read(APPOINTED | {"scheduledAt": text}).moment("scheduledAt") == moment


@pytest.mark.parametrize(
    "value", ["", "soon", "10:00", 7, True, 1e300, "2026-02-30T00:00:00Z", "0001-01-01T00:00+14:00"]
)
def test_an_unreadable_timestamp_is_not_understood_and_named(value):
    assert reason(BOOKED | {"timestamp": value}) == f"timestamp is not a timestamp: {value!r}"
    assert reason(ASSIGNED | {"scheduledAt": value}) == f"scheduledAt is not a timestamp: {value!r}"


@pytest.mark.rule("6.3 ESTIMATED_DELIVERY_UPDATED")
def test_an_unreadable_date_is_not_understood_and_named():
    payload = PAYLOADS["ESTIMATED_DELIVERY_UPDATED"] | {"estimatedDeliveryAt": "soon"}
    assert reason(payload) == "estimatedDeliveryAt is not a date: 'soon'"


@pytest.mark.rule("6.3 VISUALS_READY event")
@pytest.mark.parametrize(
    ("payload", "text"),
    [
        ({"event": "ORDER_ARCHIVED"}, "unknown event ORDER_ARCHIVED"),
        ({"event": None}, "unknown event None"),
        ({"event": ["VISUALS_READY"]}, "unknown event ['VISUALS_READY']"),
        ({"event": "a\0\ud800"}, "unknown event 'a\\x00\\ud800'"),
        ({}, "unknown event None"),
        ([], "a JSON array where an object belongs"),
        (7, "a JSON number where an object belongs"),
        (None, "a JSON null where an object belongs"),
    ],
)
def test_what_is_no_event_says_why(payload, text):
    assert reason(payload) == text


def test_the_digest_does_not_depend_on_how_the_json_was_written():
    one = json.dumps(BOOKED, indent=4).encode()
    other = json.dumps(dict(reversed(BOOKED.items())), separators=(",", ":")).encode()
    escaped = one.replace(b"BOOKED", b"\\u0042OOKED")
    assert len({one, other, escaped}) == 3
    assert len({parse(body).digest for body in (one, other, escaped)}) == 1
    assert read(BOOKED).digest == canonical_digest(BOOKED)
    assert read(BOOKED | {"orderId": "13"}).digest != read(BOOKED).digest
    assert read(BOOKED | {"orderId": 12}).digest != read(BOOKED).digest


NESTED = [
    b"[" * 200_000,
    b'{"a":' * 200_000,
    *[b'{"event": ' + b"[" * n + b"]" * n + b"}" for n in (99, 100, 400, *range(900, 1000, 5))],
]


@pytest.mark.parametrize("body", NESTED, ids=lambda body: f"{len(body)} bytes")
def test_deep_nesting_is_not_understood(body):
    reason(body)


@pytest.mark.parametrize("depth", [101, 300, *range(880, 1000, 4)])
def test_a_deeply_nested_member_is_not_understood_wherever_it_stands(depth):
    text = "[" * depth + "]" * depth
    for name in ("orderId", "timestamp", "extra"):
        body = json.dumps(BOOKED | {name: "HERE"}).replace('"HERE"', text).encode()
        assert reason(body) == "the JSON is nested too deeply"


def test_odd_numbers_texts_and_keys_are_read_or_not_understood():
    text = json.dumps(BOOKED)
    assert reason(text.replace('"12"', "9" * 5_000).encode()) == (
        "not JSON: it holds a number that is too long"
    )
    assert parse(text.replace('"12"', "9" * 255).encode()).text("orderId") == "9" * 255
    assert parse(text.replace('"12"', "NaN").encode()).text("orderId") == "nan"
    assert parse(text.replace('"12"', "-Infinity").encode()).text("orderId") == "-inf"
    assert parse(text.replace("12", "1\\u00002").encode()).text("orderId") == "1\x002"
    assert parse(text.replace("12", "1\\ud800").encode()).text("orderId") == "1\ud800"
    twice = text.replace('"orderId"', '"orderId": "11", "orderId"').encode()
    assert parse(twice).text("orderId") == "12"  # the last one counts, as in every JSON reader
    assert parse(text.encode("utf-16")).text("orderId") == "12"
    assert parse(b"\xef\xbb\xbf" + text.encode()).text("orderId") == "12"


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=5), v, max_size=3),
    max_leaves=5,
)


def outcome(body: bytes) -> Event | str:
    """Return the event, or why it is none: a short text."""
    try:
        return parse(body)
    except NotUnderstood as error:
        text = str(error)
    return text if 0 < len(text) <= 200 else pytest.fail(f"{len(text)} characters: {text}")


@pytest.mark.rule("I17")
@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_an_event_or_not_understood(body):
    assert isinstance(outcome(body), Event | str)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(sorted(PAYLOADS)),
    st.dictionaries(
        st.sampled_from([name for _, name in NEEDED] + ["assignmentType", "scheduledAt"]), values
    ),
)
def test_an_event_with_arbitrary_members_is_an_event_or_not_understood(kind, members):
    found = outcome(json.dumps(PAYLOADS[kind] | members).encode())
    if isinstance(found, Event):
        assert (found.kind, found.at.tzinfo, len(found.digest)) == (kind, UTC, 64)
        assert isinstance(found.text("orderId"), str)

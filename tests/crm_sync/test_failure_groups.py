"""What is stuck for the same reason is named in the same words."""

import pytest

from crm_sync.inbox.failure_groups import LENGTH, cause_of


@pytest.mark.parametrize(
    ("effects", "cause"),
    [
        (
            ["ValueError: order 5000 has no 'x'", "ValueError: order 71 has no 'long name'"],
            "ValueError: order … has no '…'",
        ),
        (["unknown event 'ORDER_ARCHIVED'"], "unknown event 'ORDER_ARCHIVED'"),
        (
            [
                "dated 26,338 days ahead of our clock: applied at 2098-12-31 23:50:00 UTC",
                "dated 12 days ahead of our clock: applied at 2026-03-13 12:10:59 UTC",
            ],
            "dated … days ahead of our clock: applied at … … UTC",
        ),
        (
            [
                "not JSON: Expecting value: line 1 column 1 (char 0)",
                "not JSON: Expecting value: line 12 column 3 (char 99)",
            ],
            "not JSON: Expecting value: line … column … (char …)",
        ),
        (
            [
                "IntegrityError: 3f2b8a10-1111-4222-8333-444455556666 twice\nDETAIL: 1",
                "IntegrityError: 00000000000000000000000000000000 twice\nDETAIL: 2",
            ],
            "IntegrityError: … twice",
        ),
        (["occurredAt is not a timestamp: 'cut o"], "occurredAt is not a timestamp: '…'"),
        (["KeyError: 'its'", 'KeyError: "it\'s"'], "KeyError: '…'"),
        (["x" * 300], "x" * 200),
        ([""], ""),
    ],
)
def test_one_cause_for_all_that_have_the_same_trouble(effects, cause):
    assert {cause_of(effect) for effect in effects} == {cause}


def test_another_event_or_field_is_another_cause():
    effects = ["VISUALS_READY without product", "VISUALS_READY without orderId"]
    effects += ["unknown event 'A_NEW_ONE'", "unknown event 'ANOTHER_ONE'"]
    assert len({cause_of(effect) for effect in effects}) == 4


def test_a_cause_is_found_in_a_long_word_as_fast_as_in_a_short_one():
    # With a step for each pair of letters this takes hours.
    for letter in "a1'\"-":
        assert len(cause_of(letter * 1_000_000 + "g")) <= LENGTH

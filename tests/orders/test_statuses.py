"""Every row of the tables of §3, and what they do not list."""

import pytest

from orders.models import statuses
from orders.models.statuses import (
    DOCUMENT_TRANSITIONS,
    ORDER_TRANSITIONS,
    PHOTO_TRANSITIONS,
    AssignmentStatus,
    OrderStatus,
)

ORDER_ROWS = """
. PLACED
PLACED IN_PROGRESS
IN_PROGRESS COMPLETED
PLACED CANCELLED
IN_PROGRESS CANCELLED
"""
PHOTO_ROWS = """
. CREATED
CREATED PHOTOGRAPHER_ASSIGNED
PHOTOGRAPHER_ASSIGNED SCHEDULED
SCHEDULED IN_PRODUCTION
IN_PRODUCTION DELIVERED
PHOTOGRAPHER_ASSIGNED RESCHEDULE_IN_PROCESS
SCHEDULED RESCHEDULE_IN_PROCESS
RESCHEDULE_IN_PROCESS PHOTOGRAPHER_ASSIGNED
CREATED CANCELLED
PHOTOGRAPHER_ASSIGNED CANCELLED
SCHEDULED CANCELLED
IN_PRODUCTION CANCELLED
RESCHEDULE_IN_PROCESS CANCELLED
"""
DOCUMENT_ROWS = """
. CREATED
CREATED ACTION_REQUIRED
ACTION_REQUIRED CREATED
CREATED IN_PROCESS
IN_PROCESS DELIVERED
CREATED CANCELLED
ACTION_REQUIRED CANCELLED
IN_PROCESS CANCELLED
"""


def rows(text: str) -> set[tuple[str, str]]:
    pairs = [line.split() for line in text.split("\n") if line]
    return {("" if previous == "." else previous, new) for previous, new in pairs}


@pytest.mark.rule(
    "3.1 values; start; PLACED → IN_PROGRESS; IN_PROGRESS → COMPLETED; PLACED → CANCELLED",
    "3.1 IN_PROGRESS → CANCELLED",
    "3.2 values; photo start; CREATED → PHOTOGRAPHER_ASSIGNED",
    "3.2 PHOTOGRAPHER_ASSIGNED → SCHEDULED; SCHEDULED → IN_PRODUCTION",
    "3.2 IN_PRODUCTION → DELIVERED; PHOTOGRAPHER_ASSIGNED → RESCHEDULE_IN_PROCESS",
    "3.2 SCHEDULED → RESCHEDULE_IN_PROCESS; RESCHEDULE_IN_PROCESS → PHOTOGRAPHER_ASSIGNED",
    "3.2 any → CANCELLED; document start; CREATED → ACTION_REQUIRED",
    "3.2 ACTION_REQUIRED → CREATED; CREATED → IN_PROCESS; IN_PROCESS → DELIVERED",
)
@pytest.mark.parametrize(
    ("table", "text", "words"),
    [
        (ORDER_TRANSITIONS, ORDER_ROWS, OrderStatus),
        (PHOTO_TRANSITIONS, PHOTO_ROWS, AssignmentStatus),
        (DOCUMENT_TRANSITIONS, DOCUMENT_ROWS, AssignmentStatus),
    ],
)
def test_a_table_lists_exactly_the_rows_of_section_3(table, text, words):
    everything = ["", *words.values, "SOMETHING_NEW"]
    listed = {
        (previous, new)
        for previous in everything
        for new in everything
        if statuses.is_listed(previous, new, table)
    }
    assert listed == rows(text)


@pytest.mark.rule("3.2 terminal")
def test_no_move_leads_out_of_a_terminal_status():
    assert [s for s in statuses.ORDER_TERMINAL if s in ORDER_TRANSITIONS] == []
    both = (PHOTO_TRANSITIONS, DOCUMENT_TRANSITIONS)
    assert [s for s in statuses.ASSIGNMENT_TERMINAL for t in both if s in t] == []


@pytest.mark.rule("6.3 ASSIGNMENT_STATUS_UPDATED assignmentType")
@pytest.mark.parametrize(
    ("kind", "tables"),
    [
        ("DOCUMENT", (DOCUMENT_TRANSITIONS,)),
        ("PHOTO", (PHOTO_TRANSITIONS,)),
        ("SOMETHING_NEW", (PHOTO_TRANSITIONS,)),
        ("", (PHOTO_TRANSITIONS, DOCUMENT_TRANSITIONS)),
    ],
)
def test_only_document_products_follow_the_document_table(kind, tables):
    assert statuses.assignment_tables(kind) == tables


def test_a_read_may_skip_steps_but_not_go_back():
    assert statuses.is_reachable("PLACED", "COMPLETED", ORDER_TRANSITIONS)
    assert statuses.is_reachable("PLACED", "PLACED", ORDER_TRANSITIONS)
    assert statuses.is_reachable("SCHEDULED", "PHOTOGRAPHER_ASSIGNED", PHOTO_TRANSITIONS)
    assert not statuses.is_reachable("COMPLETED", "IN_PROGRESS", ORDER_TRANSITIONS)
    assert not statuses.is_reachable("IN_PRODUCTION", "SCHEDULED", PHOTO_TRANSITIONS)


@pytest.mark.rule("3.1 UNKNOWN", "3.2 UNKNOWN")
def test_an_unknown_status_is_shown_with_its_own_word():
    assert statuses.shown("IN_REVIEW", OrderStatus) == "Unknown (IN_REVIEW)"
    assert statuses.shown("UNKNOWN", OrderStatus) == "Unknown"
    assert statuses.shown("PLACED", OrderStatus) == "Placed"
    assert statuses.shown("", OrderStatus) == "Not known yet"

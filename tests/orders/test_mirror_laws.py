"""Order, repetition and replay of a history change nothing about the mirror (I22)."""

import json
from datetime import datetime
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.django import TestCase

from crm_sync.models import Workspace
from crm_sync.platform.events import parse
from orders.models import Assignment, MaterialSet, Order, StatusChange
from tests.orders.conftest import at, handled, mirror

STATUSES = [
    *("CREATED", "PHOTOGRAPHER_ASSIGNED", "SCHEDULED", "RESCHEDULE_IN_PROCESS", "DELIVERED"),
    *("ACTION_REQUIRED", "SOMETHING_NEW"),
]
MOMENTS = st.integers(0, 6).map(at)  # few, so that there are ties
OPTIONAL = st.fixed_dictionaries(
    {},
    optional={
        "scheduledAt": st.sampled_from([None, "2026-02-03T09:00:00Z", "2026-02-04T09:00:00Z"]),
        "estimatedDeliveryAt": st.sampled_from(["2026-02-05", "2026-02-06"]),
        "actionRequired": st.sampled_from(
            ["POWER_OF_ATTORNEY_REQUIRED", "DOCUMENT_UPLOAD_REQUIRED"]
        ),
        "assignmentType": st.just("PHOTO"),
    },
)


def _about(event: str, clock: str, **fields: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"event": st.just(event), clock: MOMENTS, "orderId": st.just("1"), **fields}
    )


ASSIGNMENT = st.sampled_from(["7", "8"])
MOVES = {"previousStatus": st.sampled_from(STATUSES), "newStatus": st.sampled_from(STATUSES)}
EVENTS = st.one_of(
    _about(
        "ORDER_STATUS_UPDATED",
        "occurredAt",
        previousStatus=st.sampled_from(["PLACED", "IN_PROGRESS"]),
        newStatus=st.sampled_from(["PLACED", "IN_PROGRESS", "COMPLETED", "CANCELLED"]),
    ),
    st.builds(
        dict.__or__,
        _about("ASSIGNMENT_STATUS_UPDATED", "occurredAt", assignmentId=ASSIGNMENT, **MOVES),
        OPTIONAL,
    ),
    _about(
        "APPOINTMENT_DATE_UPDATED",
        "occurredAt",
        assignmentId=ASSIGNMENT,
        scheduledAt=st.sampled_from([None, "2026-02-03T09:00:00Z", "2026-02-07T09:00:00Z"]),
    ),
    _about(
        "ESTIMATED_DELIVERY_UPDATED",
        "occurredAt",
        assignmentId=ASSIGNMENT,
        estimatedDeliveryAt=st.sampled_from(["2026-02-05", "2026-02-09"]),
    ),
    _about(
        "PHOTOGRAPHER_BOOKED",
        "timestamp",
        assignmentId=ASSIGNMENT,
        photographerId=st.sampled_from(["51", "52"]),
    ),
    _about(
        "VISUALS_READY",
        "timestamp",
        assignmentId=ASSIGNMENT,
        visualType=st.sampled_from(["POST", "DOCUMENT"]),
        product=st.just("GROUND_PHOTO"),
    ),
)


class MirrorLaws(TestCase):
    workspace: ClassVar[Workspace]

    @classmethod
    def setUpTestData(cls) -> None:
        cls.workspace = Workspace.objects.create(slug="laws", base_url="http://laws.test")

    def after(self, history: list[dict[str, Any]]) -> dict[str, Any]:
        for model in (StatusChange, MaterialSet, Assignment, Order):
            model.objects.all().delete()
        for fields in history:
            handled(self.workspace.pk, parse(json.dumps(fields).encode()))
        return mirror()

    def heard(self) -> set[tuple[str, str, str, datetime]]:
        """The facts that every event tells for itself, stale or not."""
        main = StatusChange.objects.filter(
            fact__in=["ORDER_STATUS", "ASSIGNMENT_STATUS", "PHOTOGRAPHER", "MATERIALS"]
        )
        return set(main.values_list("fact", "new", "new_name", "occurred_at"))

    @pytest.mark.rule("I22")
    @pytest.mark.once
    @settings(max_examples=60, deadline=None)
    @given(st.data(), st.lists(EVENTS, min_size=1, max_size=7))
    def test_any_order_and_repetition_of_a_history_gives_the_same_mirror(self, data, history):
        expected, heard = self.after(history), self.heard()
        again = data.draw(st.permutations(history)) + data.draw(st.permutations(history))
        assert self.after(again) == expected
        assert self.heard() == heard

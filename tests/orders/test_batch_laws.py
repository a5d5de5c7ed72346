"""Events that are applied in one transaction do what each does alone, one after the other (I22)."""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import pytest
from django.db import transaction
from hypothesis import given, settings, strategies as st
from hypothesis.extra.django import TestCase

from crm_sync import hooks
from crm_sync.hooks import Effect, EventBatch
from crm_sync.inbox import apply, store as inbox_store
from crm_sync.models import ReceivedEvent, Workspace
from crm_sync.platform.events import Event
from crm_sync.work import leases
from orders.models import Assignment, MaterialSet, Order, StatusChange
from properties.models import Property
from tests.orders.conftest import MIRROR, at
from tests.orders.test_mirror_laws import EVENTS
from tests.sizes import times

NOW = datetime(2026, 2, 1, tzinfo=UTC)
KEYS = st.fixed_dictionaries(
    {},
    optional={
        "orderId": st.sampled_from(["1", "2", "\0" + "2"]),
        "objectReferenceId": st.sampled_from(["OURS-1", "OURS-2", "NOBODY"]),
        "realEstatePropertyId": st.sampled_from(["201", "999"]),
    },
)
# A broken one writes and then fails; one of the future waits; what is no event stays as it is.
READY = st.builds(
    lambda second, target: {
        "event": "MARKETING_MATERIALS_READY",
        "timestamp": at(second),
        "propertyId": "201",
        "targetPlatform": target,
    },
    st.integers(0, 3),
    st.sampled_from(["PORTAL", "BROKEN"]),
)
ODD = st.sampled_from([{"event": "NEW"}, {"event": "ORDER_STATUS_UPDATED"}])
EARLY = st.builds(lambda event: event | {"occurredAt": "2099-01-01T00:00:00Z"}, EVENTS)
BODIES = st.builds(
    lambda event, indent: json.dumps(event, indent=indent).encode(),
    st.one_of(st.builds(dict.__or__, EVENTS, KEYS), st.builds(dict.__or__, EVENTS, KEYS), READY)
    | ODD
    | EARLY,
    st.sampled_from([None, 1]),
)
HISTORIES = st.lists(BODIES, max_size=12)
COLUMNS: dict[Any, tuple[str, ...]] = {
    Order: ("object_reference_id", "property_platform_id", "real_estate_property"),
    Assignment: ("order__platform_id",),
    MaterialSet: ("order__platform_id", "assignment__platform_id", "real_estate_property"),
}
LINE = (
    *("order__platform_id", "assignment__platform_id", "fact", "previous", "new", "occurred_at"),
    *("digest", "source", "is_listed", "was_stale", "received_event"),
)


class BatchLaws(TestCase):
    workspace: ClassVar[Workspace]

    @classmethod
    def setUpTestData(cls) -> None:
        cls.workspace = Workspace.objects.create(slug="laws", base_url="http://laws.test")
        for n in (1, 2):
            Property.objects.create(
                workspace=cls.workspace, object_reference_id=f"OURS-{n}", platform_id=f"20{n}"
            )

    def setUp(self) -> None:
        handlers = hooks.plugged().event_handlers
        works = handlers["MARKETING_MATERIALS_READY"]

        def handler(batch: EventBatch, event: Event, received_event_id: int) -> Effect:
            effect = works(batch, event, received_event_id)
            if event.text("targetPlatform") == "BROKEN":
                raise ValueError("a bug of ours")
            return effect

        event_handlers = {**handlers, "MARKETING_MATERIALS_READY": handler}
        self.enterContext(hooks.replaced(event_handlers=event_handlers))

    def receive(self, bodies: list[bytes]) -> list[leases.Claim[ReceivedEvent]]:
        """Store them, three at each moment, and claim them."""
        for n, body in enumerate(bodies):
            inbox_store.store(
                self.workspace.pk,
                body,
                headers={},
                method="POST",
                source=ReceivedEvent.Source.CALLBACK,
                now=NOW + timedelta(seconds=n // 3),
            )
        now = NOW + timedelta(minutes=1)
        fresh = ReceivedEvent.objects.filter(
            attempts=0
        )  # what failed comes again at a random moment
        return leases.claim_some(fresh, now=now, limit=100)

    def after(self, history: list[bytes], bodies: list[bytes], *, together: bool) -> Any:
        """Let a history happen and then the bodies; all that they leave, and nothing stays."""
        with transaction.atomic():
            for claim in in_order(self.receive(history)):
                apply.settle(claim, now=NOW)
            played = ReceivedEvent.objects.filter(state="APPLIED").first()
            if played is not None:  # somebody plays it again
                copy = {"workspace": self.workspace, "digest": played.digest, "body": played.body}
                ReceivedEvent.objects.create(**copy, replay_of=played, due_at=NOW, source="REPLAY")
            claims = in_order(self.receive(bodies))
            if together:
                outcomes = apply.settle_some(claims, now=NOW)
            else:
                outcomes = [apply.settle(claim, now=NOW) for claim in claims]
            found = outcomes, everything()
            transaction.set_rollback(True)
        return found

    @pytest.mark.rule("I22")
    @settings(max_examples=times("BATCHES", 30), deadline=None)
    @given(HISTORIES, HISTORIES)
    def test_a_batch_does_what_its_events_do_one_by_one(self, history, bodies):
        alone = self.after(history, bodies, together=False)
        assert self.after(history, bodies, together=True) == alone


def in_order(claims: list[leases.Claim[ReceivedEvent]]) -> list[leases.Claim[ReceivedEvent]]:
    return sorted(claims, key=lambda one: (one.row.due_at, one.row.pk))


def everything() -> Any:
    """All that events leave; received events are numbered in the order in which they came."""
    keys = ReceivedEvent.objects.order_by("pk").values_list("pk", flat=True)
    number = {pk: n for n, pk in enumerate(keys)}

    def numbered(effect: str) -> str:
        return re.sub(r"as received event (\d+)", lambda match: f"#{number[int(match[1])]}", effect)

    received_events = [
        (
            *(
                one.state,
                one.kind,
                numbered(one.effect),
                one.problem_kind,
                one.cause,
                one.canonical_digest,
            ),
            *(one.occurred_at, one.order_platform_id, one.applied_at, one.attempts, one.repeats),
            *(one.due_at is None, one.lease_token, one.lease_until),
        )
        for one in ReceivedEvent.objects.order_by("pk")
    ]
    rows = {
        model.__name__: sorted(
            (
                (*columns, is_due is not None)
                for *columns, is_due in model.objects.values_list(
                    *MIRROR[model],
                    *COLUMNS[model],
                    *(["order__due_at"] if model is Assignment else ["due_at"]),
                )
            ),
            key=repr,
        )
        for model in COLUMNS
    }
    lines = sorted(
        (
            (*line, number.get(received_event))
            for *line, received_event in StatusChange.objects.values_list(*LINE)
        ),
        key=repr,
    )
    return received_events, rows, lines


@pytest.mark.parametrize("size", [2, 30, 100])
def test_one_bad_event_takes_nothing_from_the_others(
    db, app_hooks, django_assert_max_num_queries, size
):
    """Nor does a batch without one need more queries when it is larger."""
    workspace = Workspace.objects.create(slug="main", base_url="http://x.test")

    def store(n: int, **fields: Any) -> None:
        event = {
            "event": "ORDER_STATUS_UPDATED",
            "occurredAt": at(n % 50),
            "orderId": f"{n}",
            "previousStatus": "PLACED",
            "newStatus": "IN_PROGRESS",
        }
        inbox_store.store(
            workspace.pk,
            json.dumps(event | fields).encode(),
            headers={},
            method="POST",
            source=ReceivedEvent.Source.CALLBACK,
            now=NOW,
        )

    for n in range(size):
        store(n)
    claims = leases.claim_some(ReceivedEvent.objects.all(), now=NOW, limit=size)
    # The changes are two statements of SQLite if there are a hundred.
    with django_assert_max_num_queries(14):
        assert apply.settle_some(claims, now=NOW) == ["APPLIED"] * size
    handlers = hooks.plugged().event_handlers
    works = handlers["ORDER_STATUS_UPDATED"]

    def handler(batch: EventBatch, event: Event, received_event_id: int) -> Effect:
        if event.text("newStatus") == "BROKEN":
            raise ValueError("a bug of ours")
        return works(batch, event, received_event_id)

    app_hooks(event_handlers={**handlers, "ORDER_STATUS_UPDATED": handler})
    for n in range(size):
        status = "BROKEN" if n == size // 2 else "COMPLETED"
        store(n, occurredAt=at(60), previousStatus="IN_PROGRESS", newStatus=status)
    claims = in_order(leases.claim_some(ReceivedEvent.objects.all(), now=NOW, limit=size))
    expected = ["APPLIED"] * size
    expected[size // 2] = "FAILED"
    assert apply.settle_some(claims, now=NOW) == expected
    assert Order.objects.filter(status="COMPLETED").count() == size - 1
    assert StatusChange.objects.count() == 2 * size - 1

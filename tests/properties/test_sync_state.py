"""The state of a property: SQL and Python are made from one table and say the same."""

import uuid
from datetime import timedelta
from itertools import chain, combinations, product

import pytest
from django.utils.timezone import now

from properties.models import Property
from properties.models.property import OUT_OF_STEP, TO_SEND, ProblemKind, SyncState
from properties.push import sync_messages

KINDS = list(ProblemKind)
PROBLEMS = list(chain.from_iterable(combinations(KINDS, n) for n in range(len(KINDS) + 1)))
AT = now()
LATER, EARLIER = AT + timedelta(minutes=1), AT - timedelta(minutes=1)
DUE = {
    "not due": {},
    "to be sent": {"due_at": EARLIER},
    "only to be read once more": {"due_at": LATER, "verify_at": LATER},
    "to be sent, and read later": {"due_at": EARLIER, "verify_at": LATER},
    "held": {"due_at": LATER, "wait_reason": "HELD"},
    "held until now": {"due_at": AT, "wait_reason": "HELD"},
    "to be matched": {"due_at": LATER, "wait_reason": "MATCH"},
}
LEASES = {"free": None, "lease over": AT, "leased": LATER}
ON_PLATFORM = (True, False)


def every_row(workspace):
    """Yield a row for each combination of what a state depends on."""
    for number, (kinds, due, lease_until, is_there) in enumerate(
        product(PROBLEMS, DUE.values(), LEASES.values(), ON_PLATFORM)
    ):
        lease = {"lease_until": lease_until, "lease_token": lease_until and uuid.uuid4()}
        yield Property(
            workspace=workspace,
            object_reference_id=f"A-{number}",
            platform_id=str(number) if is_there else None,
            problem={kind.value: {"": "why"} for kind in kinds},
            **due,
            **lease,
        )


@pytest.fixture
def rows(main):
    Property.objects.bulk_create(every_row(main))
    return list(Property.objects.with_state(AT))


def test_the_database_and_an_instance_have_the_same_state_in_every_combination(rows):
    assert len(rows) == 2**6 * 7 * 3 * 2
    differing = [
        (row.sync_state, row.state_at(AT), row.problem, row.due_at, row.verify_at, row.platform_id)
        for row in rows
        if row.sync_state != row.state_at(AT)
    ]
    assert differing == []
    assert {row.sync_state for row in rows} == set(SyncState)


def test_what_is_reported_to_other_systems_is_what_the_list_shows(rows):
    silent = {SyncState.PENDING, SyncState.HELD, SyncState.PUSHING, SyncState.NEVER_PUSHED}
    silent.add(SyncState.TO_MATCH)
    for row in rows:
        told = sync_messages.message(row, now=AT)
        shown = None if row.sync_state in silent else row.sync_state
        assert (told.data["state"] if told else None) == shown


def test_the_index_of_what_is_out_of_step_holds_each_row_that_is_not_in_sync(rows):
    indexed = set(Property.objects.filter(OUT_OF_STEP).values_list("pk", flat=True))
    assert {row.pk for row in rows if row.sync_state != "IN_SYNC"} <= indexed


def test_a_row_is_to_be_sent_or_it_is_not_and_no_row_is_neither(rows):
    to_send = set(Property.objects.filter(TO_SEND).values_list("pk", flat=True))
    rest = set(Property.objects.filter(~TO_SEND).values_list("pk", flat=True))
    assert to_send == {row.pk for row in rows if row.due_at and row.due_at != row.verify_at}
    assert rest == {row.pk for row in rows} - to_send


@pytest.mark.parametrize(
    ("problems", "due", "lease", "is_there", "state"),
    [
        ("", "not due", "free", True, "IN_SYNC"),
        ("", "only to be read once more", "free", True, "IN_SYNC"),
        ("", "only to be read once more", "leased", True, "PUSHING"),
        ("", "to be sent", "lease over", True, "PENDING"),
        ("", "to be sent, and read later", "free", True, "PENDING"),
        ("", "to be sent", "free", False, "NEVER_PUSHED"),
        ("", "held", "free", True, "HELD"),
        ("", "held", "free", False, "HELD"),
        ("", "held", "leased", True, "PUSHING"),
        ("", "held until now", "free", True, "PENDING"),
        ("REFUSED", "held", "free", True, "REFUSED"),
        ("", "to be matched", "free", False, "TO_MATCH"),
        ("", "to be matched", "free", True, "PENDING"),
        ("", "to be matched", "leased", False, "PUSHING"),
        ("", "not due", "free", False, "NEVER_PUSHED"),
        ("", "not due", "leased", True, "IN_SYNC"),
        ("DIFFERS", "to be sent", "free", True, "PENDING"),
        ("DIFFERS", "only to be read once more", "free", True, "DIFFERS"),
        ("DIFFERS", "only to be read once more", "free", False, "NEVER_PUSHED"),
        ("DIFFERS", "not due", "free", False, "DIFFERS"),
        ("CANNOT_CLEAR DIFFERS", "not due", "free", True, "DIFFERS"),
        ("CANNOT_CLEAR", "not due", "free", True, "CANNOT_CLEAR"),
        ("REFUSED DIFFERS", "to be sent", "leased", True, "REFUSED"),
        ("REFUSED CONFLICT", "to be sent", "leased", True, "CONFLICT"),
        ("CONFLICT DUPLICATE", "not due", "free", True, "DUPLICATE"),
        ("DUPLICATE GONE", "not due", "free", False, "GONE"),
    ],
)
def test_the_state_is_the_first_that_holds(problems, due, lease, is_there, state):
    row = Property(
        platform_id="1" if is_there else None,
        problem={kind: {"": "why"} for kind in problems.split()},
        lease_until=LEASES[lease],
        **DUE[due],
    )
    assert row.state_at(AT) == state

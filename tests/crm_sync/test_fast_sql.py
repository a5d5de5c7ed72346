"""Many rows at once, with the values that came: what a statement for each would have done."""

from datetime import UTC, date, datetime, timedelta, timezone
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from django.db import connection, models
from django.db.models import Value
from hypothesis import given, strategies as st
from psycopg import Binary

from crm_sync import hooks
from crm_sync.models import ReceivedEvent, Workspace, due
from crm_sync.models.problem import SentenceField
from crm_sync.sentence import sentence
from crm_sync.work import fast_sql
from crm_sync.work.fast_sql import RowUpdate, TimedSelect
from orders.models import Assignment, Order
from properties.models import Property

NOW = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
TOKEN = UUID("00000000-0000-4000-8000-000000000001")


@pytest.fixture
def hook(db) -> Workspace:
    return Workspace.objects.create(slug="main", base_url="http://x.test")


def row(hook: Workspace, name: str, **columns: object) -> ReceivedEvent:
    return ReceivedEvent.objects.create(
        workspace=hook, digest=name, body=b"{}", method="POST", due_at=NOW, **columns
    )


HELD = {"lease_token": TOKEN, "lease_until": NOW}


def test_each_of_many_rows_becomes_what_it_is_to_be(hook):
    order = Order.objects.create(workspace=hook, platform_id="12")
    rows = [
        Assignment.objects.create(workspace=hook, order=order, platform_id=name)
        for name in ("a", "b", "c")
    ]
    wanted = [
        {"status": "it's 100 %s", "status_at": NOW, "photographer": {"id": "7", "name": ["Zoë"]}},
        {"status": "", "status_at": LATER, "photographer": {}},
    ]
    dated = {"scheduled_at": None, "estimated_delivery_date": date(2026, 2, 28)}
    changes = [
        RowUpdate(columns, {"id": one.pk})
        for columns, one in zip([*wanted, dated], rows, strict=True)
    ]
    assert fast_sql.update_many(Assignment, changes) == 3
    names = ("status", "status_at", "photographer", "scheduled_at", "estimated_delivery_date")
    before = {name: getattr(Assignment(), name) for name in names}
    stored = list(Assignment.objects.order_by("pk").values(*names))
    assert stored == [before | columns for columns in [*wanted, dated]]


def test_only_rows_that_are_as_they_have_to_be_are_changed_and_counted(hook):
    mine, lost = row(hook, "a", **HELD), row(hook, "b")
    end = due.RELEASED | {"state": ReceivedEvent.State.FAILED}
    changes = [
        RowUpdate(end, {"id": one.pk, "lease_token": TOKEN}, {"due_at": (NOW, None)})
        for one in (mine, lost)
    ]
    assert fast_sql.update_many(ReceivedEvent, changes) == 1
    stored = ReceivedEvent.objects.order_by("pk").values_list("lease_token", "state", "due_at")
    assert list(stored) == [(None, "FAILED", None), (None, "RECEIVED", NOW)]


def test_none_in_a_condition_is_null_as_in_a_filter(hook):
    free, held = row(hook, "a"), row(hook, "b", **HELD)
    changes = [
        RowUpdate({"effect": "done"}, {"id": one.pk, "lease_token": None}) for one in (free, held)
    ]
    assert fast_sql.update_many(ReceivedEvent, changes) == 1
    assert [fast_sql.update(ReceivedEvent, one) for one in changes] == [1, 0]
    stored = ReceivedEvent.objects.order_by("pk").values_list("effect", flat=True)
    assert list(stored) == ["done", ""]


def test_a_row_that_was_made_due_meanwhile_stays_due(hook):
    one = row(hook, "a")
    change = RowUpdate({"effect": "done"}, {"id": one.pk}, {"due_at": (LATER, None)})
    assert fast_sql.update_many(ReceivedEvent, [change]) == 1
    one.refresh_from_db()
    assert (one.effect, one.due_at) == ("done", NOW)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="a statement of PostgreSQL")
@pytest.mark.parametrize("waits", [True, False])
def test_of_changes_of_one_form_it_says_which_were_made(hook, waits):
    rows = [row(hook, name, **HELD) for name in "abc"]
    lost = row(hook, "d")
    changes = [
        RowUpdate(
            {**due.RELEASED, "effect": f"it's 100 % {one.digest}", "applied_at": None},
            {"id": one.pk, "lease_token": TOKEN},
            {"due_at": (NOW, LATER)},
        )
        for one in (*rows, lost, rows[2])
    ]
    made = fast_sql.update_unlocked(ReceivedEvent, changes, waits=waits)
    assert made - {2, 4} == {0, 1}
    assert len(made) == 3  # of two changes of one row one was made
    stored = ReceivedEvent.objects.order_by("pk").values_list("lease_token", "effect", "due_at")
    assert list(stored) == [
        *((None, f"it's 100 % {name}", LATER) for name in "abc"),
        (None, "", NOW),
    ]


def test_of_many_new_rows_those_that_are_there_already_are_left_as_they_are(hook):
    Order.objects.create(workspace=hook, platform_id="12", status="PLACED")
    columns = {
        name: Order._meta.get_field(name).get_default()
        for name in (
            *("object_reference_id", "property_platform_id", "user_platform_id"),
            *("observed", "problem", "attempts", "status_digest", "is_confirmed"),
        )
    }
    rows = [
        {"workspace": hook.pk, "platform_id": name, "status": "new", "status_at": NOW, **columns}
        | {"created_at": NOW}
        for name in ("12", "13")
    ]
    fast_sql.insert_many(Order, rows)
    stored = Order.objects.order_by("platform_id").values_list("platform_id", "status", "due_at")
    assert list(stored) == [("12", "PLACED", None), ("13", "new", None)]


def test_rows_are_found_by_any_of_many_texts_in_all_workspaces(hook):
    other = Workspace.objects.create(slug="other", base_url="http://x.test")
    found = [
        row(where, f"{where.slug} {name}", canonical_digest=name).pk
        for where in (hook, other)
        for name in ("a", "it's b", "c")
    ]
    row(hook, "d", canonical_digest="d")
    texts = ["a", "it's b", "c", "e"]
    assert sorted(fast_sql.having(ReceivedEvent, "canonical_digest", texts)) == found
    assert fast_sql.having(ReceivedEvent, "canonical_digest", []) == []


# --- a query at any moment ---
@pytest.mark.parametrize("queue", hooks.plugged().queues, ids=lambda queue: queue.name)
def test_each_queue_finds_at_any_moment_what_its_query_finds(queue, hook, settings):
    settings.MATERIALS_DOWNLOAD = True
    for now in (NOW, LATER, NOW + timedelta(microseconds=1)):
        pairs = queue.with_due(now).order_by().values_list(Value(queue.name), "pk")
        assert queue._due_pairs.at(now) == (
            pairs.query.sql_with_params()[0],
            list(pairs.query.sql_with_params()[1]),
        )


def test_a_query_that_the_time_changes_otherwise_is_refused(hook):
    by_day = TimedSelect(lambda now: Workspace.objects.filter(pk=now.toordinal()))
    with pytest.raises((ValueError, TypeError)):
        by_day.at(NOW)
    twice = TimedSelect(
        lambda now: Workspace.objects.filter(paused_until__lt=NOW + (now - NOW) * 2)
    )
    with pytest.raises(ValueError, match="the time does not only move the values of: SELECT"):
        twice.at(NOW)
    other = TimedSelect(
        lambda now: Workspace.objects.all()[: 1 if now < LATER - timedelta(days=9000) else None]
    )
    with pytest.raises(ValueError, match="the time does not only move"):
        other.at(NOW)


ZONES = st.sampled_from([UTC, ZoneInfo("Europe/Zurich"), timezone(timedelta(hours=-3))])
VALUES = {
    models.DateTimeField: st.datetimes(timezones=ZONES),
    models.DateField: st.dates(),
    models.BooleanField: st.booleans(),
    models.IntegerField: st.integers(0, 30_000),
    models.UUIDField: st.uuids(),
    models.BinaryField: st.binary(),
    models.JSONField: st.dictionaries(st.text(), st.none() | st.text() | st.lists(st.integers())),
    SentenceField: st.just(sentence("Nothing is there", name="Höhe")),
    models.TextField: st.text(),
    models.CharField: st.text() | st.sampled_from(ReceivedEvent.State),
}
WRITTEN = [
    (model, field)
    for model in (Property, Order, Assignment, ReceivedEvent)
    for field in model._meta.concrete_fields
    if not isinstance(field, models.GeneratedField) and not field.primary_key
]


@pytest.mark.parametrize(("model", "field"), WRITTEN, ids=lambda one: getattr(one, "name", ""))
@given(data=st.data())
def test_a_value_of_any_column_is_stored_as_django_stores_it(model, field, data):
    kinds = (values for kind, values in VALUES.items() if isinstance(field, kind))
    value = data.draw(st.none() | next(kinds, st.integers(1, 9)))
    _, (stored, _) = fast_sql.made(model, RowUpdate({field.name: value}, {"id": 1}))
    wanted = field.get_db_prep_save(value, connection)
    if isinstance(wanted, memoryview | Binary):  # each driver has its own for bytes
        wanted = value
    assert (stored, type(stored)) == (wanted, type(wanted)) or is_alike_on_postgresql(
        stored, wanted
    )


def is_alike_on_postgresql(stored: object, wanted: object) -> bool:
    """Return whether PostgreSQL gets the same: a document in an object that has no equality."""
    return connection.vendor == "postgresql" and repr(stored) == repr(wanted)

"""Laws of an edit of many: set and undo for all is the identity where nobody else wrote."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings, strategies as st

from properties import merge
from properties.catalog import validate_document
from properties.domain import bulk_edit, undo_steps
from properties.domain.change_selection import ChangeSelection
from properties.domain.editing import edit
from properties.forms.set_form import wanted
from properties.models import Batch, Property
from properties.models.change import Cause, Origin
from properties.push import batches
from tests.properties.form_page import make

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NO_END = float("inf")

INPUTS: dict[str, st.SearchStrategy[Any]] = {
    "title": st.sampled_from(["Flat", "House"]),
    "isFurnished": st.booleans(),
    "numberOfRooms": st.sampled_from([1, 1.5, 4]),
    "availabilityState": st.sampled_from(["ACTIVE", "RESERVED"]),
    "conditions": st.sampled_from([["WELL_KEPT"], ["REFURBISHED", "MODERNIZED"]]),
    "address.street": st.sampled_from(["Seestrasse", "Gasse"]),
    "address.geo.latitude": st.just(46.5),
    "address.geo.longitude": st.just(8.5),
    "prices.rent.net": st.sampled_from([900, 1200.5]),
    "prices.buy.price": st.just(1000000),
    "characteristics.hasElevator": st.sampled_from(["APPLIES", "DOES_NOT_APPLY"]),
}
ENTERED = st.fixed_dictionaries({}, optional={k: st.none() | v for k, v in INPUTS.items()})
DOCUMENTS = st.fixed_dictionaries({}, optional=INPUTS).map(
    lambda values: wanted(values)({})  # leaves
)
SETTINGS = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def is_valid(leaves: dict[str, Any]) -> bool:
    return not validate_document(merge.document(leaves))


@pytest.mark.rule("I1")
@SETTINGS
@given(
    stock=st.lists(DOCUMENTS.filter(is_valid), min_size=1, max_size=4),
    entered=ENTERED,
    others=st.lists(st.tuples(st.integers(0, 3), DOCUMENTS.filter(is_valid)), max_size=2),
)
def test_set_and_undo_for_all_is_the_identity_where_nobody_else_wrote(
    main, admin_user, stock, entered, others
):
    Property.objects.all().delete()
    rows = [make(main, f"A-{n}") for n in range(len(stock))]
    for row, leaves in zip(rows, stock, strict=True):
        edit(row, leaves, origin=Origin.FEED, now=NOW)
    before = [row.desired for row in rows]
    batch = batches.choose(Property.objects.all(), Batch.Kind.SET, actor=admin_user, now=NOW)
    bulk_edit.plan(batch, wanted(entered), entered=entered, now=NOW)
    planned_at = batch_now(batch).planned_at.isoformat()
    assert bulk_edit.start(batch_now(batch), planned_at=planned_at, actor=admin_user, now=NOW)
    bulk_edit.set_rest(batch_now(batch), now=NOW, until=NO_END)
    for one in batch.edits.select_related("real_estate_property"):
        ours = merge.leaves(one.real_estate_property.desired)
        new = wanted(entered)(before[rows.index(one.real_estate_property)])
        for leaf in one.planned:  # what was planned is so, and nothing that was refused
            assert ours.get(leaf) == new[leaf]
        assert not one.left
        assert not one.refused.keys() & one.planned.keys()
    touched: dict[int, set[str]] = {}
    for n, leaves in others:
        if n < len(rows):
            row = Property.objects.get(pk=rows[n].pk)
            touched.setdefault(n, set()).update(edit(row, leaves, origin=Origin.FEED, now=NOW))
    written = {n: merge.leaves(Property.objects.get(pk=rows[n].pk).desired) for n in touched}
    selection = ChangeSelection(cause=Cause.BATCH.of(batch.pk))
    up_to = undo_steps.preview(selection).up_to
    undo_steps.finish(
        undo_steps.request(main, selection, up_to=up_to, actor=admin_user, now=timezone.now())
    )
    for n, row in enumerate(rows):
        now_there = merge.leaves(Property.objects.get(pk=row.pk).desired)
        was = merge.leaves(before[n])
        foreign = touched.get(n, set())
        for leaf in (now_there.keys() | was.keys()) - foreign:
            assert now_there.get(leaf) == was.get(leaf)
        for leaf in foreign:  # theirs, or what was before if they wrote what the batch had
            assert now_there.get(leaf) in (written[n].get(leaf), was.get(leaf))
        if not foreign:
            assert merge.same_json(Property.objects.get(pk=row.pk).desired, before[n])


def batch_now(batch: Batch) -> Batch:
    return Batch.objects.get(pk=batch.pk)

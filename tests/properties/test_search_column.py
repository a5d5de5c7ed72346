"""Each way to write a property writes the words by which it is found, and few rows are read."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from properties.domain.editing import create, edit
from properties.imports.bulk_create import NewProperty, create_all
from properties.models import Property, search_column
from properties.models.search_column import search, text_of

HOUSE = {"title": "Haus", "address": {"street": "Seestrasse", "locality": "Zürich"}}


def found(query: str) -> list[str]:
    return sorted(str(row) for row in search(Property.objects.all(), query))


def test_each_way_to_write_a_property_writes_its_words(box, workspace, drain_all):
    create(workspace, "A-1", HOUSE, origin="ADMIN", now=now())
    create_all(workspace, [NewProperty("A-2", HOUSE)], origin="FEED", now=now())
    Property.objects.create(workspace=workspace, object_reference_id="A-3", desired=HOUSE)
    Property.objects.bulk_create(
        [Property(workspace=workspace, object_reference_id="A-4", desired=HOUSE)]
    )
    assert found("zurich seestr") == ["A-1", "A-2", "A-3", "A-4"]
    edit(
        Property.objects.get(object_reference_id="A-2"), {"address": None}, origin="FEED", now=now()
    )
    assert found("zurich haus") == ["A-1", "A-3", "A-4"]
    drain_all()
    row = Property.objects.get(object_reference_id="A-1")
    assert found(str(row.platform_id)) == ["A-1"]
    for row in Property.objects.all():
        assert row.search == text_of(row)


def test_what_the_platform_changes_is_found(box, workspace, drain_all):
    row = create(workspace, "A-1", HOUSE, origin="ADMIN", now=now())
    drain_all()
    row.refresh_from_db()
    box.workspace.properties[row.platform_id]["title"] = "Villa"
    Property.objects.update(due_at=now())
    drain_all()
    assert (found("villa"), found("haus")) == (["A-1"], [])


@pytest.mark.parametrize("few", [1_000, 2])
def test_few_and_many_are_found_with_the_same_words(workspace, monkeypatch, few):
    monkeypatch.setattr(search_column, "FEW", few)
    for number in range(5):
        create(workspace, f"A-{number}", HOUSE, origin="FEED", now=now())
    assert found("haus") == [f"A-{n}" for n in range(5)]
    assert (found("a 3"), found("haus bern"), found("--")) == (["A-3"], [], [])
    with CaptureQueriesContext(connection) as captured:
        found("haus")
    assert len(captured) == 2

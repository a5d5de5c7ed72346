"""References that the platform's people choose: odd ones, late ones, other ones (A14, A44)."""

from datetime import timedelta

import pytest
import time_machine
from django.utils.timezone import now

from crm_sync.models import Workspace
from properties.domain.editing import create, due_now, edit
from properties.imports.engine import import_feed
from properties.models import Conflict, Property
from properties.pull.walk import pull
from tests.conftest import PLATFORM
from tests.platforms import Between, lost
from tests.problems import as_texts
from tests.properties.form_page import opened, post
from tests.properties.test_full_feed_guard import EXAMPLES
from tests.properties.test_pull import put


@pytest.fixture
def read_all(workspace, drain_all):
    """Return a function that walks the list and reads what is to be read."""

    def read() -> None:
        list(pull(workspace))
        due_now(Property.objects.all())
        drain_all()

    return read


@pytest.fixture
def load(workspace):
    """Return a function that imports a feed."""

    def load_(path):
        return list(import_feed(workspace, path, now=now()))[-1]

    return load_


@pytest.mark.parametrize("reference", ["A/1", " A1", "100%", ".."])
def test_a_property_whose_reference_cannot_travel_is_read_and_patched_by_id(
    box, read_all, drain_all, reference
):
    key = put(box, 1, objectReferenceId=reference)
    read_all()
    row = Property.objects.get(platform_id=key)
    assert (row.object_reference_id, row.problem, row.due_at) == (reference, {}, None)
    edit(row, {"title": "Edited"}, origin="ADMIN", now=now())
    assert drain_all() == {"properties": {"pushed": 1}}
    assert box.workspace.properties[key]["title"] == "Edited"
    row.refresh_from_db()
    assert (row.problem, row.due_at) == ({}, None)


ODD = pytest.mark.parametrize("reference", ["2026/17", "50%", "A?1#b", "a\\b"])


def there(box, reference: str) -> list[dict]:
    found = box.workspace.properties.values()
    return [one for one in found if one.get("objectReferenceId") == reference]


@ODD
@pytest.mark.parametrize("box", ["rich", "brief"], indirect=True)
def test_a_reference_of_ours_that_cannot_travel_is_created_by_its_body_and_patched_by_id(
    box, workspace, drain_all, reference
):
    row = create(workspace, reference, {"title": "House"}, origin="ADMIN", now=now())
    drain_all()
    row.refresh_from_db()
    (remote,) = there(box, reference)
    assert (row.platform_id, row.problem, row.due_at) == (str(remote["id"]), {}, None)
    edit(row, {"title": "Edited"}, origin="ADMIN", now=now())
    assert drain_all() == {"properties": {"pushed": 1}}
    assert [one["title"] for one in there(box, reference)] == ["Edited"]


@ODD
def test_one_that_the_platform_has_already_is_found_in_its_list_and_adopted(
    box, workspace, drain_all, reference
):
    for number in range(120):  # on the second page
        put(box, number)
    key = put(box, 120, objectReferenceId=reference, author="Theirs")
    row = create(workspace, reference, {"title": "Ours"}, origin="ADMIN", now=now())
    drain_all()
    row.refresh_from_db()
    assert (row.platform_id, row.problem, row.due_at) == (key, {}, None)
    (remote,) = there(box, reference)
    assert (remote["author"], row.desired["author"]) == ("Theirs", "Theirs")


@pytest.mark.parametrize("is_done", [True, False], ids=["it arrived", "it did not"])
def test_a_creation_without_an_answer_is_looked_for_in_the_list_and_never_done_twice(
    box, workspace, drain_all, is_done
):
    between = Between(box, PLATFORM)
    row = create(workspace, "2026/17", {"title": "House"}, origin="ADMIN", now=now())
    setattr(between, "after" if is_done else "before", lost("POST"))
    drain_all()
    row.refresh_from_db()
    assert (row.platform_id, len(there(box, "2026/17"))) == (None, int(is_done))
    with time_machine.travel(now() + timedelta(minutes=10), tick=True):
        drain_all()
    row.refresh_from_db()
    (remote,) = there(box, "2026/17")
    assert (row.platform_id, row.problem, row.due_at) == (str(remote["id"]), {}, None)


def test_a_table_with_references_that_hold_a_slash_is_imported_once(
    box, workspace, load, drain_all, tmp_path
):
    table = tmp_path / "table.csv"
    table.write_text("objectReferenceId,title\n2026/17,House\n2026/18,Flat\n")
    assert load(table).new.count == 2
    drain_all()
    assert [len(there(box, f"2026/{n}")) for n in (17, 18)] == [1, 1]
    assert load(table).unchanged.count == 2


def test_a_reference_with_a_slash_can_be_entered(admin_client, box, workspace, drain_all):
    post(
        admin_client,
        None,
        opened(admin_client),
        workspace=workspace.pk,
        objectReferenceId="2026/17",
    )
    drain_all()
    assert len(there(box, "2026/17")) == 1


def test_the_key_of_a_row_follows_a_reference_that_the_platform_gives_or_changes(
    box, read_all, drain_all
):
    key = put(box, 1, objectReferenceId=None)
    read_all()
    row = Property.objects.get(platform_id=key)
    assert row.object_reference_id is None
    for reference in ("GIVEN-1", "CHANGED-1"):
        box.edit_property(key, {"objectReferenceId": reference})
        read_all()
        row.refresh_from_db()
        assert (row.object_reference_id, row.problem) == (reference, {})
        assert row.desired["objectReferenceId"] == reference
    box.calls.clear()
    edit(row, {"title": "Edited"}, origin="ADMIN", now=now())
    drain_all()
    assert [call[1] for call in box.calls if call[0] == "PATCH"] == [
        "/v1/real-estate-properties/by-reference/CHANGED-1"
    ]


def test_a_feed_finds_the_row_by_the_reference_that_the_platform_gave(
    box, read_all, drain_all, load, tmp_path
):
    key = put(box, 1, objectReferenceId=None)
    read_all()
    box.edit_property(key, {"objectReferenceId": "B-1"})
    read_all()
    table = tmp_path / "table.csv"
    table.write_text("objectReferenceId,title\nB-1,From the feed\n")
    report = load(table)
    assert (report.new.count, report.changed.count) == (0, 1)
    drain_all()
    assert box.workspace.properties[key]["title"] == "From the feed"
    assert Property.objects.filter(platform_id=key).get().object_reference_id == "B-1"


@pytest.mark.parametrize(
    ("policy", "ours", "theirs", "asked"),
    [
        ("crm_wins", "MH-1001", "MH-1001", 0),
        ("platform_wins", "B-1", "B-1", 0),
        ("ask", "MH-1001", "B-1", 1),
    ],
)
def test_a_reference_that_a_feed_names_is_a_conflict_when_the_platform_changes_it(
    box, read_all, drain_all, load, policy, ours, theirs, asked
):
    Workspace.objects.update(conflict_policy=policy)
    load(EXAMPLES / "swissrets.xml")
    drain_all()
    row = Property.objects.get(object_reference_id="MH-1001")
    box.edit_property(row.platform_id, {"objectReferenceId": "B-1"})
    read_all()
    row.refresh_from_db()
    assert (row.object_reference_id, row.desired["objectReferenceId"]) == (ours, ours)
    assert box.workspace.properties[row.platform_id]["objectReferenceId"] == theirs
    (conflict,) = Conflict.objects.all()
    assert (conflict.path, conflict.ours, conflict.theirs) == (
        *("objectReferenceId", "MH-1001"),
        "B-1",
    )
    assert Conflict.objects.filter(decision="").count() == asked


def test_a_reference_that_another_row_has_stays_there_and_a_person_is_told(box, read_all):
    first, second = put(box, 1), put(box, 2)
    read_all()
    box.edit_property(second, {"objectReferenceId": "P-1"})
    read_all()
    read_all()
    rows = {row.platform_id: row for row in Property.objects.all()}
    assert rows[first].object_reference_id == "P-1"
    assert rows[second].object_reference_id == "P-2"
    assert list(rows[second].problem) == ["DUPLICATE"]
    assert "P-1" in as_texts(rows[second].problem)["DUPLICATE"]["objectReferenceId"]

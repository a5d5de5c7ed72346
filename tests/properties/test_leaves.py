"""A value is set at a leaf and nowhere else: what no PATCH sends by itself is refused (A10)."""

import json
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.utils.timezone import now
from hypothesis import HealthCheck, example, given, settings, strategies as st

from properties import merge
from properties.catalog import FIELDS, MERGED, Kind, misplaced
from properties.domain.editing import Invalid, create, edit, faults
from properties.domain.undo import undo
from properties.feeds import Record, open_feed
from properties.feeds.table.table_columns import COLUMNS
from properties.models import Change, Property
from tests.sizes import times

EXAMPLES = Path(__file__).parents[2] / "examples"
# At top level, or directly in a merged object (A10).
LEAVES = {
    path
    for path, field in FIELDS.items()
    if (field.parent in MERGED if "." in path else field.kind is not Kind.MERGED)
}


names = st.text("ab.[]0", max_size=4) | st.sampled_from(["net", "rent", "new", "[0]", "0"])
steps = st.lists(names | st.sampled_from(sorted(FIELDS)), min_size=1, max_size=3)
paths = st.sampled_from(sorted(FIELDS)) | steps.map(".".join) | steps.map("".join)


@given(paths)
@example("prices.rent.net")
@example("prices")
@example("prices.new")
@example("prices.")
@example("")
@example("localizations[0].title")
def test_a_path_is_taken_exactly_where_a_patch_sends_it_by_itself(path):
    fault = misplaced(path)
    if path in FIELDS:
        assert (fault is None) == (path in LEAVES)
    name, *rest = path.replace("[", ".").split(".")
    if fault is None:
        assert merge.document({path: 1}) == ({name: {rest[0]: 1}} if rest else {name: 1})
        assert merge.leaves(merge.document({path: 1})) == {path: 1}
        assert len(rest) == (name in MERGED)
    else:
        assert fault.path == path
        leaf = fault.message.rpartition(": set ")[2]
        assert misplaced(leaf) is None or name in MERGED or not name


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (
            "prices.rent.net",
            "This is a part of prices.rent, which is sent as a whole: set prices.rent",
        ),
        (
            "prices.rent.new",
            "This is a part of prices.rent, which is sent as a whole: set prices.rent",
        ),
        ("address.street", "This is a part of address, which is sent as a whole: set address"),
        ("title.x", "This is a part of title, which is sent as a whole: set title"),
        ("commissions[0].payer", "This is a part of commissions, which is sent as a whole: set"),
        ("unknown.member", "This is a part of unknown, which is sent as a whole: set unknown"),
        ("prices", "prices is changed member by member: name one of its members"),
        (
            "characteristics.",
            "characteristics is changed member by member: name one of its members",
        ),
        ("", "Every field needs a name"),
    ],
)
@pytest.mark.parametrize("value", [5, {"a": 1}, [], None], ids=str)
def test_an_edit_of_what_is_no_leaf_changes_nothing_and_names_the_leaf(
    box, workspace, drain_all, path, message, value
):
    row = create(workspace, "A-1", {"prices.rent": {"net": 1}}, origin="API", now=now())
    drain_all()
    before, history = Property.objects.values().get(), Change.objects.count()
    with pytest.raises(Invalid) as caught:
        edit(row, {"title": "Other", path: value}, origin="API", now=now())
    assert [fault.path for fault in caught.value.faults] == [path]
    assert caught.value.faults[0].message.startswith(message)
    assert faults({path: value}, merge.leaves(row.desired))  # as the preview of an import asks
    with pytest.raises(Invalid):
        create(workspace, "A-2", {path: value}, origin="API", now=now())
    assert Property.objects.values().get() == before
    assert Change.objects.count() == history
    assert drain_all() == {}


@settings(
    max_examples=times("EDITED_LEAVES", 20),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(path=paths)
@example(path="prices.rent.net")
@example(path="unknownField")
@example(path="characteristics.isNewHere")
def test_whatever_an_edit_takes_stands_on_the_platform_afterwards(box, workspace, drain_all, path):
    Change.objects.all().delete()
    Property.objects.all().delete()
    box.workspace.properties.clear()
    row = create(workspace, "A-1", {}, origin="API", now=now())
    try:
        edit(row, {path: "text"}, origin="API", now=now())
    except Invalid:
        return
    drain_all()
    row.refresh_from_db()
    held = merge.leaves(next(iter(box.workspace.properties.values())))
    if path in FIELDS:
        assert (row.problem, held[path]) == ({}, "text")
    else:  # this platform knows no such field, and the person sees it
        assert list(row.problem["DIFFERS"]) == [path]


def test_what_was_written_there_past_the_product_can_be_cleared(box, workspace, drain_all):
    row = create(workspace, "A-1", {"title": "A"}, origin="API", now=now())
    drain_all()
    Property.objects.update(desired=row.desired | {"prices": {"rent.net": 5}})
    row.refresh_from_db()
    with pytest.raises(Invalid):
        edit(row, {"prices.rent.net": 6}, origin="API", now=now())
    assert edit(row, {"prices.rent.net": None}, origin="API", now=now()) == {"prices.rent.net"}
    drain_all()
    row.refresh_from_db()
    assert row.desired == {"title": "A", "objectReferenceId": "A-1"}
    assert row.problem == {}
    cleared = Change.objects.get(path="prices.rent.net")
    with pytest.raises(Invalid):
        undo(cleared, seen=None, actor=User.objects.create_user("ada"), now=now())


def test_every_column_of_a_table_and_every_record_of_a_feed_goes_to_leaves():
    assert {one.leaf for one in COLUMNS.values()} <= LEAVES
    feeds = [path for path in EXAMPLES.rglob("*") if path.suffix in {".csv", ".json", ".xml"}]
    records = [one for path in feeds for one in open_feed(path) if isinstance(one, Record)]
    assert {path for one in records for path in one.changes({})} <= LEAVES
    assert {type(one) for one in records} == {Record}


def test_an_astray_member_of_a_feed_is_set_aside_and_reaches_no_leaf(tmp_path):
    raw = json.loads((EXAMPLES / "swissrets.json").read_text())
    for one in raw["properties"]:
        one.setdefault("prices", {})["rent.net"] = 5
        one.setdefault("characteristics", {})["a.b"] = "APPLIES"
    path = tmp_path / "swissrets.json"
    path.write_text(json.dumps(raw))
    records = [one for one in open_feed(path) if isinstance(one, Record)]
    assert {path for one in records for path in one.changes({})} <= LEAVES
    assert all(any("rent.net" in name for name in one.leftover) for one in records)

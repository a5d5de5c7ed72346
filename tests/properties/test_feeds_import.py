"""How a feed is imported: once through the file, in batches, with the same result as one by one."""

import json
from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from crm_sync.models import Workspace
from properties.domain.editing import create, edit
from properties.feeds import NotAFeed
from properties.imports.engine import import_feed
from properties.merge import leaves
from properties.models import Change, Property
from tests.properties.test_full_feed_guard import EXAMPLES, TEN, as_json

PER_HUNDRED = 6
TO_COMPARE = 3  # what the last feed held; to forget it, and to remember this one
NOW = datetime(2026, 5, 4, 6, tzinfo=UTC)


def as_table(references, title="House"):
    return "\n".join(["objectReferenceId,title", *(f"{r},{title} {r}" for r in references)])


@pytest.fixture
def load(main, tmp_path):
    """Import a feed with the given content; the report."""

    def load_(content, **options):
        path = tmp_path / "feed"
        path.write_text(content)
        return list(import_feed(main, path, now=NOW, **options))[-1]

    return load_


def queries(action):
    with CaptureQueriesContext(
        connection,
    ) as captured:
        action()
    return len(captured)


def content(row):
    """Return all that a row holds but its keys, with its history."""
    columns = Property.objects.filter(pk=row.pk).values().get()
    unlike = {"id", "object_reference_id", "created_at", "fed", "fed_digest", "fed_by", "leftover"}
    history = Change.objects.filter(real_estate_property=row).order_by("path")
    return {k: v for k, v in columns.items() if k not in unlike}, [
        {k: v for k, v in change.items() if k not in {"id", "real_estate_property_id"}}
        for change in history.values()
    ]


@pytest.mark.parametrize("name", ["swissrets.xml", "swissrets.json", "idx/unload.txt"])
def test_properties_that_are_made_at_once_are_those_that_are_made_one_by_one(load, main, name):
    report = load((EXAMPLES / name).read_text("utf-8" if name[-1] != "t" else "cp1252"))
    for reference in report.new.first:
        row = Property.objects.get(object_reference_id=reference)
        row_content = content(row)
        fed = row.fed
        Property.objects.filter(pk=row.pk).delete()
        assert (
            content(create(main, reference, fed, origin=Change.Origin.FEED, now=NOW)) == row_content
        )
        assert len(row_content[1]) == 1


def test_what_is_unchanged_costs_two_queries_for_each_hundred(load):
    few, many = ([f"R-{n}" for n in range(count)] for count in (5, 300))
    load(as_json(few))
    assert queries(lambda: load(as_json(few))) == TO_COMPARE + 2
    load(as_json(many))
    assert queries(lambda: load(as_json(many))) == TO_COMPARE + 6


@pytest.mark.parametrize("as_feed", [as_json, as_table])
def test_new_records_cost_six_queries_for_each_hundred(load, as_feed):
    """Whether imports are held, what is there, two INSERTs, begin and end of two transactions."""
    counts = []
    for count in (100, 200, 900):
        content = as_feed([f"R-{n}" for n in range(count)])
        counts.append(queries(lambda content=content: load(content)))
        Property.objects.all().delete()
    assert (counts[1] - counts[0], counts[2] - counts[1]) == (PER_HUNDRED, 7 * PER_HUNDRED)


def test_a_creation_is_one_row_of_history_however_many_fields_it_has(load):
    load((EXAMPLES / "swissrets.json").read_text())
    made = Property.objects.count()
    assert (made > 1, Change.objects.count()) == (True, made)
    for change in Change.objects.select_related("real_estate_property"):
        row = change.real_estate_property
        assert (change.is_creation, change.new, change.old) == (True, row.desired, None)
        assert {part.path: part.new for part in change.parts()} == leaves(row.desired)


LONG = "C" * 255  # with a number behind it, no reference


def test_the_report_of_a_large_feed_is_bounded_and_counts_exactly(load):
    odd = [f"A{n}" for n in range(250)]
    load(as_table(odd, "Old"))
    content = as_table([*odd, *(f"B{n}" for n in range(250)), *(f"{LONG}{n}" for n in range(1100))])
    report = load(content)
    lists = (report.new, report.changed, report.unchanged, report.refused)
    assert [listed.count for listed in lists] == [250, 250, 0, 1100]
    assert [len(listed.first) for listed in lists] == [200, 200, 0, 1000]
    assert (report.handled, report.total, report.accepted) == (1600, 1600, 500)
    assert report.changed.first[0] == ("A0", ["title"])
    again = load(content)
    assert (again.unchanged.count, len(again.unchanged.first)) == (500, 200)


def test_what_is_set_aside_is_named_for_the_first_records_and_counted_for_all(load):
    feed = json.loads(as_json([f"R-{n}" for n in range(250)]))
    for record in feed["properties"]:
        record |= {"modified": "2026-05-04", "pool": {"depth": 2}, "utilizations": ["residential"]}
    for _ in range(2):  # new, and unchanged
        aside = load(json.dumps(feed)).aside
        assert (aside.count, len(aside.first)) == (250, 200)
        assert aside.first[0] == ("R-0", {"pool.depth": 2, "utilizations": ["residential"]})


@pytest.mark.skipif("connection.vendor != 'postgresql'")
def test_postgresql_is_told_of_tables_that_an_import_has_filled(load):
    def known():
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT relname, reltuples FROM pg_class"
                " WHERE relname IN ('properties_property', 'properties_change')"
            )
            return dict(cursor.fetchall())

    with connection.cursor() as cursor:
        cursor.execute("ANALYZE properties_property, properties_change")
    load(as_json([f"R-{n}" for n in range(900)]))
    assert set(known().values()) == {0}
    load(as_json([f"S-{n}" for n in range(1_000)]), force=True, dry_run=True)
    assert set(known().values()) == {0}
    load(as_json([f"S-{n}" for n in range(1_000)]), force=True)
    assert known() == {"properties_property": 1_900, "properties_change": 1_900}
    load(as_json([f"T-{n}" for n in range(1_000)]), force=True)
    assert known() == {"properties_property": 1_900, "properties_change": 1_900}


@pytest.mark.skipif("connection.vendor != 'postgresql'")
def test_a_look_for_references_reads_no_more_of_a_workspace_that_postgresql_does_not_know(load):
    other = Workspace.objects.create(slug="other", base_url="http://platform.test")
    Property.objects.bulk_create(
        Property(workspace=other, object_reference_id=f"O-{n}") for n in range(500)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE properties_property")
    with CaptureQueriesContext(connection) as captured:
        load(as_json([f"R-{n}" for n in range(500)]))
    looks = [q["sql"] for q in captured if '"object_reference_id" IN' in q["sql"]]
    assert len(looks) == 5
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {looks[0]}")
        plan = cursor.fetchone()[0][0]["Plan"]
    assert (plan["Actual Rows"], plan.get("Rows Removed by Filter", 0)) == (100, 0)


def test_another_mapping_of_the_same_file_is_taken_up(load):
    load(as_json(TEN))
    Property.objects.update(fed_digest="what another release made of it")
    row = Property.objects.get(object_reference_id="R-3")
    Property.objects.filter(pk=row.pk).update(fed={**row.fed, "title": "what it led to then"})
    edit(row, {"title": "what it led to then"}, origin=Change.Origin.FEED, now=NOW)
    assert load(as_json(TEN)).changed.first == [("R-3", ["title"])]


def test_only_what_is_left_over_may_be_new(load):
    load(as_json(["R-1"]))
    feed = json.loads(as_json(["R-1"]))
    feed["properties"][0]["modified"] = "2026-05-04"
    assert load(json.dumps(feed)).unchanged.first == ["R-1"]
    assert Property.objects.get().leftover == {"id": "R-1", "modified": "2026-05-04"}
    assert Property.objects.get().revision == 1


def test_a_property_that_somebody_else_makes_meanwhile_gets_the_record_as_an_edit(
    main, tmp_path, load
):
    load(as_json(["R-0"]))
    Property.objects.update(fed_digest="")
    path = tmp_path / "feed"
    path.write_text(as_json(TEN))
    steps = import_feed(main, path, now=NOW)
    next(steps)  # R-0 is known; the nine others are about to be made
    create(main, "R-5", {"title": "Made by hand"}, origin=Change.Origin.ADMIN, now=NOW)
    report = list(steps)[-1]
    assert report.new.first == [r for r in TEN if r not in {"R-0", "R-5"}]
    assert report.changed.first == [
        ("R-5", ["availabilityState", "localizations", "offerType", "title"])
    ]
    assert Property.objects.get(object_reference_id="R-5").desired["title"] == "Wohnung"
    assert Property.objects.count() == 10


def test_what_was_read_is_imported_though_the_file_is_replaced_meanwhile(main, tmp_path, load):
    load(as_json(["R-0"]))
    path = tmp_path / "feed"
    path.write_text(as_json(TEN))
    steps = import_feed(main, path, now=NOW)
    next(steps)
    path.write_text("gone")
    assert list(steps)[-1].new.first == TEN[1:]


def test_a_feed_that_breaks_off_writes_nothing(load):
    with pytest.raises(NotAFeed):
        load(as_json([f"R-{n}" for n in range(300)])[:-2])
    assert not Property.objects.exists()


def test_a_report_knows_how_many_records_there_are(load):
    assert load(as_json([*TEN, "R-0"])).total == 11


def test_cells_are_laid_over_what_stands_there_when_their_row_comes(load, main, tmp_path):
    address = {"street": "Old 1", "locality": "Bern"}
    for reference in ("R-1", "R-2"):
        wanted = {"address": address}
        create(main, reference, wanted, origin=Change.Origin.ADMIN, now=NOW)
    path = tmp_path / "feed"
    path.write_text("objectReferenceId,address.street\nR-1,New 2\nR-2,New 2\n")
    steps = import_feed(main, path, now=NOW)
    next(steps)
    row = Property.objects.get(object_reference_id="R-2")
    moved = {"address": {**address, "locality": "Thun"}}
    edit(row, moved, origin=Change.Origin.ADMIN, now=NOW)
    assert list(steps)[-1].changed.first == [("R-1", ["address"]), ("R-2", ["address"])]
    row.refresh_from_db()
    assert row.desired["address"] == {"street": "New 2", "locality": "Thun"}


def test_a_new_row_of_a_table_says_nothing_where_it_clears_and_is_refused_where_it_is_no_whole(
    load,
):
    report = load(
        "objectReferenceId,title,floor,seller.organization.website.label\n"
        "R-1,One,<empty>,\nR-2,Two,,Our site\n"
    )
    assert (report.new.first, [(r.reference, r.reasons) for r in report.refused.first]) == (
        ["R-1"],
        [("R-2", ["seller.organization.website.url: This value is missing"])],
    )
    row = Property.objects.get()
    assert row.desired == {"objectReferenceId": "R-1", "title": "One"}
    (creation,) = Change.objects.all()
    assert (creation.is_creation, creation.new) == (True, row.desired)

"""What is exported reads back without a change; what a format cannot say is reported."""

import csv
import json
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from openpyxl import load_workbook

from properties import catalog, merge
from properties.domain.editing import edit
from properties.feeds import NotAFeed, Record, documentation
from properties.feeds.recognition import read_feed
from properties.feeds.swissrets import vocabulary
from properties.feeds.swissrets.json_writer import WHOLE, write_json
from properties.feeds.table.table_writer import ColumnNames, write_csv, write_xlsx
from properties.models import Property
from tests.properties import documents
from tests.properties.test_commands import run

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 5, 4, 6, tzinfo=UTC)
REF = "objectReferenceId"
ONE = {REF: "R-1", "title": "Loft"}

law = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
several = st.lists(documents.documents(), min_size=1, max_size=3, unique_by=lambda d: d[REF])


def through(path, stock):
    """Write documents, read them back; the records, and what could not be said of each."""
    if path.suffix == ".json":
        written = list(write_json(path, stock, now=NOW))
    else:
        names = ColumnNames()
        for document in stock:
            names.need(document)
        write = write_csv if path.suffix == ".csv" else write_xlsx
        written = list(write(path, stock, names.ordered()))
    return list(read_feed(path)), dict(written)


def differences(known, record):
    """Return the leaves that an import of the record would change."""
    before = merge.leaves(known)
    changes = record.changes(known)
    return [p for p, value in changes.items() if not catalog.equal(p, value, before.get(p))]


# --- property-based tests


@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
@given(stock=several)
@law
def test_a_table_reads_back_without_a_change_and_without_a_loss(tmp_path, suffix, stock):
    records, unsaid = through(tmp_path / f"stock{suffix}", stock)
    assert [type(record) for record in records] == [Record] * len(stock)
    for document, record in zip(stock, records, strict=True):
        assert differences(document, record) == []
        # Into an empty database: what is not there was reported. Languages come in the order of
        # the columns, and one without a text has none.
        fresh = record.changes({})
        silent = {path.partition(".")[0] for path, _ in unsaid[record.reference]}
        for path, value in merge.leaves(document).items():
            if path.partition(".")[0] not in silent:
                assert catalog.equal(
                    path, by_language(path, value), by_language(path, fresh.get(path))
                )


def by_language(path, value):
    if path != "localizations":
        return value
    texts = [item for item in value or [] if any(v for n, v in item.items() if n != "languageCode")]
    return sorted(texts, key=lambda item: item["languageCode"]) or None


def in_swissrets(field):
    """Say whether a field has a place in SwissRETS, and is not derived from others."""
    moved = {target.partition(".")[0] for _, target in vocabulary.MOVED}
    of_number = field.path in vocabulary.NUMBERS and field.source is not catalog.NameSource.INFERRED
    is_mapped = field.path in moved or of_number
    return is_mapped and field.path not in {"swissReferences", "parentRealtyReferenceId"}


# Words that the reader has nothing to trim from.
tidy = st.text("abcäö 1<>&\"'", min_size=1, max_size=20).map(str.strip).filter(bool)

REQUIRED = {"offerType": "RENT", "availabilityState": "ACTIVE"}  # no record of SwissRETS is without


def test_a_furnished_flat_that_does_not_say_so_is_reported_by_the_export(tmp_path):
    document = REQUIRED | {
        **{REF: "A", "title": "Loft", "propertyCategories": ["FURNISHED_FLAT"]},
        **{"propertyType": "APARTMENT", "localizations": [{"languageCode": "de", "title": "Loft"}]},
    }
    (record,), unsaid = through(tmp_path / "stock.json", [document])
    assert differences(document, record) == ["isFurnished"]
    assert [path for path, _ in unsaid["A"]] == ["isFurnished"]


@given(
    document=documents.documents(tidy, in_swissrets),
    category=st.sampled_from(catalog.FIELDS["propertyCategories"].enum),
    characteristics=documents.members(
        "characteristics", keep=lambda f: f.source is not catalog.NameSource.INFERRED
    ),
)
@law
def test_swissrets_reads_back_all_that_has_a_place_in_it(
    tmp_path, document, category, characteristics
):
    flags = {name for name, _ in vocabulary.CONDITIONS}
    texts = document["localizations"]
    if all(text.keys() <= {"languageCode"} for text in texts):  # as good as none
        texts = [{"languageCode": "de", "title": "Loft"}]
    title = {"title": texts[0]["title"]} if "title" in texts[0] else {}
    document |= (
        REQUIRED
        | {
            "propertyCategories": [category],
            "propertyType": vocabulary.PROPERTY_TYPE_OF.get(category, "OTHER"),
            "localizations": texts,
            "characteristics": {n: v for n, v in characteristics.items() if n not in flags},
        }
        | title
        # What the reader takes from the category, however the document has it.
        | ({"isFurnished": True} if category == "FURNISHED_FLAT" else {})
    )
    records, unsaid = through(tmp_path / "stock.json", [document])
    assert [differences(document, record) for record in records] == [[]]
    assert records[0].document.keys() == {
        n for n, value in document.items() if not catalog.is_empty(n, value)
    }
    assert unsaid == {document[REF]: []}


@given(document=documents.documents())
@law
def test_swissrets_reports_every_leaf_that_does_not_come_back(tmp_path, document):
    document |= REQUIRED
    records, unsaid = through(tmp_path / "stock.json", [document])
    reported = {path for path, _ in unsaid[document[REF]]}
    if WHOLE in reported:
        assert records == []
        return
    before, after = merge.leaves(document), merge.leaves(records[0].document)
    for path in before.keys() | after.keys():
        same = catalog.equal(path, before.get(path), after.get(path))
        assert same == (path not in reported)


# --- what a file looks like


@pytest.mark.parametrize("text", ["=1+1", "+41", "-3", "@a", "\tx", "\rx", "\nx", "'=1", "<empty>"])
def test_a_text_that_a_spreadsheet_would_run_is_escaped_in_csv_only(tmp_path, text):
    document = {**ONE, "title": text}
    for suffix in (".csv", ".xlsx"):
        records, _ = through(tmp_path / f"stock{suffix}", [document])
        assert records[0].document == document
    with (tmp_path / "stock.csv").open(newline="", encoding="utf-8-sig") as file:
        assert list(csv.reader(file)) == [[REF, "title"], ["R-1", f"'{text}"]]


def test_a_formula_in_a_text_is_a_text_in_excel(tmp_path):
    through(tmp_path / "stock.xlsx", [{**ONE, "title": "=1+1"}])
    cell = load_workbook(tmp_path / "stock.xlsx").active["B2"]
    assert (cell.value, cell.data_type) == ("=1+1", "s")


def test_a_table_has_the_columns_that_are_needed_in_the_order_of_the_catalog():
    names = ColumnNames()
    names.need({**ONE, "floor": 0, "prices": {"rent": {"gross": 1}}, "heatingCosts": None})
    names.need({**ONE, "localizations": [{"languageCode": "fr", "title": "a"}], "address": {}})
    assert names.ordered() == [
        REF,
        "title",
        "prices.rent.gross",
        "floor",
        "localizations.fr.title",
    ]


@pytest.mark.parametrize(
    ("fields", "unsaid"),
    [
        ({"newer": 1}, [("newer", "The catalog does not know this field")]),
        ({"address": {"newer": 1}}, [("address.newer", "The catalog does not know this field")]),
        ({"rooms": [{"name": "a"}]}, [("rooms", "Only the platform can change this")]),
        (
            {"heatingDistribution": "UNKNOWN"},
            [
                (
                    "heatingDistribution",
                    "UNKNOWN cannot be sent: leave it out",
                )
            ],
        ),
        ({"address": "Bern"}, [("address", "The catalog does not know this field")]),
        (
            {"localizations": [{"languageCode": "de", "title": "a", "newer": 1}]},
            [("localizations[].newer", "The catalog does not know this field")],
        ),
        (
            {"localizations": [{"title": "a"}]},
            [("localizations", "localizations[0].languageCode: This value is missing")],
        ),
        ({"author": "  "}, [("author", "This text holds only spaces")]),
    ],
)
def test_what_a_table_cannot_say_is_reported_and_left_out(tmp_path, fields, unsaid):
    document = {**ONE, **fields}
    records, said = through(tmp_path / "stock.csv", [document])
    assert said == {"R-1": unsaid}
    assert differences(document, records[0]) == []


def test_a_text_that_excel_has_no_room_for_is_reported_and_left_out(tmp_path):
    document = {**ONE, "localizations": [{"languageCode": "de", "description": "x" * 32_768}]}
    records, unsaid = through(tmp_path / "stock.xlsx", [document])
    assert unsaid == {
        "R-1": [("localizations.de.description", "A cell has at most 32,767 characters")]
    }
    assert differences(document, records[0]) == []


def test_what_appears_while_the_export_runs_is_reported(tmp_path):
    written = list(write_csv(tmp_path / "stock.csv", [ONE], [REF]))
    assert written == [("R-1", [("title", "This was not there when the export began")])]


# --- the command


FEEDS = ["swissrets.xml", "swissrets.json", "idx/unload.txt", "openimmo.xml", "properties.csv"]


@pytest.fixture
def stock(workspace, capsys):
    """Return a workspace with all that our examples hold, and a state where they say none."""
    for name in FEEDS:
        assert run(capsys, "import_properties", "main", ROOT / "examples" / name)[0] == 0
    for row in Property.objects.all():
        row.desired = {"availabilityState": "ACTIVE"} | row.desired
        row.save(update_fields=["desired"])
    return workspace


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".json", ".xml"])
def test_an_export_of_everything_imports_without_a_change(stock, capsys, tmp_path, suffix):
    path = tmp_path / f"all{suffix}"
    code, out, _ = run(capsys, "export_properties", "main", path, "--json")
    report = json.loads(out)
    assert (code, report["exported"], report["left_out"]) == (0, Property.objects.count(), {})
    _, out, _ = run(capsys, "import_properties", "main", path, "--json")
    printed = json.loads(out)
    assert (printed["new"], printed["changed"], printed["refused"]) == ([], {}, [])
    assert len(printed["unchanged"]) == report["exported"]


def test_tables_of_everything_say_all_of_it(stock, capsys, tmp_path):
    for suffix in (".csv", ".xlsx"):
        _, out, _ = run(capsys, "export_properties", "main", tmp_path / f"all{suffix}", "--json")
        assert json.loads(out)["unsaid"] == []


def test_a_selection_is_exported_by_reference(stock, capsys, tmp_path):
    path = tmp_path / "two.csv"
    wanted = ["--reference", "MH-4001", "--reference", "MH-3002"]
    code, out, _ = run(capsys, "export_properties", "main", path, *wanted)
    assert (code, out) == (0, "exported: 2 properties to two.csv\n")
    assert {record.reference for record in read_feed(path)} == {"MH-3002", "MH-4001"}


def test_what_swissrets_has_no_place_for_is_named_with_its_references(stock, capsys, tmp_path):
    path = tmp_path / "one.json"
    _, out, _ = run(capsys, "export_properties", "main", path, "--reference", "MH-4002")
    assert out.splitlines() == [
        "not said  characteristics.hasGarden: SwissRETS has no place for this (MH-4002)",
        "not said  commissions: SwissRETS has no place for this (MH-4002)",
        "not said  customFields: SwissRETS has no place for this (MH-4002)",
        "not said  isFurnished: SwissRETS has no place for this (MH-4002)",
        "exported: 1 properties to one.json",
    ]


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".json", ".xml"])
def test_an_export_is_readable_by_its_user_alone_also_in_the_place_of_an_open_file(
    stock, capsys, tmp_path, suffix
):
    path = tmp_path / f"all{suffix}"
    for _ in range(2):
        assert run(capsys, "export_properties", "main", path)[0] == 0
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.chmod(0o644)


def test_a_property_that_is_no_record_of_swissrets_is_left_out_with_exit_code_3(
    stock, capsys, tmp_path
):
    Property.objects.filter(object_reference_id="MH-4003").update(desired=ONE)
    code, out, error = run(capsys, "export_properties", "main", tmp_path / "all.json")
    total = Property.objects.count()
    assert (code, error) == (3, f"1 of {total} properties were left out")
    assert out.splitlines()[0] == (
        "left out  MH-4003: type is missing; availability.state is missing"
    )


def test_a_property_without_texts_is_a_record_of_swissrets(tmp_path):
    bare, titled = REQUIRED | {REF: "A"}, REQUIRED | {REF: "B", "title": "Loft"}
    stock = [bare, titled, REQUIRED | {REF: "C", "localizations": []}]
    records, unsaid = through(tmp_path / "stock.json", stock)
    changed = [differences(known, record) for known, record in zip(stock, records, strict=True)]
    assert changed == [[], ["localizations"], []]
    otherwise = "SwissRETS would read this back as another value"
    assert unsaid == {"A": [], "B": [("localizations", otherwise)], "C": []}


def test_a_property_without_a_reference_is_left_out(workspace, capsys, tmp_path):
    Property.objects.create(workspace=workspace, object_reference_id="R-1", desired=ONE)
    Property.objects.create(workspace=workspace, platform_id="77", desired={"title": "a"})
    code, out, _ = run(capsys, "export_properties", "main", tmp_path / "all.csv")
    assert (code, out.splitlines()[0]) == (
        3,
        "left out  platform id 77: it has no reference of ours",
    )


@pytest.mark.parametrize(
    ("slug", "name", "more", "expected"),
    [
        ("main", "a.pdf", [], (2, "a.pdf: the name must end with .csv, .json, .xlsx, .xml")),
        ("main", "a.csv", ["--reference", "no"], (2, "no property no in main")),
        ("other", "a.csv", [], (2, "no workspace 'other'; there is: main")),
        ("main", "a.csv", [], (1, "no properties in main; nothing was exported")),
    ],
)
def test_what_cannot_be_exported_says_why_and_writes_nothing(
    workspace, capsys, tmp_path, slug, name, more, expected
):
    code, out, error = run(capsys, "export_properties", slug, tmp_path / name, *more)
    assert ((code, error), out) == (expected, "")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_named_as_the_person_named_it(stock, capsys, tmp_path):
    path = tmp_path / "nowhere" / "all.csv"
    code, out, error = run(capsys, "export_properties", "main", path)
    assert (code, out, error) == (
        1,
        "",
        f"{path}: cannot be written: No such file or directory; nothing was exported",
    )


def test_an_export_that_fails_leaves_the_older_file_alone(stock, capsys, tmp_path, monkeypatch):
    path = tmp_path / "all.xlsx"
    path.write_text("older")
    monkeypatch.setattr("properties.feeds.table.table_writer.MAX_ROWS", 3)
    code, _, error = run(capsys, "export_properties", "main", path)
    assert (code, error) == (
        1,
        "all.xlsx: an Excel sheet has 3 rows: export as CSV; nothing was exported",
    )
    assert (path.read_text(), list(tmp_path.iterdir())) == ("older", [path])


# --- the import of a table


def test_a_table_changes_the_cells_that_it_has_and_clears_what_is_marked(stock, capsys, tmp_path):
    path = tmp_path / "some.csv"
    path.write_text(f"{REF},address.street,floor\nMH-4001,Neugasse,<empty>\n")
    before = Property.objects.get(object_reference_id="MH-4001").desired
    code, out, _ = run(capsys, "import_properties", "main", path, "--json")
    assert (code, json.loads(out)["changed"]) == (0, {"MH-4001": ["address", "floor"]})
    after = {**before, "address": {**before["address"], "street": "Neugasse"}}
    del after["floor"]
    assert Property.objects.get(object_reference_id="MH-4001").desired == after


def test_a_table_counts_whatever_the_last_feed_said_and_is_no_part_of_it(stock, capsys, tmp_path):
    path = tmp_path / "some.csv"
    path.write_text(f"{REF},title\nMH-3001,Seeblick\n")
    kept = Property.objects.get(object_reference_id="MH-3001").leftover
    for _ in range(2):
        run(capsys, "import_properties", "main", path)
        run(capsys, "import_properties", "main", ROOT / "examples" / "idx" / "unload.txt")
        row = Property.objects.get(object_reference_id="MH-3001")
        assert (row.desired["title"], row.leftover) == ("Seeblick", kept)
    edit(row, {"title": "Edited here"}, origin="ADMIN", now=NOW)
    run(capsys, "import_properties", "main", path)
    row.refresh_from_db()
    assert row.desired["title"] == "Seeblick"


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_a_cell_that_makes_no_whole_is_refused_with_what_it_stands_in(
    stock, capsys, tmp_path, more
):
    path = tmp_path / "some.csv"
    path.write_text(f"{REF},address.geo.latitude\nMH-4001,47.1\n")
    code, out, _ = run(capsys, "import_properties", "main", path, "--json", *more)
    assert (code, [r["reasons"] for r in json.loads(out)["refused"]]) == (
        1,
        [["address.geo.longitude: This value is missing"]],
    )


# --- the documentation


def test_the_tables_of_the_documentation_are_those_of_the_readers():
    page = (ROOT / "docs" / "feeds.md").read_text()
    assert documentation.filled(page) == page, (
        "python -m properties.feeds.documentation docs/feeds.md"
    )
    assert all(f"<!-- table: {name} -->" in page for name in documentation.TABLES)


def test_a_feed_of_nothing_is_not_written_as_a_stock(tmp_path):
    (tmp_path / "a.csv").write_text("")
    with pytest.raises(NotAFeed):
        read_feed(tmp_path / "a.csv")

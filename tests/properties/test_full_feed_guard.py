"""A full feed that is empty or lacks too much is refused before the first write."""

import json
from pathlib import Path

import pytest

from properties.feeds.idx.idx_columns import COLUMNS
from properties.models import Change, Property
from tests.properties.test_commands import run

EXAMPLES = Path(__file__).parents[2] / "examples"
ADVICE = "if nothing is wrong with it, import it with --force: what it lacks stays as it is"


def as_json(references):
    texts = [{"languageCode": "de", "title": "Wohnung"}]
    records = [
        {
            "id": r,
            "referenceId": r,
            "type": "rent",
            "availability": {"state": "active"},
            "localizations": texts,
        }
        for r in references
    ]
    return json.dumps({"properties": records})


def as_xml(references):
    records = "".join(
        f'<property id="{r}"><referenceId>{r}</referenceId>'
        "<type>rent</type><availability>active</availability><localizations>"
        '<localization lang="de"><name>Wohnung</name></localization></localizations></property>'
        for r in references
    )
    return f"<export><properties>{records}</properties></export>"


def as_idx(references):
    texts = {"version": "IDX3.01", "object_category": "APPT", "offer_type": "RENT"}
    number = {column.name: column.number for column in COLUMNS}
    lines = []
    for reference in references:
        cells = [""] * len(COLUMNS)
        for name, text in {**texts, "ref_object": reference, "object_title": "Wohnung"}.items():
            cells[number[name]] = text
        lines.append("#".join(cells))
    return "\r\n".join(lines) + "\r\n"


def as_openimmo(references, gone=(), scope="VOLL"):
    """An OpenImmo file: what it brings, and what it takes away."""
    objects = "".join(
        "<immobilie><freitexte><objekttitel>Wohnung</objekttitel></freitexte><verwaltung_techn>"
        f'<objektnr_extern>{r}</objektnr_extern><aktion aktionart="{action}"/>'
        "</verwaltung_techn></immobilie>"
        for action, names in (("CHANGE", references), ("DELETE", gone))
        for r in names
    )
    return f'<openimmo><uebertragung umfang="{scope}"/><anbieter>{objects}</anbieter></openimmo>'


FORMATS = {"json": as_json, "xml": as_xml, "idx": as_idx, "openimmo": as_openimmo}
TEN = [f"R-{n}" for n in range(10)]


@pytest.fixture
def load(main, tmp_path, capsys):
    """Import a feed of the given references; exit code, output, error."""

    def load_(references, *options, kind="json"):
        path = tmp_path / "feed"
        path.write_text(FORMATS[kind](references))
        return run(capsys, "import_properties", "main", path, *options)

    return load_


def state():
    return list(Property.objects.order_by("pk").values()), Change.objects.count()


@pytest.mark.parametrize("kind", FORMATS)
def test_a_feed_that_lacks_more_than_its_share_is_refused_before_the_first_write(load, kind):
    load(TEN, kind=kind)
    before = state()
    code, out, error = load([*TEN[:7], "NEW"], kind=kind)
    assert (code, error) == (
        1,
        "feed: it lacks 3 of the 10 properties that the last feed held"
        f" (at most 2 may be missing); nothing was imported; {ADVICE}",
    )
    assert out.splitlines() == [
        f"missing   R-{n}: not in the feed any more; it stays as it is" for n in (7, 8, 9)
    ]
    assert state() == before


def test_what_an_accepted_feed_lacks_stays_and_is_named_once(load):
    load(TEN)
    before = state()
    code, out, _ = load(TEN[:8])
    assert (code, out.splitlines()) == (
        0,
        [
            "missing   R-8: not in the feed any more; it stays as it is",
            "missing   R-9: not in the feed any more; it stays as it is",
            "imported: 0 new, 0 changed, 8 unchanged, 0 refused, 2 missing",
        ],
    )
    for row in before[0][8:]:
        row["fed_by"] = None
    assert state() == before
    assert load(TEN[:8], "--force")[1] == "imported: 0 new, 0 changed, 8 unchanged, 0 refused\n"


def test_the_share_counts_what_the_last_feed_held_and_not_all_that_ever_came(load):
    for left in range(10, 4, -1):
        assert load(TEN[:left])[0] == 0
    assert load(TEN[:3])[0] == 1


def test_a_property_that_returns_is_expected_again_and_keeps_what_people_wrote(load):
    load(TEN)
    load(TEN[:9])
    Property.objects.filter(object_reference_id="R-9").update(desired={"title": "Edited here"})
    assert load(TEN, "--force")[1].endswith("10 unchanged, 0 refused\n")
    assert Property.objects.get(object_reference_id="R-9").desired == {"title": "Edited here"}
    assert json.loads(load(TEN[:9], "--json")[1])["missing"] == ["R-9"]


@pytest.mark.parametrize("kind", ["json", "xml"])
def test_an_empty_feed_is_refused_even_where_nothing_is_known(load, kind):
    code, _, error = load([], kind=kind)
    assert (code, error) == (1, f"feed: it holds no properties; nothing was imported; {ADVICE}")


def test_force_imports_what_is_there_and_leaves_the_rest_as_it_is(load):
    load(TEN)
    rows = state()[0]
    code, out, _ = load(["R-0", "NEW"], "--force", "--json")
    assert (code, json.loads(out)["missing"]) == (0, TEN[1:])
    assert Property.objects.count() == 11
    assert [row["desired"] for row in state()[0][:10]] == [row["desired"] for row in rows]
    code, out, _ = load([], "--force")
    assert (code, out.splitlines()[-1]) == (
        0,
        "imported: 0 new, 0 changed, 0 unchanged, 0 refused, 2 missing",
    )


def test_a_dry_run_shows_what_would_come_and_that_it_would_be_refused(load):
    load(TEN)
    before = state()
    code, out, error = load(["R-0", "NEW"], "--dry-run", "--json")
    document = json.loads(out)
    assert (code, document["new"], document["missing"]) == (1, ["NEW"], TEN[1:])
    stopped = "it lacks 9 of the 10 properties that the last feed held (at most 2 may be missing)"
    assert document["stopped"] == stopped
    assert error == f"feed: {stopped}; it would be refused; {ADVICE}"
    assert load(["R-0", "NEW"], "--dry-run", "--force")[0] == 0
    assert state() == before


def test_the_share_is_a_setting(load, settings):
    settings.FEED_MISSING_SHARE = 0.5
    load(TEN)
    assert load(TEN[:5])[0] == 0
    settings.FEED_MISSING_SHARE = 0
    assert load(TEN[:4])[0] == 1
    assert load(TEN[:5])[0] == 0


def test_a_refused_record_is_there_all_the_same(load):
    load(TEN)
    assert load([*TEN[:8], *TEN[:8], "R-8", "R-9"])[0] == 3
    assert Property.objects.filter(fed_by="SWISSRETS_JSON").count() == 10


def test_what_no_feed_brought_is_not_missed(load, main):
    for number in range(5):
        Property.objects.create(workspace=main, object_reference_id=f"M-{number}")
    load(TEN)
    assert load(TEN, "--force")[:2] == (0, "imported: 0 new, 0 changed, 10 unchanged, 0 refused\n")


def test_another_sender_in_another_format_is_not_missed_unless_the_feeds_share_properties(load):
    load(TEN)
    assert load(["X-1", "X-2"], kind="xml")[:2] == (
        0,
        "new       X-1\nnew       X-2\nimported: 2 new, 0 changed, 0 unchanged, 0 refused\n",
    )
    assert load(TEN)[0] == 0
    assert load(["X-1", "X-2", "R-0"], kind="xml")[0] == 1
    assert load([*TEN, "X-1", "X-2"], kind="xml")[1].endswith("12 unchanged, 0 refused\n")
    assert set(Property.objects.values_list("fed_by", flat=True)) == {"SWISSRETS_XML"}


def test_a_table_is_a_part_of_the_stock(load, tmp_path, capsys):
    load(TEN)
    path = tmp_path / "stock.csv"
    path.write_text("objectReferenceId,title\nR-1,New\n")
    code, out, _ = run(capsys, "import_properties", "main", path)
    assert (code, out.splitlines()[-1]) == (
        0,
        "imported: 0 new, 1 changed, 0 unchanged, 0 refused",
    )
    assert load(TEN, "--force")[1].endswith("10 unchanged, 0 refused\n")

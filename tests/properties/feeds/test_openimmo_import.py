"""Full and partial transmissions of OpenImmo, what they take away, and the export."""

import json
import zipfile
from pathlib import Path

import pytest

from properties.models import Change, Property, Sender
from tests.properties.test_commands import run
from tests.properties.test_full_feed_guard import TEN, as_openimmo
from tests.properties.uploaded import states

ROOT = Path(__file__).parents[3]


@pytest.fixture
def load(main, tmp_path, capsys):
    """Import a file of a sender; its report."""

    def load_(text, *options, code=0, sender="Agency"):
        path = tmp_path / "feed.xml"
        path.write_text(text)
        found, out, err = run(
            capsys, "import_properties", "main", path, "--sender", sender, "--json", *options
        )
        assert found == code, (out, err)
        return json.loads(out)

    return load_


def part(brought=(), gone=()):
    return as_openimmo(brought, gone, "TEIL")


def test_a_part_of_the_stock_lacks_nothing(agency, load):
    load(as_openimmo(TEN))
    report = load(part(["R-1", "R-NEW"]))
    assert (report["new"], report["missing"]) == (["R-NEW"], [])
    assert set(states().values()) == {"ACTIVE"}
    # The next full feed misses what the part has brought, too.
    assert load(as_openimmo(TEN))["missing"] == ["R-NEW"]


def test_what_a_part_takes_away_is_missing_and_stays_here(agency, load):
    load(as_openimmo(TEN))
    before = dict(Property.objects.values_list("object_reference_id", "desired"))
    report = load(part(gone=TEN[:6]))
    assert report["missing"] == TEN[:6]
    after = dict(Property.objects.values_list("object_reference_id", "desired"))
    assert after == {
        name: known | ({"availabilityState": "PRIVATE"} if name in TEN[:6] else {})
        for name, known in before.items()
    }
    assert set(Change.objects.filter(origin="MISSING").values_list("path", flat=True)) == {
        "availabilityState"
    }


def test_what_was_sold_when_it_left_is_sold_when_it_comes_back(main, load):
    Sender.objects.create(workspace=main, name="Agency", missing="SET_STATE", missing_state="TAKEN")
    sold = (f'stand="{stand}"' for stand in ("OFFEN", "VERKAUFT"))
    to_let, sold = (
        part(["R-1"]).replace(
            "<immobilie>",
            f"<immobilie><zustand_angaben><verkaufstatus {one}/></zustand_angaben>",
        )
        for one in sold
    )
    found = []
    for feed in (to_let, part(gone=["R-1"]), sold, part(gone=["R-1"]), sold):
        load(feed)
        found.append(states()["R-1"])
    assert found == ["ACTIVE", *["TAKEN"] * 4]


def test_it_is_only_listed_if_the_sender_says_so(main, load):
    Sender.objects.create(workspace=main, name="Agency")
    load(as_openimmo(TEN))
    assert load(part(gone=["R-3"]))["missing"] == ["R-3"]
    assert states()["R-3"] == "ACTIVE"


def test_a_dry_run_shows_what_would_be_taken_away_and_changes_nothing(agency, load):
    load(as_openimmo(TEN))
    assert load(part(gone=["R-3"]), "--dry-run")["missing"] == ["R-3"]
    assert states()["R-3"] == "ACTIVE"


def test_what_is_taken_away_twice_or_is_not_here_changes_nothing(agency, load):
    load(as_openimmo(TEN))
    load(part(gone=["R-3"]))
    changes = Change.objects.count()
    assert load(part(gone=["R-3", "R-99"]))["missing"] == []
    assert (Change.objects.count(), Property.objects.count()) == (changes, 10)


def test_what_comes_back_has_the_state_that_it_had(agency, load):
    load(as_openimmo(TEN))
    load(part(gone=["R-3"]))
    load(part(["R-3"]))
    assert states()["R-3"] == "ACTIVE"


def test_one_sender_takes_nothing_away_from_another(agency, main, load):
    Sender.objects.create(workspace=main, name="Other")
    load(as_openimmo(TEN))
    assert load(part(["O-1"], gone=["R-3"]), sender="Other")["missing"] == []
    assert states()["R-3"] == "ACTIVE"


def test_what_a_full_feed_takes_away_is_missing_in_it(agency, load):
    load(as_openimmo(TEN))
    assert load(as_openimmo(TEN[:9], ["R-9"]))["missing"] == ["R-9"]
    assert states()["R-9"] == "PRIVATE"


def test_files_in_turn_change_what_each_says_and_the_same_file_again_nothing(agency, load):
    load(as_openimmo(TEN))
    load(part(["R-1"], gone=["R-2"]))
    load(part(["R-2"], gone=["R-1"]))
    assert (states()["R-1"], states()["R-2"]) == ("PRIVATE", "ACTIVE")
    changes = Change.objects.count()
    load(part(["R-2"], gone=["R-1"]), "--force")
    assert Change.objects.count() == changes


def test_a_zip_with_pictures_is_unpacked_and_names_what_is_left_out(main, tmp_path, capsys):
    path = tmp_path / "delivery.zip"
    with zipfile.ZipFile(path, "w") as packed:
        packed.write(ROOT / "examples" / "openimmo.xml", "openimmo.xml")
        packed.writestr("wohnzimmer.jpg", b"\xff\xd8\xff")
    code, out, _ = run(capsys, "import_properties", "main", path, "--json")
    report = json.loads(out)
    assert (code, report["new"]) == (0, ["MH-6001", "MH-6002"])
    assert report["warnings"] == [
        "openimmo.xml is read, and left out of what is packed with it: wohnzimmer.jpg"
    ]


def test_an_export_names_what_the_format_cannot_say_and_still_brings_it_back(
    main, tmp_path, capsys
):
    run(capsys, "import_properties", "main", ROOT / "examples" / "properties.csv")
    path = tmp_path / "one.xml"
    _, out, _ = run(capsys, "export_properties", "main", path, "--reference", "MH-4002")
    assert out.splitlines() == [
        "not said  customFields: OpenImmo has no place for this (MH-4002)",
        "not said  isFurnished: OpenImmo has no place for this (MH-4002)",
        "not said  localizations: OpenImmo cannot say this exactly (MH-4002)",
        "exported: 1 properties to one.xml",
    ]
    _, out, _ = run(capsys, "import_properties", "main", path, "--json")
    assert json.loads(out)["unchanged"] == ["MH-4002"]

"""The same text is the same value, or refused for the same reason, by whatever door it comes."""

import csv
import io
import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings, strategies as st

from properties.catalog import FIELDS, validate
from properties.catalog.numbers import Unreadable
from properties.feeds import Profile, Record
from properties.feeds.recognition import read_feed
from properties.forms import input_values
from tests.properties.feeds.idx_lines import line

ZONE = "Europe/Zurich"
# The column of IDX and the place in SwissRETS of fields with as many units.
NUMBERS = {
    "areaBwf": ("surface_living", "characteristics.areaBwf"),
    "numberOfRooms": ("number_of_rooms", "characteristics.numberOfRooms"),
    "numberOfFloors": ("number_of_floors", "characteristics.numberOfFloors"),
    "floor": ("floor", "characteristics.floor"),
    "yearBuilt": ("year_built", "characteristics.yearBuilt"),
    "ceilingHeight": ("ceiling_height", "characteristics.ceilingHeight"),
    "buildingVolume": ("volume", "characteristics.volumeGva"),
    "prices.rent.net": ("rent_net", "prices.rent.net"),
    "utilizationRatio": ("gardenhouse", "characteristics.utilizationRatio"),
    "grossPremium": ("gardenhouse", "characteristics.grossPremium"),
}
HARMLESS = "words that say nothing, and are no mistake"
PIECES = (
    *"0123456789'\u2019., -+½%eE_",
    *("000", "250", "1'250", "ca. ", " m2", " m²", "CHF ", "EUR ", ".--", "EG", "2. UG", "٣"),
)
number_texts = st.lists(st.sampled_from(PIECES), min_size=1, max_size=7).map("".join)


def by_form(path, text):
    """Return what the form makes of a text: its value, or why it refuses it."""
    try:
        value = input_values.read(FIELDS[path], text, ZoneInfo(ZONE))
    except Unreadable as error:
        return str(error)
    faults = validate(path, value)
    return faults[0].message if faults else value


def by_file(content, path, flags=None):
    """Return what a feed makes of a text: its value, or why it sets it aside."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "feed"
        file.write_text(content, encoding="utf-8", newline="")
        profile = Profile(zone=ZONE, flags=flags or {})
        (record,) = [item for item in read_feed(file, profile) if isinstance(item, Record)]
    value = record.document
    for member in path.split("."):
        value = value.get(member) if value else None
    if value is not None:
        assert record.warnings == ()
        return value
    return record.warnings[0].partition(": ")[2] if record.warnings else HARMLESS


def by_table(path, text):
    rows = io.StringIO()
    csv.writer(rows).writerows([["objectReferenceId", path], ["R-1", text]])
    return by_file(rows.getvalue(), path)


def by_idx(path, column, text):
    flags = {column: path} if column == "gardenhouse" else {}
    return by_file(f"{line(**{column: text})}\r\n", path, flags)


def by_swissrets(path, place, text):
    record = {
        "id": "1",
        "referenceId": "R-1",
        "type": "rent",
        "availability": {"state": "active"},
        "localizations": [{"languageCode": "de", "title": "Wohnung"}],
    }
    *parents, name = place.split(".")
    holder = record
    for parent in parents:
        holder = holder.setdefault(parent, {})
    holder[name] = text
    return by_file(json.dumps({"properties": [record]}), path)


def is_plain(text):
    """Say whether a table takes a text as it stands: without apostrophes that guard a formula."""
    return bool(text.strip()) and not text.startswith("'")


@settings(max_examples=300)
@given(path=st.sampled_from(sorted(NUMBERS)), text=number_texts.filter(is_plain))
@example(path="areaBwf", text="3_5")
@example(path="numberOfRooms", text="4½")
@example(path="areaBwf", text="85,5")
@example(path="prices.rent.net", text="1'250.--")
@example(path="prices.rent.net", text="CHF 1'250.-")
@example(path="floor", text="2. UG")
@example(path="areaBwf", text="1,250")
@example(path="grossPremium", text="2,5 %")
@example(path="areaBwf", text="٣")
@example(path="areaBwf", text="-5")
@example(path="areaBwf", text="nan")
@example(path="areaBwf", text="1e999")
@example(path="numberOfFloors", text="1e20")
@example(path="yearBuilt", text="1.985")
@example(path="areaBwf", text="9" * 70)
def test_a_number_is_the_same_by_form_table_idx_and_swissrets(path, text):
    column, place = NUMBERS[path]
    wanted = by_table(path, text)
    if not re.search(r"\d,\d{3}(?!\d)", text):  # a person who reads English means thousands
        assert repr(by_form(path, text)) == repr(wanted)
    by_line = by_idx(path, column, text)
    if by_line == HARMLESS:  # a 0 or a word says nothing there, nor does half an apartment
        assert wanted == 0 or isinstance(wanted, str)
    else:
        assert repr(by_line) == repr(wanted)
    if not re.search(r"\d\.\d{3}(?!\d)", text):
        assert repr(by_swissrets(path, place, text)) == repr(wanted)


def test_a_comma_groups_thousands_for_a_person_who_reads_english_and_is_unclear_elsewhere():
    unclear = "“1,250” is unclear: write 1250 or 1.25"
    assert by_form("areaBwf", "1,250") == 1250
    assert by_table("areaBwf", "1,250") == by_idx("areaBwf", "surface_living", "1,250") == unclear


def test_a_point_is_the_decimal_mark_of_swissrets_and_unclear_elsewhere():
    unclear = "“1.250” is unclear: write 1250 or 1.25"
    assert by_form("areaBwf", "1.250") == by_table("areaBwf", "1.250") == unclear
    assert by_idx("areaBwf", "surface_living", "1.250") == unclear
    assert by_swissrets("areaBwf", "characteristics.areaBwf", "1.250") == 1.25


days = st.dates().map("{:%Y-%m-%d}".format) | st.dates().map("{0.day}.{0.month}.{0.year}".format)
parts = st.tuples(st.integers(0, 40), st.sampled_from("./- "), st.integers(0, 20))
broken = st.builds(lambda p, y: f"{p[0]}{p[1]}{p[2]}{p[1]}{y}", parts, st.integers(1, 3000))


@given(text=days | broken)
@example(text="31.02.2026")
@example(text="01/02/2026")
@example(text="1-10-2026")
def test_a_day_is_the_same_by_form_table_idx_and_swissrets(text):
    path = "availabilityStartAt"
    wanted = by_form(path, text)
    assert by_table(path, text) == wanted
    assert by_swissrets(path, "availability.start", text) == wanted
    by_line = by_idx(path, "available_from", text)
    assert by_line == wanted or by_line == wanted.replace(
        "a time such as 2026-01-31 09:00", "a date such as 2026-01-31"
    )


@given(
    day=days,
    time=st.times().map("{:%H:%M}".format) | st.times().map("{:%H:%M:%S}".format),
    offset=st.sampled_from(["", "Z", "+01:00", "-0230"]),
    between=st.sampled_from(["T", " "]),
)
@example(day="2026-07-01", time="09:00", offset="", between=" ")
@example(day="0001-01-01", time="00:00", offset="+01:00", between="T")
def test_a_time_is_the_same_by_form_table_and_swissrets(day, time, offset, between):
    path, text = "availabilityStartAt", f"{day}{between}{time}{offset}"
    wanted = by_form(path, text)
    assert by_table(path, text) == wanted
    assert by_swissrets(path, "availability.start", text) == wanted


def test_a_time_without_an_offset_is_in_the_zone_of_the_installation():
    assert by_form("availabilityStartAt", "01.07.2026 09:00") == "2026-07-01T07:00:00Z"
    assert by_form("availabilityStartAt", "2026-01-01T09:00:00") == "2026-01-01T08:00:00Z"


@pytest.mark.parametrize(
    "text", ["ja", "Oui", "1", "0", "WAHR", "x", "nein", "falso", "Y", "N", "maybe", "2", "true"]
)
def test_a_yes_or_no_is_the_same_by_form_table_idx_and_swissrets(text):
    wanted = by_form("isFurnished", text)
    assert by_table("isFurnished", text) == wanted
    assert by_idx("isFurnished", "gardenhouse", text) == wanted
    state = {True: "APPLIES", False: "DOES_NOT_APPLY"}.get(wanted)
    path = "characteristics.hasElevator"
    if state:
        assert by_table(path, text) == by_idx(path, "elevator", text) == state
        assert by_swissrets(path, path, text) == state

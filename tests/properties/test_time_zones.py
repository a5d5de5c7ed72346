"""The times of a property are in one zone, in its form, its history and in tables; each says so."""

import csv
from datetime import UTC, datetime

import pytest
from openpyxl import load_workbook

from properties.admin.words import in_one_line
from properties.domain.editing import create
from properties.exports.export_file import written
from properties.feeds.recognition import read_feed
from properties.forms import PropertyForm
from properties.imports.engine import import_feed
from properties.models import Property

NOW = datetime(2026, 5, 4, 6, tzinfo=UTC)
REF = "objectReferenceId"


@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
def test_a_table_and_the_form_say_a_time_in_the_same_zone(main, tmp_path, settings, suffix):
    settings.TIME_ZONE = "Europe/Zurich"
    summer, winter, day = "2026-07-01T07:00:00Z", "2026-01-31T23:30:00Z", "2026-03-01"
    for name, at in (("R-1", summer), ("R-2", winter), ("R-3", day)):
        create(main, name, {"availabilityStartAt": at}, origin="ADMIN", now=NOW)
    path = tmp_path / f"stock{suffix}"
    list(written(path, Property.objects.order_by("pk")))
    if suffix == ".csv":
        rows = list(csv.reader(path.read_text("utf-8-sig").splitlines()))
    else:
        rows = [[cell.value for cell in row] for row in load_workbook(path).active]
    assert [row[1] for row in rows[1:]] == [
        "2026-07-01T09:00:00+02:00",
        "2026-02-01T00:30:00+01:00",
        "2026-03-01",
    ]
    shown = [
        PropertyForm(person=None, instance=one).fields["availabilityStartAt"].shown
        for one in Property.objects.order_by("pk")
    ]
    assert shown == ["2026-07-01T09:00:00", "2026-02-01T00:30:00", "2026-03-01"]
    read = [one.document["availabilityStartAt"] for one in read_feed(path)]
    assert read == [summer, winter, day]
    assert [in_one_line("availabilityStartAt", at) for at in (summer, winter, day)] == [
        "Wed 1 Jul 2026, 09:00 CEST",
        "Sun 1 Feb 2026, 00:30 CET",
        "Sun 1 Mar 2026",
    ]


def test_a_time_of_a_table_without_an_offset_is_in_the_zone_of_the_form(main, tmp_path, settings):
    settings.TIME_ZONE = "Europe/Zurich"
    path = tmp_path / "stock.csv"
    path.write_text(f"{REF},availabilityStartAt\nR-1,01.07.2026 09:00\n")
    list(import_feed(main, path, now=NOW))
    assert Property.objects.get().desired["availabilityStartAt"] == "2026-07-01T07:00:00Z"

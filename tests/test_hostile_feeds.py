"""Hostile values in every text of the feeds that we only read: each record is taken or refused."""

import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

import pytest
from django.utils.timezone import now
from lxml import etree

from crm_sync.models import Workspace
from properties.feeds.idx.idx_columns import COLUMNS
from properties.imports.engine import import_feed
from properties.imports.report import ImportReport
from properties.models import Property
from tests.hostile import HOSTILE, UNSTORABLE
from tests.properties.feeds.idx_lines import NUMBER, line

pytestmark = pytest.mark.django_db
EXAMPLES = Path(__file__).parents[1] / "examples"
NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
NOT_IN_IDX = re.compile("[#\r\n\ud800-\udfff]")  # the separators, and what no encoding has
values = HOSTILE | UNSTORABLE
every_value = pytest.mark.parametrize("value", values.values(), ids=values)


def imported(workspace: Workspace, path: Path) -> ImportReport:
    """Import a file and return the last report."""
    return list(import_feed(workspace, path, now=now()))[-1]


def accounted(report: ImportReport) -> int:
    """Return how many records have an outcome. Each one that is refused says why."""
    assert all(one.reasons for one in report.refused.first)
    return report.new.count + report.refused.count


@every_value
def test_each_line_of_idx_with_the_value_in_a_column_is_taken_or_refused(value, main, tmp_path):
    path, text = tmp_path / "unload.txt", NOT_IN_IDX.sub(" ", value)
    names = sorted(NUMBER.keys() - {"version"}, key=NUMBER.get)
    lines = [line(**{"ref_object": f"R-{NUMBER[name]}", name: text}) for name in names]
    path.write_bytes("\r\n".join(lines).encode() + b"\r\n")
    report = imported(main, path)
    assert accounted(report) == len(COLUMNS) - 1
    (row,) = Property.objects.filter(object_reference_id=f"R-{NUMBER['object_title']}")
    if text.isprintable() and "&" not in text and len(text) < 255:
        assert row.desired["title"] == text


def one_changed(feed: etree._Element, text: str) -> Iterator[etree._Element]:
    """Yield the first property once for each text and each attribute in it, with that one set."""
    (first, *_) = feed.iter("property")
    places = [(n, "") for n, one in enumerate(first.iter()) if (one.text or "").strip()]
    places += [(n, name) for n, one in enumerate(first.iter()) for name in one.attrib]
    for number, (place, name) in enumerate(places):
        made = deepcopy(first)
        made.set("id", f"{number}")
        made.find("referenceId").text = f"R-{number}"
        at = list(made.iter())[place]
        if name:
            at.set(name, text)
        else:
            at.text = text
        yield made


@every_value
def test_each_record_of_swissrets_with_the_value_in_a_text_is_taken_or_refused(
    value, main, tmp_path
):
    feed = etree.parse(EXAMPLES / "swissrets.xml").getroot()
    rows, text = feed.find("properties"), NOT_IN_XML.sub("", value)
    made = list(one_changed(feed, text))
    rows[:] = made
    path = tmp_path / "feed.xml"
    path.write_bytes(etree.tostring(feed, encoding="utf-8"))
    report = imported(main, path)
    assert accounted(report) == len(made)
    assert report.new.count > len(made) / 2

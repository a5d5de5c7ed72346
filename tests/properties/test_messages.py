"""What people read at a field or of a file: no pattern, no section, no path, no word of Python."""

import csv
import io
import json
import re
import zipfile
from pathlib import Path

import pytest
from openpyxl import Workbook

from properties.catalog import FIELDS, Kind, misplaced, parsing, validate
from properties.catalog.validation import PATTERNS
from properties.feeds import NotAFeed, Profile, Record, Refusal
from properties.feeds.idx.idx_columns import COLUMNS, As
from properties.feeds.recognition import read_feed
from properties.feeds.table.table_columns import COLUMNS as TABLE
from tests.properties.feeds.idx_lines import line
from tests.properties.form_page import errors, make, opened, save

BAD = (
    *(
        "x" * 300,
        "Fr.",
        "ch",
        "1.250",
        "3_5",
        "31.02.2026",
        "perhaps",
        "UNKNOWN",
        "a\x00b",
        "\ud800",
    ),
    *("igloo", "99999", "-1", "1e999", "/"),
    *(7, -1, 1.5, 1e300, float("nan"), 10**400, True, ["x"], [{}], [1], {"a": 1}, {"": "x"}, {}),
)
TEXTS = [value for value in BAD if isinstance(value, str) and value.isprintable()]
PARSER = re.compile(
    r"§|\b[A-Z]\w*(?:Error|Exception|Forbidden)\b|\[\^?\w-\w|\\[dws]|\{\d+(?:,\d*)?\}|Traceback"
    r"|codec|<undefined>|\bNone\b|b'|\bchar \d|delimiter|errno|Errno|CRC"
)


def assert_for_people(message, path=""):
    assert message
    assert not PARSER.search(message), message
    if path:
        assert not message.startswith(path), message
        assert not re.search(rf"(?:^|\W){re.escape(path)}(?:$|\W)", message) or "." not in path, (
            message
        )


@pytest.mark.parametrize("path", sorted(FIELDS))
def test_each_message_of_the_catalog_is_for_people(path):
    for value in BAD:
        for fault in validate(path, value):
            assert_for_people(fault.message, fault.path)
        if isinstance(value, str) and (said := parsing.fault(FIELDS[path], value)):
            assert_for_people(said, path)
    if fault := misplaced(path):
        assert_for_people(fault.message)


def test_each_pattern_of_the_catalog_has_an_example():
    assert {field.pattern for field in FIELDS.values()} - {""} == PATTERNS.keys()
    (fault,) = validate("prices", {"currency": "Fr."})
    assert fault.message == "Use a three-letter code such as CHF"


@pytest.mark.parametrize("text", TEXTS)
def test_each_message_of_the_form_is_for_people(admin_client, main, text):
    row = make(main, title="Flat")
    told = errors(save(admin_client, row, **dict.fromkeys(_inputs(admin_client, row), text)))
    assert told
    for path, messages in told.items():
        for message in messages:
            assert_for_people(message, path)


def _inputs(client, row):
    """Return the names of the inputs that stand for a field of the catalog."""
    return [
        name
        for name in opened(client, row)
        if "." in name or (name in FIELDS and FIELDS[name].kind is not Kind.ENUM_LIST)
    ]


def told_of(path, **profile):
    """Return all that is said of a file: why it is none, of its records, of their values."""
    try:
        items = list(read_feed(path, Profile(**profile)))
    except NotAFeed as error:
        return [str(error)]
    refused = [reason for item in items if isinstance(item, Refusal) for reason in item.reasons]
    warned = [text for item in items if isinstance(item, Record) for text in item.warnings]
    return refused + warned


@pytest.mark.parametrize("lenient", [True, False])
@pytest.mark.parametrize("text", TEXTS)
def test_each_message_of_a_bad_value_in_a_feed_is_for_people(tmp_path, text, lenient):
    rows = io.StringIO()
    names = [name for name in TABLE if name != "objectReferenceId"]
    csv.writer(rows).writerows([["objectReferenceId", *names], ["R-1", *[text] * len(names)]])
    read = {c.name for c in COLUMNS if c.read not in {As.RULE, As.KEPT} and c.number > 4}
    record = {
        "id": "1",
        "referenceId": "R-1",
        "type": text,
        "availability": {"state": text, "start": text},
        "localizations": [{"languageCode": text, "title": "x"}],
        "prices": {"currency": text, "rent": {"net": text}},
        "address": {"countryCode": text, "geo": {"latitude": text}},
        "characteristics": {name: text for name, field in FIELDS.items() if "." not in name},
    }
    contents = {
        "table": rows.getvalue(),
        "idx": line(**dict.fromkeys(read, text)) + "\r\n",
        "swissrets": json.dumps({"properties": [record]}),
    }
    for name, content in contents.items():
        path = tmp_path / name
        path.write_text(content, encoding="utf-8", newline="")
        for message in told_of(path, lenient=lenient):
            assert_for_people(message)
            place, _, said = message.partition(": ")
            assert not said.startswith(place), message


SHEET = "xl/worksheets/sheet1.xml"


def workbook(**parts):
    """Return a workbook with other parts; without one where it is None."""
    book, whole, made = Workbook(), io.BytesIO(), io.BytesIO()
    book.active.append(["objectReferenceId", "title"])
    book.save(whole)
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            content = parts.get(Path(name).stem, old.read(name))
            if content is not None:
                new.writestr(name, content)
    return made.getvalue()


ENTITY = b'<!DOCTYPE x [<!ENTITY a "b">]>'
HEADER = b"objectReferenceId,title\nR-1,"
FILES = {
    "XML that breaks off": b"<export><properties><property id='1'>",
    "XML with an entity": ENTITY + b"<export><properties>&a;</properties></export>",
    "XML in no encoding": b"<?xml version='1.0' encoding='utf-99'?><export/>",
    "XML with a bad byte": b"<export><properties>\xff\xfe</properties></export>",
    "HTML": b"<html><body/></html>",
    "JSON that breaks off": b'{"properties":[{"id":"1"',
    "JSON with a mistake": b'{"properties":[{]}',
    "JSON with a bad byte": b'{"properties":["\xff"]}',
    "JSON with NaN": b'{"properties":[{"id": NaN}]}',
    "JSON with a number too large": b'{"properties":[{"id": 1e99999}]}',
    "CSV that breaks off": HEADER + b'"x',
    "CSV with a bad byte": HEADER + b"\x81x\n",
    "CSV with a quote": HEADER + b'"x"y\n',
    "CSV with a giant cell": HEADER + b"x" * 200_000 + b"\n",
    "CSV in half UTF-8": HEADER + "Kü".encode() + b"\xf6\n",
    "a workbook that breaks off": workbook()[:2000],
    "a workbook without styles": workbook(styles=b"<x"),
    "a workbook with a broken sheet": workbook(sheet1=b"<worksheet><sheetData><row>"),
    "a workbook with an entity": workbook(sheet1=ENTITY + b"<worksheet>&a;</worksheet>"),
    "a workbook without a list of parts": workbook(**{"[Content_Types]": b"<x/>"}),
    "a workbook without a book": workbook(workbook=None),
    "a workbook with a flipped bit": workbook().replace(
        b"worksheets/sheet1", b"worksheets/sheet2", 1
    ),
    "rubbish of a ZIP": b"PK\x03\x04rubbish",
    "an IDX line cut short": b"IDX3.01#a#b\r\n",
    "an older IDX": b"IDX2.00#APPT\r\n",
    "nothing": b"",
    "bytes": bytes(range(256)),
}


@pytest.mark.parametrize("name", FILES)
def test_each_message_of_a_broken_file_is_for_people(tmp_path, name):
    path = tmp_path / "stock"
    path.write_bytes(FILES[name])
    messages = told_of(path)
    assert messages
    for message in messages:
        assert_for_people(message)

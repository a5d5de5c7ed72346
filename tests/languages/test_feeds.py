"""What the readers say of a feed is read in the language of the reader, also from their process."""

import io
import json
import zipfile

import pytest
from django.utils import translation
from openpyxl import Workbook

from crm_sync.sentence import Sentence, said
from lab.benchmarks.imports import record
from properties.feeds import NotAFeed, Profile, Record, Refusal, open_feed
from properties.feeds.recognition import read_feed
from properties.feeds.records import FileWarning
from properties.feeds.unpack import NotUnpacked, unpack
from tests.properties.feeds.idx_lines import line

STRICT = Profile(lenient=False)
IDX = line(ref_object="A", selling_price="viel", offer_type="SALE", agency_phone="-")


def faulty(**values):
    """Return a record of SwissRETS with these members, as JSON has it."""
    return json.dumps({"properties": [record(1) | values]}).encode()


def table(*rows):
    return "\n".join(rows).encode()


def workbook(*rows):
    book, file = Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.create_sheet("Notes").sheet_state = "hidden"
    book.save(file)
    return file.getvalue()


FILES = {
    "empty": b"",
    "a PDF": b"%PDF-1.7",
    "no feed": b"\x01\x02",
    "no table": b"a,b\n1,2\n",
    "no SwissRETS": b'{"x": 1}',
    "no SwissRETS in XML": b"<a/>",
    "broken JSON": faulty()[:-3],
    "broken XML": b"<export><properties><property>",
    "entities": b'<!DOCTYPE a [<!ENTITY b "c">]><export/>',
    "too deep": b"<export>" + b"<a>" * 100,
    "another version": b"IDX2.00#",
    "a repeated column": table("title,title", "a,b"),
    "broken CSV": table("objectReferenceId,title", '"1'),
    "a cut row": table("objectReferenceId,title", "1,a", "2"),
    "another encoding": table("objectReferenceId,title", "1,ä") + b"\n2,\xff",
    "too many columns": ",".join(["objectReferenceId", *map(str, range(600))]).encode(),
    "a broken workbook": workbook(["objectReferenceId"])[:-200],
    "no workbook": b"PK\x03\x04",
    "values": faulty(address={"country": "Schweiz"}, categories=["NOPE"], type="GIVE"),
    "numbers": faulty(prices={"currency": "Fr.", "buy": {"price": "viel"}}),
    "a language": faulty(localizations=[{"languageCode": "x", "title": "1"}]),
    "a variant": faulty(localizations=[{"languageCode": "de-CH", "title": "1"}]),
    "no references": faulty(referenceId=None, availability={}),
    "a contact": faulty(seller={"contactPerson": {"phone": "-"}, "inquiryPerson": {"email": "-"}}),
    "a long text": faulty(author="x" * 140_000),
    "no object": b'{"properties": [1]}',
    "a repeated name": faulty()[:-3] + b', "author": "a", "author": "b"}]}',
    "a project": b'{"projects": [], ' + faulty(unitReferenceId="U")[1:],
    "IDX": IDX.encode(),
    "columns of IDX": IDX.encode() + b"\n" + IDX.replace("#A#", "#A#x#").encode() + b"\n",
    "cells": table("objectReferenceId,title,yearBuilt,Foo,descr", "1,a,99999,x,y", "1,b", "2,c,d"),
    "cells of a workbook": workbook(
        ["objectReferenceId", "title", "areaUsable", "yearBuilt", "Foo"],
        ["1", True, "=1+1", "#N/A", 1],
        ["1", "a", "viel", 1.5, None],
        [None, "a", True, None, None],
    ),
}


def told(items):
    """Return each text for people of the items, and of the error with which they end."""
    try:
        for one in items:
            if isinstance(one, Record | Refusal):
                yield one.position
            if isinstance(one, Record):
                yield from one.warnings
            elif isinstance(one, Refusal):
                yield from one.reasons
            elif isinstance(one, FileWarning):
                yield one.text
    except NotAFeed as error:
        yield str(error)


def read(read_as, path, profile):
    try:
        return [*told(read_as(path, profile))]
    except NotAFeed as error:  # at once
        return [str(error)]


@pytest.fixture
def path(tmp_path, request):
    path = tmp_path / "feed"
    path.write_bytes(FILES[request.param])
    return path


@pytest.mark.parametrize("profile", [Profile(), STRICT], ids=["lenient", "strict"])
@pytest.mark.parametrize("path", FILES, indirect=True)
def test_what_a_reader_says_is_a_sentence_and_survives_its_process(path, profile):
    here, there = read(read_feed, path, profile), read(open_feed, path, profile)
    assert here
    assert [text for text in here if not (isinstance(text, Sentence) and text.message)] == []
    assert [(one, one.stored) for one in there] == [(one, one.stored) for one in here]


@pytest.mark.parametrize("path", FILES, indirect=True)
def test_all_that_a_reader_says_is_translated(path):
    texts = read(read_feed, path, STRICT)
    with translation.override("de"):
        assert [text for text in texts if said(text) == text] == []


@pytest.mark.parametrize(
    ("path", "texts"),
    [
        ("empty", ["feed: die Datei ist leer"]),
        ("too deep", ["feed: ist tiefer als 40 Ebenen verschachtelt"]),
        ("a cut row", ["Zeile 2", "feed: bricht ab in Zeile 3"]),
        (
            "numbers",
            ["prices.currency: Einen Code aus drei Buchstaben verwenden, wie CHF"],
        ),
        (
            "cells of a workbook",
            [
                "Zeile 2",
                "title: Einen Text schreiben und die Zellen als Text formatieren: Die Zelle enthält"
                " wahr oder falsch",
                "yearBuilt: Die Zelle enthält den Fehler #N/A",
                "die Spalte «Foo» wird beiseitegelegt: Keine unserer Spalten heißt so; am"
                " ähnlichsten: floor",
                "objectReferenceId: Dieser Wert fehlt",
            ],
        ),
        ("no object", ["Datensatz 1", "der Datensatz ist kein JSON-Objekt"]),
        (
            "a contact",
            [
                "Datensatz 1",
                "seller.inquiryEmail: «-» ist keine E-Mail-Adresse; sie wird trotzdem importiert",
            ],
        ),
    ],
    indirect=["path"],
)
def test_in_german_it_reads_so(path, texts):
    with translation.override("de"):
        found = [said(text) for text in read(open_feed, path, Profile())]
    assert [text for text in texts if text not in found] == []


@pytest.mark.parametrize(
    ("names", "german"),
    [
        (["a.xml", "b.xml"], "das ZIP enthält mehrere Feeds: a.xml, b.xml"),
        (["a"], "das ZIP enthält weder data/unload.txt noch einen anderen Feed"),
        (["../a"], "das ZIP enthält eine Datei, die aus ihm hinausführt: «../a»"),
    ],
)
def test_why_a_zip_is_not_unpacked_is_in_the_language_of_the_reader(tmp_path, names, german):
    path = tmp_path / "feed.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "")
    with pytest.raises(NotUnpacked) as raised:
        unpack(path, "feed.zip", io.BytesIO(), limit=1000)
    with translation.override("de"):
        assert said(str(raised.value)) == german

"""Files that would freeze who reads them: each is read, or refused, within ten seconds of work.

A step whose work grows with the square of its input needs minutes for each of these files, so the
limit has room for any machine, and no clock is read.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from properties.feeds import Profile, Refusal
from properties.feeds.idx.idx_columns import COLUMNS
from properties.feeds.recognition import read_feed
from properties.feeds.table.table_columns import COLUMNS as TABLE, localized
from tests.properties.feeds.test_swissrets import element, one, xml

ROOT = Path(__file__).parents[2]
SECONDS = 10
READ = f"""
import json, resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_CPU, ({SECONDS}, {SECONDS}))
from django.conf import settings
settings.configure(USE_I18N=False)
from properties.feeds import NotAFeed, Record
from properties.feeds.recognition import read_feed
found = []
try:
    for one in read_feed(Path(sys.argv[1])):
        if isinstance(one, Record):
            found += one.warnings[:1] or ["taken"]
        else:
            found += getattr(one, "reasons", [])[:1]
except NotAFeed as error:
    found.append(str(error))
print(json.dumps(found))
"""
MANY = 100_000


def swissrets(**fields) -> str:
    return json.dumps({"properties": [one(**fields)]})


def titles(text: str, count: int) -> str:
    codes = [f"l{chr(97 + n)}" for n in range(count)]
    return swissrets(localizations=[{"languageCode": code, "title": text} for code in codes])


def links(count: int) -> str:
    tours = [{"virtualTourLinks": [{"url": f"https://example.com/{n}"}]} for n in range(count)]
    texts = [{"languageCode": "de", "title": "x", "attachments": tour} for tour in tours]
    return json.dumps({"properties": [one(localizations=texts)] * 20})


def idx(text: str, lines: int) -> str:
    names = {"version": "IDX3.01", "object_category": "HOUSE", "offer_type": "RENT"}
    rows = []
    for number in range(lines):
        said = {**names, "ref_object": f"R-{number}", "object_description": text}
        rows.append("#".join(said.get(column.name, "") for column in COLUMNS))
    return "\r\n".join(rows) + "\r\n"


def wide(languages: int) -> str:
    codes = [f"{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(languages)]
    return ",".join([*TABLE, *(name for code in codes for name in localized(code))])


def openimmo(inner: str, count: int = 1) -> str:
    number = "<verwaltung_techn><objektnr_extern>{}</objektnr_extern></verwaltung_techn>"
    objects = (f"<immobilie>{inner}{number.format(n)}</immobilie>" for n in range(count))
    return f"<openimmo><anbieter>{''.join(objects)}</anbieter></openimmo>"


BLANKS = " " * MANY
OWN = '<user_defined_simplefield feldname="crm-sync.title">"x"</user_defined_simplefield>'
ENERGY = "zustand_angaben><energiepass><primaerenergietraeger"
HOSTILE = {
    "blanks in short texts": (
        titles(f"a{BLANKS}b\n c", 26),
        "localizations[0].title: Use at most 255 characters, not 100,004",
    ),
    "blanks in texts of lines": (idx(f"a{BLANKS}b", 40), "taken"),
    "breaks without an end": (idx("<br " * (MANY // 4), 40), "taken"),
    "an element that is there many times": (
        xml(*(element("<a/>" * (MANY // 2), str(n), f"R-{n}") for n in range(20))),
        "taken",
    ),
    "links in many languages": (
        links(MANY // 20),
        "localizations[1].languageCode: “de” is the language of another text,"
        " so its text is set aside",
    ),
    "digits": (
        swissrets(characteristics={"floor": "9" * MANY}),
        f"characteristics.floor: “{'9' * 40}…” is too large",
    ),
    "separators of a phone": (
        swissrets(seller={"contactPerson": {"phone": f"1111111{BLANKS}x" + " 1" * 9000}}),
        "seller.contactPerson.phone: Use at most 255 characters, not 118,008",
    ),
    "elements of OpenImmo that are there many times": (
        openimmo("<a/>" * (MANY // 2) + '<a b="1"/>', 20),
        "taken",
    ),
    "fields of our own in OpenImmo": (openimmo(OWN * (MANY // 8)), "taken"),
    "blanks in a list of words in OpenImmo": (
        openimmo(
            f"<{ENERGY}>GAS{BLANKS}GAS</primaerenergietraeger></energiepass></zustand_angaben>"
        ),
        "taken",
    ),
    "a wide header": (wide(676), "feed: has more than 500 columns"),
    "a row without an end": (
        "objectReferenceId,title\n" + '"\n",' * MANY * 10,
        "feed: a row is longer than 1,048,576 characters",
    ),
}


@pytest.mark.parametrize(("content", "found"), HOSTILE.values(), ids=HOSTILE)
def test_no_file_takes_more_work_than_its_size_explains(tmp_path, content, found):
    path = tmp_path / "feed"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"it took more than {SECONDS} seconds, or: {done.stderr}"
    assert json.loads(done.stdout)[:1] == [found]


def test_a_text_that_is_too_long_for_any_field_refuses_its_record_alone(tmp_path):
    path = tmp_path / "feed"
    path.write_text(
        json.dumps({"properties": [one(odd="x" * 131_073), one(id="2", referenceId="R-2")]})
    )
    first, second = read_feed(path)
    assert first == Refusal("record 1", "R-1", ["odd is longer than 131,072 characters"])
    assert second.reference == "R-2"
    path.write_text(idx("x" * 131_073, 1))
    assert [one.reasons for one in read_feed(path)] == [
        ["object_description is longer than 131,072 characters"]
    ]


def test_the_reasons_of_one_refusal_are_bounded_and_the_others_counted(tmp_path):
    path = tmp_path / "feed"
    path.write_text(json.dumps({"properties": [one(categories=[f"x{n}" for n in range(250)])]}))
    (refusal,) = read_feed(path, Profile(lenient=False))
    assert (len(refusal.reasons), refusal.reasons[-1]) == (101, "and 150 more reasons")
    (record,) = read_feed(path)
    assert (len(record.warnings), record.warnings[-1]) == (101, "and 150 more reasons")


def test_an_address_that_is_no_text_is_set_aside(tmp_path):
    path = tmp_path / "feed"
    tours = {"virtualTourLinks": [{"url": ["https://a.example"]}]}
    texts = [{"languageCode": code, "title": "x", "attachments": tours} for code in ("de", "fr")]
    path.write_text(json.dumps({"properties": [one(localizations=texts)]}))
    (record,) = read_feed(path)
    assert "virtualTourLinks" not in record.document
    assert record.leftover["localizations[].attachments.virtualTourLinks[0].url"] == [
        "https://a.example"
    ]


def test_a_link_that_is_in_two_languages_or_twice_in_one_is_one_link(tmp_path):
    path = tmp_path / "feed"
    tours = {"virtualTourLinks": [{"url": "https://a.example"}, {"url": "https://a.example"}]}
    texts = [{"languageCode": code, "title": "x", "attachments": tours} for code in ("de", "fr")]
    path.write_text(json.dumps({"properties": [one(localizations=texts)]}))
    (record,) = read_feed(path)
    assert record.document["virtualTourLinks"] == [{"url": "https://a.example"}]

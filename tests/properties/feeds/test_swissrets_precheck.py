"""A file that is read without a survey is read as if there had been one."""

import json

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from properties.feeds.recognition import read_feed
from properties.feeds.swissrets.precheck import BLOCK, JSON, OVERLAP, XML, is_plain
from tests.properties.feeds.test_swissrets import element, one, xml

pytestmark = pytest.mark.once
law = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)

# One reference, as JSON may write it, and its name.
NAMES = ('"referenceId"', '"reference\\u0049d"', '"\\u0072eferenceId"', '"referenceId" ')
VALUES = ('"R"', '" R "', '"\\u0052"', '"\xa0R"', '\n\t"R"')
TAGS = ("<referenceId>{}</referenceId>", "<a:referenceId>{}</a:referenceId>")
TEXTS = ("R", " R ", "&#82;", "<![CDATA[R]]>", "<!-- x -->R", "R<!-- x -->", "\xa0R")


def written(name: str, value: str, number: int) -> str:
    rest = {key: value for key, value in one(id=str(number)).items() if key != "referenceId"}
    return f"{json.dumps(rest)[:-1]},{name}:{value}}}"


def references(path) -> list[str]:
    return [item.reference for item in read_feed(path)]


@law
@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(VALUES)), min_size=2, max_size=3))
def test_a_reference_that_comes_twice_in_json_is_seen_however_it_is_written(tmp_path, records):
    path = tmp_path / "feed"
    body = ",".join(written(*record, number) for number, record in enumerate(records))
    path.write_text(f'{{"properties":[{body}]}}', encoding="utf-8")
    assert references(path) == [str(number) for number in range(len(records))]


@law
@given(
    st.lists(st.tuples(st.sampled_from(TAGS), st.sampled_from(TEXTS)), min_size=2, max_size=3),
    st.sampled_from(["utf-8", "utf-16", "latin-1"]),
)
def test_a_reference_that_comes_twice_in_xml_is_seen_however_it_is_written(
    tmp_path, records, encoding
):
    properties = [
        element(id_=str(number)).replace("<referenceId>R-1</referenceId>", tag.format(text))
        for number, (tag, text) in enumerate(records)
    ]
    text = xml(*properties).decode().replace("<export>", '<export xmlns:a="urn:a">')
    path = tmp_path / "feed"
    path.write_bytes(f'<?xml version="1.0" encoding="{encoding}"?>{text}'.encode(encoding))
    assert references(path) == [str(number) for number in range(len(records))]


@pytest.mark.parametrize("shift", [-OVERLAP - 1, -OVERLAP, -40, -12, -1, 0, 1])
@pytest.mark.parametrize("as_xml", [True, False])
def test_a_reference_that_lies_across_two_blocks_is_seen(tmp_path, as_xml, shift):
    def content(padding: int) -> bytes:
        """Return a file with two records of one reference, the second behind so much text."""
        filling = " " * padding
        if as_xml:
            return xml(element(id_="1"), filling + element(id_="2"))
        first, second = json.dumps(one(id="1")), json.dumps(one(id="2"))
        return f'{{"properties":[{first},{filling}{second}]}}'.encode()

    begin = content(0).rindex(b"referenceId>R" if as_xml else b'"referenceId"')
    path = tmp_path / "feed"
    path.write_bytes(content(BLOCK + shift - begin))
    assert references(path) == ["1", "2"]


def test_a_usual_file_needs_no_survey(tmp_path):
    path = tmp_path / "feed"
    records = [one(id=str(n), referenceId=f"R-{n}", unitReferenceId="U") for n in range(6_000)]
    path.write_text(json.dumps({"generator": {}, "properties": records}, indent=1))
    assert path.stat().st_size > BLOCK
    assert is_plain(path, JSON)
    assert references(path) == [f"R-{n}" for n in range(6_000)]
    path.write_bytes(xml(*(element(id_=str(n), reference=f"R-{n}") for n in range(6_000))))
    assert path.stat().st_size > BLOCK
    assert is_plain(path, XML)
    assert references(path) == [f"R-{n}" for n in range(6_000)]

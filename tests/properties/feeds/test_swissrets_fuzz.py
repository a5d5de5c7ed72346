"""Whatever bytes a SwissRETS file holds: records, refusals, or one error that says why."""

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from properties import catalog
from properties.feeds import NotAFeed, Profile, Record, Refusal
from properties.feeds.recognition import read_feed
from properties.feeds.records import Item
from properties.feeds.spool import Line
from tests.properties.feeds.test_swissrets import one

SAMPLES = sorted((Path(__file__).parent / "swissrets").glob("*"))
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-7")
# What has a meaning somewhere between the file and the database.
ODD = ("", "\0", "\r", "\n", "\t", '"', "'", "<", "&", "]]>", "#", ";", ",", "|", "\ud800", "\x1b")
texts = st.one_of(
    st.sampled_from(ODD), st.text(max_size=20), st.sampled_from(["1e999", "-0", "NaN"])
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
NAMES = ("id", "referenceId", "type", "availability", "localizations", "categories", "address")
MORE = ("prices", "publishers", "seller", "characteristics", "heating", "unitReferenceId", "bfs")
law = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@pytest.fixture
def outcome(tmp_path):
    """Read bytes as a feed, by a lenient sender and by another."""

    def read(content: bytes) -> None:
        path = tmp_path / "feed"
        path.write_bytes(content)
        for profile in (Profile(), Profile(lenient=False, reference="OBJECT")):
            with suppress(NotAFeed):
                for item in read_feed(path, profile):
                    holds(item)

    return read


def holds(item) -> None:
    """Check what is promised of each item: it can be stored, and the platform would take it."""
    assert isinstance(item, Item)
    line = Line.of(item)
    assert Line.of(Line.read(line.text).item()) == line
    if isinstance(item, Record):
        assert item.reference.strip()
        assert catalog.validate_document(item.document) == []
        assert item.document["objectReferenceId"] == item.reference
    if isinstance(item, Refusal):
        assert item.reasons


@given(data=st.data())
@law
def test_a_changed_file_ends_in_no_traceback(outcome, data):
    content = data.draw(st.sampled_from(SAMPLES)).read_bytes()
    for _ in range(data.draw(st.integers(1, 4))):
        begin = data.draw(st.integers(0, len(content)))
        end = data.draw(st.integers(begin, min(begin + 40, len(content))))
        odd = data.draw(st.binary(max_size=6) | texts.map(_bytes))
        content = content[:begin] + odd + content[end:]
    outcome(content)


@given(sample=st.sampled_from(SAMPLES), encoding=st.sampled_from(ENCODINGS), cut=st.integers(0, 3))
@law
def test_a_file_in_any_encoding_ends_in_no_traceback(outcome, sample, encoding, cut):
    content = sample.read_text().encode(encoding)
    outcome(content[cut:])


@given(
    fields=st.dictionaries(st.sampled_from(NAMES + MORE), values, max_size=5),
    projects=values,
    again=st.booleans(),
)
@law
def test_json_of_any_shape_ends_in_no_traceback(outcome, fields, projects, again):
    records = [one(**fields)] * (1 + again)
    outcome(json.dumps({"properties": records, "projects": projects}).encode())


@given(names=st.lists(st.sampled_from(NAMES + MORE), min_size=1, max_size=4), text=texts)
@law
def test_xml_of_any_shape_ends_in_no_traceback(outcome, names, text):
    inner = _bytes(text).replace(b"&", b"&amp;").replace(b"<", b"&lt;").replace(b"\0", b"")
    opened = "".join(f"<{name}>" for name in names).encode()
    closed = "".join(f"</{name}>" for name in reversed(names)).encode()
    head = b'<export><properties><property id="1"><referenceId>R</referenceId><type>rent</type>'
    rest = (
        b"<availability>active</availability><localizations><localization lang='de'><name>W</name>"
    )
    tail = b"</localization></localizations></property></properties></export>"
    outcome(head + opened + inner + closed + rest + tail)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")

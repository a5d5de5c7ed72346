"""Records on disk between reading and writing: all of them, in their order, in bounded pieces."""

import io

import pytest

from crm_sync.sentence import Sentence, sentence
from properties.feeds import Record, Refusal, spool
from properties.feeds.records import as_record, in_line, in_row
from properties.feeds.spool import Line, Spool


def record(number, text="x"):
    document = {"objectReferenceId": f"R-{number}", "title": text}
    return Record(f"R-{number}", document, {"id": "1"}, as_record(number))


@pytest.mark.parametrize(("count", "sizes"), [(0, []), (1, [1]), (3, [3]), (7, [3, 3, 1])])
def test_what_was_put_on_it_comes_back_in_its_order(count, sizes):
    one = Spool(io.BytesIO())
    for number in range(count):
        one.put(Line.of(record(number)))
    for _ in range(2):
        chunks = list(one.chunks(3))
        assert [len(chunk) for chunk in chunks] == sizes
        found = [line.item() for chunk in chunks for line in chunk]
        assert found == [record(number) for number in range(count)]


@pytest.mark.parametrize("skip", [0, 1, 3, 4, 8, 9, 10, 11])
def test_it_goes_on_behind_those_that_were_handled(monkeypatch, skip):
    monkeypatch.setattr(spool, "EVERY", 4)
    file = io.BytesIO()
    one = Spool(file)
    for number in range(10):
        one.put(Line.of(record(number)))
    again = Spool(file, count=one.count, places=one.places)
    for each in (one, again):
        found = [line.reference for chunk in each.chunks(3, skip=skip) for line in chunk]
        assert found == [f"R-{number}" for number in range(skip, 10)]


def test_a_chunk_of_long_lines_holds_fewer(monkeypatch):
    monkeypatch.setattr(spool, "CHARACTERS", 5_000)
    texts = ["x" * size for size in (2_000, 2_000, 2_000, 9_000, 10, 10, 10)]
    one = Spool(io.BytesIO())
    for number, text in enumerate(texts):
        one.put(Line.of(record(number, text)))
    assert [len(chunk) for chunk in one.chunks(100)] == [2, 1, 1, 3]


def test_a_line_tells_its_item_without_its_body_being_read():
    cells = (("address", ("street",), "Tab\t1\n"), ("title", (), None))
    item = Record("R\t1", {"title": "ä\n"}, {"id": "1", "pool": 2, "b": ""}, in_row(7), cells)
    line = Line.read(Line.of(item).text)
    assert (line.kind, line.reference, line.position) == ("record", "R\t1", "row 7")
    assert (line.aside, line.item()) == (["b", "pool"], item)
    refusal = Refusal(in_line(3), None, [sentence("no\treference"), Sentence("no\ncategory")])
    assert Line.read(Line.of(refusal).text).item() == refusal

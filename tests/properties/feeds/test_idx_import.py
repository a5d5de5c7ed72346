"""An IDX feed keeps the names of its properties from one import to the next, or imports nothing."""

import pytest

from properties.models import Property, Sender
from tests.properties.feeds.idx_lines import line
from tests.properties.test_commands import run

ONE_HOUSE = [("P", "A", "1"), ("P", "A", "2")]
TWO_HOUSES = [*ONE_HOUSE, ("P", "B", "1")]


@pytest.fixture
def load(main, tmp_path, capsys):
    """Import objects of the given references; exit code, output, error."""

    def load_(triples, *options):
        path = tmp_path / "unload.txt"
        names = ("ref_property", "ref_house", "ref_object")
        lines = [line(**dict(zip(names, three, strict=True))) for three in triples]
        path.write_text("\r\n".join(lines) + "\r\n")
        return run(capsys, "import_properties", "main", path, *options)

    return load_


def known():
    return sorted(Property.objects.values_list("object_reference_id", flat=True))


def test_references_that_come_to_repeat_rename_no_property(load):
    load(ONE_HOUSE)
    code, _, error = load(TWO_HOUSES)
    assert (code, known()) == (1, ["1", "2"])
    assert "it lacks 2 of the 2 properties that the last feed held (100.0%" in error


def test_a_sender_of_triples_keeps_its_names_when_a_house_comes_or_goes(load, main):
    Sender.objects.create(workspace=main, name="Muster", reference="TRIPLE")
    for triples in (ONE_HOUSE, TWO_HOUSES, TWO_HOUSES[1:]):
        load(triples, "--sender", "Muster", "--force")
    assert known() == ["P~A~1", "P~A~2", "P~B~1"]


def test_a_property_whose_line_is_spoiled_is_not_missing(load, tmp_path, capsys):
    load(ONE_HOUSE)
    path = tmp_path / "spoiled.txt"
    spoiled = line(ref_property="P", ref_house="A", ref_object="1", object_title="Wohnung #12")
    whole = line(ref_property="P", ref_house="A", ref_object="2")
    path.write_text(f"{whole}\r\n{spoiled}\r\n")
    code, out, _ = run(capsys, "import_properties", "main", path)
    assert code == 3
    assert "missing" not in out

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
        names = ("ref_property", "ref_house", "ref_object", "agency_id")
        lines = [line(**dict(zip(names, three, strict=False))) for three in triples]
        path.write_text("\r\n".join(lines) + "\r\n")
        return run(capsys, "import_properties", "main", path, *options)

    return load_


def known():
    return sorted(Property.objects.values_list("object_reference_id", flat=True))


def feed_by_object(main, *references):
    """Make properties as feeds brought them when the object's own reference named them."""
    for reference in references:
        Property.objects.create(
            workspace=main, object_reference_id=reference, fed_by="IDX", fed_digest="known"
        )


def test_an_object_is_known_by_its_three_references_and_another_house_may_have_the_same(load):
    load(ONE_HOUSE)
    assert load(TWO_HOUSES)[0] == 0
    assert known() == ["P~A~1", "P~A~2", "P~B~1"]


def test_objects_that_are_known_by_their_own_reference_keep_it(load, main):
    feed_by_object(main, "1", "2")
    assert load(ONE_HOUSE)[0] == 0
    code, out, _ = load(TWO_HOUSES)
    assert (code, known()) == (3, ["1", "2"])
    assert 'ref_object "1" is a duplicate: an earlier record has it' in out


def test_a_new_sender_goes_on_with_the_names_that_came_without_one(load, main):
    feed_by_object(main, "1", "2")
    Sender.objects.create(workspace=main, name="Muster")
    assert load(ONE_HOUSE, "--sender", "Muster")[0] == 0
    assert known() == ["1", "2"]


@pytest.mark.parametrize(
    ("first", "later", "names"),
    [
        (("MH", "MH"), ("MH", "ZH"), ["P~A~1", "P~A~2"]),
        (("MH", "ZH"), ("MH", "MH"), ["MH~P~A~1", "ZH~P~A~2"]),
    ],
)
def test_a_second_agency_that_comes_or_goes_renames_nothing(load, first, later, names):
    objects = [("P", "A", "1"), ("P", "A", "2")]
    load([(*key, agency) for key, agency in zip(objects, first, strict=True)])
    before = known()
    load([(*key, agency) for key, agency in zip(objects, later, strict=True)], "--force")
    assert before == names
    assert not [name for name in known() if name.count("~") != names[0].count("~")]


@pytest.mark.parametrize("options", [[], ["--force"], ["--dry-run"]])
def test_a_feed_that_would_double_the_properties_says_the_cause_and_is_not_imported(
    load, main, options
):
    feed_by_object(main, "1", "2")
    sender = Sender.objects.create(workspace=main, name="Muster", reference="TRIPLE")
    code, _, error = load(ONE_HOUSE, "--sender", "Muster", *options)
    assert (code, known()) == (1, ["1", "2"])
    assert (
        "it gives 2 of 2 properties another reference than they have here,"
        ' so "1" would be here a second time, as "P~A~1". Set "what names a property" of its sender'
        ' to "Its reference alone"; if it has no sender, choose one'
    ) in error
    assert "--force" not in error
    Sender.objects.filter(pk=sender.pk).update(reference="OBJECT")
    assert load(ONE_HOUSE, "--sender", "Muster")[0] == 0


@pytest.mark.parametrize(
    ("objects", "wrong"),
    [
        ([("P", "A", "1", "MH"), ("P", "A", "2", "ZH")], "TRIPLE"),
        ([("P", "A", "1", "MH"), ("P", "A", "2", "ZH")], "OBJECT"),
        ([("P", "A", "1"), ("P", "A", "2"), ("", "", "3")], "OBJECT"),
    ],
    ids=["the agency is left out", "all but the object", "one object has no other"],
)
def test_what_a_stop_advises_keeps_the_names_and_doubles_nothing(load, main, objects, wrong):
    sender = Sender.objects.create(workspace=main, name="Muster")
    assert load(objects, "--sender", "Muster")[0] == 0
    before = known()
    Sender.objects.filter(pk=sender.pk).update(reference=wrong)
    code, _, error = load(objects, "--sender", "Muster", "--force")
    assert (code, known()) == (1, before)
    (advised,) = [choice for choice in Sender.Reference if f'to "{choice.label}"' in error]
    Sender.objects.filter(pk=sender.pk).update(reference=advised)
    assert load(objects, "--sender", "Muster", "--force")[0] == 0
    assert known() == before


def test_a_first_feed_does_not_double_what_was_read_from_the_platform(load, main):
    for reference in ("1", "2"):
        Property.objects.create(workspace=main, object_reference_id=reference)
    code, _, error = load(ONE_HOUSE)
    assert (code, known()) == (1, ["1", "2"])
    assert 'Set "what names a property" of its sender to "Its reference alone"' in error


def test_properties_that_only_look_alike_stop_no_feed(load, main):
    Property.objects.create(workspace=main, object_reference_id="1")
    assert load([("P", "A", str(number)) for number in range(1, 21)])[0] == 0


def test_a_setting_that_shortens_the_names_doubles_nothing_either(load, main):
    load(ONE_HOUSE)
    Sender.objects.create(workspace=main, name="Muster", reference="OBJECT")
    code, _, error = load(ONE_HOUSE, "--sender", "Muster", "--force")
    assert (code, known()) == (1, ["P~A~1", "P~A~2"])
    assert '"P~A~1" would be here a second time, as "1"' in error


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

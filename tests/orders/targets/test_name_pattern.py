"""Each name at a target is a safe path, whatever the values hold."""

from itertools import islice

import pytest
from hypothesis import given, strategies as st

from orders.targets import name_pattern

VALUES = {
    "reference": "R-1",
    "order": "5000",
    "product": "ground_photo",
    "quality": "hd",
    "name": "front",
}


def first(pattern: str, count: int = 1, number: int = 1, **values: str) -> list[str]:
    found = name_pattern.names(pattern, VALUES | values, ".jpg", number)
    return list(islice(found, count))


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("{reference}/{product}/{nn}.jpg", "R-1/ground_photo/01.jpg"),
        ("{reference}/{product}/{nn}", "R-1/ground_photo/01.jpg"),
        ("{reference}_{order}_{quality}.PNG", "R-1_5000_hd.jpg"),
        ("{name}.{nn}", "front.01.jpg"),
        ("pictures of {reference}/{name}.pdf", "pictures of R-1/front.jpg"),
    ],
)
def test_a_pattern_is_filled_and_gets_the_ending_of_the_file(pattern, name):
    assert name_pattern.fault(pattern) == ""
    assert first(pattern) == [name]


def test_the_number_goes_on_where_a_name_is_taken():
    assert first("{nn}", 3, number=9) == ["09.jpg", "10.jpg", "11.jpg"]
    assert first("{name}", 3, number=9) == ["front.jpg", "front-2.jpg", "front-3.jpg"]


@pytest.mark.parametrize("pattern", ["{reference}-{nn}", "{nn}-{reference}", "{nn}/{reference}"])
@pytest.mark.parametrize("value", ["x" * 300, "ü" * 150, "a." * 100])
def test_a_value_that_is_too_long_never_cuts_off_the_number(pattern, value):
    names = first(pattern, 120, reference=value)
    assert len(set(names)) == 120
    assert all(len(part.encode()) <= 255 for name in names for part in name.split("/"))


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("../../etc/passwd", "_.._etc_passwd/x.jpg"),
        ("..", "_/x.jpg"),
        ("", "_/x.jpg"),
        ("a/b\\c", "a_b_c/x.jpg"),
        ("tab\there", "tab_here/x.jpg"),
    ],
)
def test_no_value_leads_out_of_its_part(value, name):
    assert first("{reference}/x", reference=value) == [name]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("{street}/{nn}", "{street} is not known"),
        ("{}", "{} is not known"),
        ("/{nn}", "it is a path below the folder"),
        ("c:{nn}", "it is a path below the folder"),
        ("a\\{nn}", "it is a path below the folder"),
        ("../{nn}", "empty or consists of dots"),
        ("a/../{nn}", "empty or consists of dots"),
        ("a//{nn}", "empty or consists of dots"),
        ("{nn}/", "empty or consists of dots"),
        ("", "empty or consists of dots"),
        ("{nn", "a brace has no partner"),
        ("a?/{nn}", '"a?" cannot be part'),
        (".hidden/{nn}", '".hidden" cannot be part'),
    ],
)
def test_a_pattern_that_leads_elsewhere_is_refused(pattern, text):
    assert text in name_pattern.fault(pattern)


@given(
    st.text(max_size=40).filter(lambda one: name_pattern.fault(one) == ""),
    st.dictionaries(st.sampled_from(sorted(VALUES)), st.text(max_size=300)),
)
def test_every_name_of_every_pattern_stays_below_the_folder(pattern, values):
    (name,) = first(pattern, **values)
    for part in name.split("/"):
        assert part not in ("", ".", "..")
        assert part == part.strip("/\\")
        assert part.isprintable()
        assert len(part.encode()) <= 255
    assert name.endswith(".jpg")


def test_names_that_a_file_system_takes_for_the_same_have_the_same_key():
    assert name_pattern.key("A/Küche.jpg") == name_pattern.key("a/küche.JPG")
    assert name_pattern.key("a.jpg") != name_pattern.key("b.jpg")

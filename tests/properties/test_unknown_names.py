"""Names that the catalog does not know are kept, up to a bound, by whatever door they come."""

import logging

import pytest
from django.utils.timezone import now
from hypothesis import given, strategies as st

from properties.catalog import UNKNOWN_NAMES, within_limit
from properties.domain import editing
from properties.domain.editing import Invalid, create, edit
from properties.imports import bulk_create
from properties.models import Property
from properties.models.change import Origin
from tests.api import error, program
from tests.properties.test_pull import put, walk

MANY = {f"n{number}": number for number in range(80_000)}
ALLOWED = {f"n{number}": number for number in range(UNKNOWN_NAMES)}
NAMES = st.sampled_from(["title", "address", "prices", "localizations", "newThing"])
SOME = st.integers(0, 150).map(lambda number: {f"n{n}": n for n in range(number)})
VALUES = st.recursive(
    SOME, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner), max_leaves=6
)


@given(st.dictionaries(NAMES, VALUES), SOME)
def test_a_bounded_document_is_a_part_of_the_whole_and_is_not_bounded_again(document, more):
    document |= more
    kept, left_out = within_limit(document)
    assert within_limit(kept) == (kept, 0)
    assert (kept == document) == (left_out == 0)
    again = dict(reversed(list(document.items())))
    assert within_limit(again) == (kept, left_out)


@pytest.mark.parametrize("holder", ["", "prices", "address", "newThing"])
def test_two_hundred_names_are_kept_wherever_they_stand_and_known_ones_are_not_counted(holder):
    known = {"title": "Flat", "areaBwf": 85}
    document = known | ({holder: MANY} if holder else MANY)
    kept, left_out = within_limit(document)
    if holder == "newThing":  # a value is kept whole or not at all
        assert (kept, left_out) == (known, len(MANY) + 1)
    else:
        found = kept[holder] if holder else {n: v for n, v in kept.items() if n not in known}
        assert (len(found), left_out) == (UNKNOWN_NAMES, len(MANY) - UNKNOWN_NAMES)
        assert {n: v for n, v in kept.items() if n in known} == known


def test_an_edit_may_bring_two_hundred_and_not_one_more_and_other_edits_go_on(main):
    def change(row: Property, **changes) -> set[str]:
        return edit(row, changes, origin=Origin.HTTP_API, now=now())

    row = create(main, "A", ALLOWED, origin=Origin.HTTP_API, now=now())
    with pytest.raises(Invalid, match=r"at most 200 names .* are kept: leave out 1$"):
        change(row, another=1)
    assert change(row, title="Flat", n0=7) == {"title", "n0"}
    assert change(row, n1=None) == {"n1"}
    assert change(row, another=1) == {"another"}
    Property.objects.update(desired=MANY | {"objectReferenceId": "A"})  # as an earlier version may
    row.refresh_from_db()
    assert change(row, title="Loft") == {"title"}
    with pytest.raises(Invalid):
        change(row, yetAnother=1)


def test_a_feed_brings_no_more_of_them_than_an_edit(main):
    assert editing.faults(ALLOWED, {}) == []
    (fault,) = bulk_create.faults("A", MANY)
    assert fault.message.endswith("leave out 79,800")


def test_a_program_is_told_at_once(main, settings):
    settings.API_BODY_LIMIT = 4 * 1024**2
    Property.objects.create(workspace=main, object_reference_id="A")
    answer = program(main).call("PATCH", "/properties/A", MANY)
    assert error(answer) == (400, "invalid", [""])
    assert Property.objects.get().desired == {}


def test_of_what_the_platform_says_two_hundred_are_kept_and_the_log_says_so(
    box, workspace, drain_all, caplog, boss
):
    caplog.set_level(logging.WARNING)
    key = put(box, 1, **MANY)
    walk(workspace)
    drain_all()
    row = Property.objects.get(platform_id=key)
    assert sum(name.startswith("n") for name in row.observed) == UNKNOWN_NAMES
    assert "79800 unknown names were left out" in caplog.text


def test_a_page_lists_two_hundred_of_those_that_an_earlier_version_kept(main, boss):
    long = {"nLong": "x" * 100_000}
    row = Property.objects.create(
        workspace=main, object_reference_id="A", desired=long | MANY, observed=long | MANY
    )
    page = boss.get(f"/admin/properties/property/{row.pk}/change/").content.decode()
    assert "The first 200 of 80,001 are shown." in page
    assert len(page) < 1_500_000

"""A reference that looks like another one is named, and becomes no second property."""

import unicodedata

import pytest
from django.utils import timezone

from properties.imports.lookalikes import folded
from properties.imports.upload import release
from properties.models import Property
from properties.models.import_ import ImportState as State
from tests.properties.test_commands import run
from tests.properties.uploaded import counts, fresh, rows, table, upload, work

ZURICH = "Zürich-1"


def composed(form: str) -> str:
    return unicodedata.normalize(form, ZURICH)


@pytest.fixture
def load(main, tmp_path, capsys):
    """Import a table with the given references; exit code and output."""

    def load_(*references, options=()):
        path = tmp_path / "stock.csv"
        path.write_text("\n".join(["objectReferenceId,title", *(f"{r},a" for r in references)]))
        code, out, _ = run(capsys, "import_properties", "main", path, *options)
        return code, out

    return load_


def known():
    return sorted(Property.objects.values_list("object_reference_id", flat=True))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("MH-1", "mh-1"),
        ("STRASSE-1", "straße-1"),
        (composed("NFC"), composed("NFD")),
        (composed("NFD"), composed("NFC").upper()),
        ("MH-1", "MH\u200b-1"),
        ("MH 1", "MH\u00a01"),
        ("MH-1", "\ufeffMH-1\u00ad"),
    ],
)
@pytest.mark.parametrize("options", [(), ("--dry-run",)])
def test_a_reference_that_only_looks_like_another_is_named_and_refused(
    load, main, first, second, options
):
    Property.objects.create(workspace=main, object_reference_id=first)
    code, out = load("B-1", second, options=options)
    assert code == 3
    assert f"“{second}” looks like “{first}”: they differ only in case, or in what nobody" in out
    assert known() == sorted([first] if options else ["B-1", first])


def test_two_of_one_file_are_named_and_the_first_is_taken(load):
    code, out = load("MH-1", "B-1", "mh-1")
    assert (code, known()) == (3, ["B-1", "MH-1"])
    assert "line 4, mh-1" in out


@pytest.mark.parametrize("until", [0.0, float("inf")], ids=["in many slices", "in one"])
def test_a_preview_names_what_its_import_will_refuse(main, admin_user, data_dir, until):
    row = upload(main, admin_user, table(["MH-1", "B-1", "mh-1"]))
    while fresh(row).state == State.PREVIEWING:
        work(row, until=until)
    seen = fresh(row).preview
    release(rows(row), actor=admin_user, now=timezone.now())
    while fresh(row).state == State.RUNNING:
        work(row, until=until)
    done = fresh(row).report
    assert counts(seen) == counts(done) == (2, 0, 0, 1)
    assert seen["refused"] == done["refused"]


def test_what_is_there_already_in_both_ways_is_changed_as_it_is(load, main):
    for reference in ("MH-1", "mh-1"):
        Property.objects.create(workspace=main, object_reference_id=reference)
    assert load("MH-1", "mh-1")[0] == 0
    assert {row.desired["title"] for row in Property.objects.all()} == {"a"}


@pytest.mark.parametrize(("one", "other"), [("MH-1", "MH-2"), ("MH 1", "MH1"), ("a", "ä")])
def test_what_people_can_tell_apart_is_two_references(one, other):
    assert folded(one) != folded(other)

"""manage.py match_properties: what it links, prints and exits with (I36)."""

import json

import pytest
from django.core.management import CommandError, call_command
from django.utils.timezone import now

from properties.models import Change, Conflict, Property
from tests.properties.test_match_page import four, home, names, ours, theirs

__all__ = ["four"]
pytestmark = pytest.mark.django_db


def run(capsys, *args: str) -> tuple[str, int]:
    """Return what the command prints, and its exit code."""
    try:
        call_command("match_properties", *args)
    except CommandError as error:
        return capsys.readouterr().out, error.returncode
    return capsys.readouterr().out, 0


def test_a_dry_run_shows_the_pairs_and_changes_nothing(main, four, capsys):
    before = names()
    out, code = run(capsys, "main", "--by", "address", "--dry-run")
    assert (out.splitlines(), code) == (
        [
            "pair       CRM-1 = P-1",
            "ambiguous  CRM-2 = P-2, P-3 (seestr2|8002|3.5)",
            "1 would be linked, 1 ambiguous, 1 only here, 1 only on the platform",
        ],
        3,
    )
    assert names() == before


@pytest.mark.rule("I36")
def test_it_links_the_pairs_and_leaves_the_ambiguous_to_a_person(main, four, capsys):
    out, code = run(capsys, "main", "--by", "address", "--where-both", "ours", "--json")
    found = json.loads(out)
    assert (code, found["linked"], found["matched"], found["ambiguous"]) == (3, 1, 1, 1)
    assert found["ambiguous_first"][0]["theirs"] == ["P-2", "P-3"]
    assert {("CRM-1", "1"), ("CRM-2", None)} < names()
    change = Change.objects.filter(cause__startswith="match:", path="title").get()
    assert change.note.endswith("(manage.py match_properties)")
    assert Conflict.objects.get().decision == "OURS"
    out, code = run(capsys, "main", "--by", "address")
    assert (out.splitlines()[-1], code) == (
        "0 linked, 1 ambiguous, 1 only here, 1 only on the platform",
        3,
    )


def test_all_linked_is_zero_and_a_pair_that_a_worker_has_is_one(main, capsys):
    row = ours(main, "CRM-1", **home(1))
    theirs(main, 1, **home(1))
    Property.objects.filter(pk=row.pk).update(create_sent_at=now())
    assert run(capsys, "main", "--by", "address") == (
        "pair       CRM-1 = P-1\n0 linked, 0 ambiguous, 0 only here, 0 only on the platform\n",
        1,
    )
    Property.objects.update(create_sent_at=None)
    assert run(capsys, "main", "--by", "address")[1] == 0
    assert run(capsys, "main", "--by", "egid")[1] == 0


def test_an_unknown_workspace_is_two(main, capsys):
    assert run(capsys, "other", "--by", "address")[1] == 2

"""Each rule of the SwissRETS schemas: a file that keeps it, one that breaks it, and what we do.

The table in docs/feeds.md says it, the files in `swissrets/` are named after its last column.
"""

from pathlib import Path

import pytest

from properties.feeds import NotAFeed, Profile, Record, Refusal
from properties.feeds.recognition import read_feed
from properties.feeds.records import FileWarning

FILES = Path(__file__).parent / "swissrets"
DOCS = Path(__file__).parents[3] / "docs" / "feeds.md"
NO_FEED, REFUSED, REPORTED, ASIDE, TAKEN = "no feed", "refused", "reported", "set aside", "taken"


def table() -> dict[str, str]:
    """Return what the docs say we do, by the name of the rule."""
    text = DOCS.read_text().partition("<!-- swissrets rules -->\n")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()[2:]]
    return {rule.strip("`"): result.partition(":")[0] for _, result, rule in rows}


def outcome(path: Path, profile: Profile) -> str:
    """Return what becomes of the last record of a file, or of the file."""
    try:
        items = list(read_feed(path, profile))
    except NotAFeed:
        return NO_FEED
    told = any(isinstance(item, FileWarning) or getattr(item, "warnings", ()) for item in items)
    if items and isinstance(items[-1], Refusal):
        return REFUSED
    if told:
        return REPORTED
    kept = items[-1].leftover.keys() - {"id"} if items and isinstance(items[-1], Record) else ()
    return ASIDE if kept else TAKEN


def files(kind: str) -> list[Path]:
    return sorted(FILES.glob(f"*.{kind}.*"))


def test_every_rule_of_the_table_has_its_files_and_every_file_its_rule():
    for kind in ("kept", "broken"):
        assert {path.name.partition(".")[0] for path in files(kind)} == table().keys()


@pytest.mark.parametrize("path", files("broken"), ids=lambda path: path.name)
def test_a_file_that_breaks_a_rule_is_treated_as_the_docs_say(path):
    assert outcome(path, Profile()) == table()[path.name.partition(".")[0]]


@pytest.mark.parametrize("lenient", [True, False])
@pytest.mark.parametrize("path", files("kept"), ids=lambda path: path.name)
def test_a_file_that_keeps_the_rules_is_taken(path, lenient):
    allowed = (
        {TAKEN, ASIDE, REPORTED} if path.name.startswith("reference-may-repeat") else {TAKEN, ASIDE}
    )
    assert outcome(path, Profile(lenient=lenient)) in allowed


@pytest.mark.parametrize("path", files("broken"), ids=lambda path: path.name)
def test_a_sender_that_is_not_lenient_has_its_bad_values_refused(path):
    """A report about a value that is left out refuses its record.

    A report about the file, or about a value that is imported as it came, does not.
    """
    rule = path.name.partition(".")[0]
    expected, strict = table()[rule], outcome(path, Profile(lenient=False))
    is_taken = rule in {"unit-unique", "phone-number"}
    assert strict == (REFUSED if expected == REPORTED and not is_taken else expected)

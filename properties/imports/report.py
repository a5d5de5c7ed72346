"""The outcome of an import or a dry run: exact counts, and the first records of each outcome.

`ImportReport` grows while an import runs. A summary is its stored form, with exact counts, limited
lists and limited texts.
"""

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from django.utils.translation import ngettext_lazy, pgettext_lazy

from crm_sync.sentence import Sentence, sentence
from crm_sync.text import clean
from crm_sync.translated import Text
from properties.domain.difference import short
from properties.feeds import Heading, Refusal
from properties.imports.differences import RECORDS, Differences

KEPT = 200  # references of one outcome that are stored
KEPT_REFUSED = 1_000

T = TypeVar("T")
Summary = dict[str, Any]
# Each with its number for people.
OUTCOMES: dict[str, Text] = {
    "new": ngettext_lazy("%(count)s new", "%(count)s new", "count"),
    "changed": ngettext_lazy("%(count)s changed", "%(count)s changed", "count"),
    "unchanged": ngettext_lazy("%(count)s unchanged", "%(count)s unchanged", "count"),
    "refused": ngettext_lazy("%(count)s refused", "%(count)s refused", "count"),
}
# Their names beside a number.
NAMES: dict[str, Text] = {
    "new": pgettext_lazy("records", "new"),
    "changed": pgettext_lazy("records", "changed"),
    "unchanged": pgettext_lazy("records", "unchanged"),
    "refused": pgettext_lazy("records", "refused"),
    "missing": pgettext_lazy("records", "missing"),
    "warned": pgettext_lazy("records", "warned"),
}
COUNTED = (*OUTCOMES, "aside", "warned", "doubles")
OF_A_PREVIEW = ("heading", "profile", "seen_at", "beside")
FIELDS = 20  # names of one record
DIFFERENCES = 2_000  # differences of all records; later records have only their number
REASONS, LENGTH = 8, 240  # reasons for one record; characters of a text from the file


@dataclass
class Excerpt(Generic[T]):
    """Counts all items, and stores the first ones."""

    limit: int = KEPT
    count: int = 0
    first: list[T] = field(default_factory=list)

    def add(self, item: T) -> None:
        """Count an item, and store it if there is room."""
        self.count += 1
        if self.count <= self.limit:
            self.first.append(item)

    @property
    def is_full(self) -> bool:
        """Whether further items are only counted."""
        return self.count >= self.limit


@dataclass
class ImportReport:
    """Records by outcome, and the facts about the file.

    Attributes:
        changed: references, each with the names of the changed fields.
        differences: the differences of the first changed records.
        headlines: reference to address or title of the first new properties.
        aside: references, each with the values without a field by their names.
        warned: references, each with warnings about invalid values and contacts.
        doubles: references of new records, each with the property of the platform that it may be.
        warnings: the warnings about the file.
        heading: the header of a foreign table.
        missing: all properties that the feed lacks.
        missing_state: the state that missing properties get; "" does not change them.
        exempt: the missing properties that do not get the state.
        stopped: why the feed as a whole is refused.
        renamed: the same, if the reason is that the feed renames its properties.
        read: the number of records that were read so far.
        total: the number of all records; None until the file was read to its end.
    """

    new: Excerpt[str] = field(default_factory=Excerpt)
    changed: Excerpt[tuple[str, list[str]]] = field(default_factory=Excerpt)
    differences: Excerpt[Differences] = field(default_factory=lambda: Excerpt(RECORDS))
    unchanged: Excerpt[str] = field(default_factory=Excerpt)
    refused: Excerpt[Refusal] = field(default_factory=lambda: Excerpt(KEPT_REFUSED))
    headlines: dict[str, str] = field(default_factory=dict)
    aside: Excerpt[tuple[str, dict[str, Any]]] = field(default_factory=Excerpt)
    warned: Excerpt[tuple[str, list[str]]] = field(default_factory=Excerpt)
    doubles: Excerpt[tuple[str, str]] = field(default_factory=Excerpt)
    warnings: list[str] = field(default_factory=list)
    heading: Heading | None = None
    missing: list[str] = field(default_factory=list)
    missing_state: str = ""
    exempt: list[str] = field(default_factory=list)
    stopped: str = ""
    renamed: str = ""
    read: int = 0
    total: int | None = None

    @property
    def accepted(self) -> int:
        """The number of accepted records."""
        return self.new.count + self.changed.count + self.unchanged.count

    @property
    def handled(self) -> int:
        """The number of records with an outcome."""
        return self.accepted + self.refused.count


def added(summary: Summary, report: ImportReport) -> Summary:
    """Return a summary with the counts and lists of a report added.

    Returns:
        a document with these members:

        - "counts": outcome to number.
        - "new", "missing", "exempt": references.
        - "missing_state": the state that missing properties get; "" does not change them.
        - "changed": [reference, names].
        - "headlines": reference to address or title of new properties.
        - "aside": [reference, [name, value] …]; of an earlier version [reference, names].
        - "warned": [reference, texts].
        - "doubles": [reference, the property of the platform that it may be].
        - "warnings": texts about the file.
        - "heading": [sheet, row, [name, read as, may be] …] of a foreign table.
        - "profile", "seen_at", "beside": the profile of the preview, its start, and a text about
          the files that were packed with the feed. They are copied from the given summary.
        - "differences": [reference, [path, name, old, new] …, number].
        - "refused": [position, reference, reasons].

        A text is a sentence in its stored form; an earlier version stored plain words. The last
        name may be the text how many more there are.

        The lists are cut at KEPT, KEPT_REFUSED and RECORDS.
    """
    counts = {name: count(summary, name) + getattr(report, name).count for name in COUNTED}
    refused = [
        [_told(one.position), one.reference, [_told(reason) for reason in one.reasons[:REASONS]]]
        for one in report.refused.first
    ]
    fresh = {
        "new": report.new.first,
        "changed": [[reference, _names(fields)] for reference, fields in report.changed.first],
        "differences": _differences(summary.get("differences", []), report.differences.first),
        "aside": [[reference, _values(values)] for reference, values in report.aside.first],
        "warned": [
            [reference, [_told(text) for text in texts[:REASONS]]]
            for reference, texts in report.warned.first
        ],
        "doubles": [[reference, _text(other)] for reference, other in report.doubles.first],
        "refused": refused,
    }
    limits = {"refused": KEPT_REFUSED, "differences": RECORDS}
    lists = {
        name: (summary.get(name, []) + items)[: limits.get(name, KEPT)]
        for name, items in fresh.items()
    }
    # These lists are known after the file was read to its end, and are the same each time.
    is_read = report.total is not None
    for name in ("missing", "exempt"):
        found = getattr(report, name)
        # Properties that were settled before a worker died are not missing any more.
        is_all = is_read and len(found) >= count(summary, name)
        counts[name] = len(found) if is_all else count(summary, name)
        lists[name] = found[:KEPT] if is_all else summary.get(name, [])
    lists["headlines"] = {
        reference: _text(text)
        for reference, text in (summary.get("headlines", {}) | report.headlines).items()
        if reference in lists["new"]
    }
    lists["warnings"] = [_told(text) for text in report.warnings[:KEPT]] or summary.get(
        "warnings", []
    )
    if report.heading:
        lists["heading"] = as_stored(report.heading)
    lists |= {name: summary[name] for name in OF_A_PREVIEW if name in summary}
    state = report.missing_state or summary.get("missing_state", "")
    whole: Summary = clean({"counts": counts, **lists, "missing_state": state})[0]
    return whole


def as_stored(heading: Heading) -> list[Any]:
    """Return a heading in the form of a summary."""
    return [heading.sheet, heading.row, [list(one) for one in heading.columns]]


def count(summary: Summary, name: str) -> int:
    """Return one count of a summary."""
    return int(summary.get("counts", {}).get(name, 0))


def accepted(summary: Summary) -> int:
    """Return the number of records that were accepted, or would be."""
    return count(summary, "new") + count(summary, "changed") + count(summary, "unchanged")


def handled(summary: Summary) -> int:
    """Return the number of records with an outcome."""
    return sum(count(summary, name) for name in OUTCOMES)


def _differences(before: list[Any], found: list[Differences]) -> list[Any]:
    """Return the differences of more records, without values after the limit."""
    room = DIFFERENCES - sum(len(kept) for _, kept, _ in before)
    added = []
    for one in found:
        first = [[_text(d.path), _text(d.name), d.old, d.new] for d in one.first[: max(0, room)]]
        added.append([one.reference, first, one.count])
        room -= len(first)
    return added


def _names(names: list[str]) -> list[Any]:
    found = [_text(name) for name in sorted(names)]
    more = len(found) - FIELDS
    return found if more <= 0 else [*found[:FIELDS], _and_more(more)]


def _values(values: dict[str, Any]) -> list[list[Any]]:
    found = [[_text(name), short(value)] for name, value in sorted(values.items())[:FIELDS]]
    more = len(values) - FIELDS
    return found if more <= 0 else [*found, [_and_more(more), ""]]


def _and_more(count: int) -> Any:
    return sentence("and %(count)s more", count=count).stored


def _told(text: str) -> Any:
    """Return a text in its stored form, with what others have written in it cut."""
    return Sentence.of(text).changed(_text).stored


def _text(text: str) -> str:
    return text if len(text) <= LENGTH else f"{text[: LENGTH - 1]}…"

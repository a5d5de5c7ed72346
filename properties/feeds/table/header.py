"""Find the header of a table, and assign a column of ours to each of its names.

Our own names need no assignment: those of the platform, and those of the pages in a table that we
wrote for a person (`table_names`). Foreign names are assigned by the sender's profile. All other
columns are set aside with a warning, and their likely meaning is only proposed.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from crm_sync.sentence import Sentence, counted_sentence, sentence
from properties import catalog
from properties.feeds.profile import Profile
from properties.feeds.records import FileWarning, Heading, NotAFeed
from properties.feeds.table.synonyms import meaning, normalised, propose
from properties.feeds.table.table_cells import REFERENCE, CellError, Formatted, says_nothing
from properties.feeds.table.table_columns import COLUMNS, MAX_COLUMNS, Column, localized
from properties.feeds.table.table_names import column_of, language_of

SEARCHED = 20  # first rows that are not empty, which are searched for a header
_LONGEST = 200  # characters of a name
_SHOWN = 80  # characters of a foreign name in a message
# Characters that are invisible or look like a blank: some programs write them into names.
_UNSEEN = re.compile(r"[\s\u200b-\u200d\u2060\ufeff\u00ad]+")
_WARNED = 20  # columns with a warning of their own

Row = tuple[int, Sequence[object]]  # the number of a row in the file, from 1, and its cells


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a table.

    Attributes:
        row: the number of its row in the file.
        titles: the unique names in the file; a column without a name is called by its number.
        columns: the column of ours for each title; None if it is set aside.
        proposed: title to the column that it may mean.
        chosen: the titles that the profile assigns or sets aside.
        language: that of a table for people (`table_names`); "" for any other.
    """

    row: int
    titles: list[str]
    columns: list[Column | None]
    proposed: dict[str, str]
    chosen: frozenset[str]
    language: str

    def heading(self, sheet: str = "") -> Heading | None:
        """Return the heading that a person may correct; None if all names are ours or unknown."""
        is_ours = not self.chosen and None not in self.columns
        if is_ours or not (any(self.columns) or self.proposed):
            return None
        pairs = zip(self.titles, self.columns, strict=True)
        rows = tuple((t, c.name if c else "", self.proposed.get(t, "")) for t, c in pairs)
        return Heading(sheet, self.row, rows)

    def warnings(self) -> Iterator[FileWarning]:
        """Yield a warning for each column that is set aside without a person's decision."""
        pairs = zip(self.titles, self.columns, strict=True)
        aside = [t for t, c in pairs if c is None and t not in self.chosen]
        for title in aside[:_WARNED]:
            yield FileWarning(_set_aside(title, self.proposed.get(title)))
        if len(aside) > _WARNED:
            rest = counted_sentence(
                "%(count)s more column is set aside",
                "%(count)s more columns are set aside",
                count=len(aside) - _WARNED,
            )
            yield FileWarning(rest)

    def place(self, name: str) -> int | None:
        """Return the index of the column that is read as this column of ours, or None."""
        names = (found.name if found else None for found in self.columns)
        return next((at for at, one in enumerate(names) if one == name), None)

    def fault(self) -> Sentence | None:
        """Return why the rows below the header cannot be read; None if they can."""
        if any(found and found.name == REFERENCE for found in self.columns):
            return None
        may_be = [title for title, name in self.proposed.items() if name == REFERENCE]
        if may_be:
            return sentence(
                'a table without the column %(name)s; "%(title)s" may be it: choose it for the'
                " sender",
                name=REFERENCE,
                title=may_be[0][:_SHOWN],
            )
        if any(self.columns):
            return sentence("a table without the column %(name)s", name=REFERENCE)
        return sentence(
            "a table of which no column is known, without the column %(name)s", name=REFERENCE
        )


def plain(title: str) -> str:
    """Return a name with one blank for each run of blanks and invisible characters."""
    return _UNSEEN.sub(" ", title).strip()


def searched(profile: Profile) -> int:
    """Return the number of rows that `find` needs, without empty rows."""
    return max(SEARCHED, profile.header_row)


def find(rows: Sequence[Row], profile: Profile, file_name: str) -> int | None:
    """Return the index of the header among the first rows; None if no row looks like a header.

    The header is the row that the profile names, else the row with the most known names, else the
    first row with two texts.

    Raises:
        NotAFeed: the row of the profile is not among the rows.
    """
    if profile.header_row:
        at = [index for index, (number, _) in enumerate(rows) if number == profile.header_row]
        if not at:
            row = str(profile.header_row)
            why = sentence("row %(number)s is no header: it is empty", number=row)
            raise NotAFeed.of(file_name, why)
        return at[0]
    ranked = [(rank(cells, profile), -index) for index, (_, cells) in enumerate(rows)]
    best, index = max(ranked, default=((False, 0), 0))
    if best[1]:
        return -index
    texts = [sum(isinstance(c, str) and bool(c.strip()) for c in cells) for _, cells in rows]
    return next((index for index, count in enumerate(texts) if count > 1), None)


def rank(cells: Sequence[object], profile: Profile) -> tuple[bool, int]:
    """Return how well a row fits as a header: whether it has the reference, and its known names."""
    titles = [plain(cell) for cell in cells if isinstance(cell, str)]
    language = language_of(titles)
    known = {_known(title, profile, language) for title in titles} - {None}
    return REFERENCE in known, len(known)


def read(row: Row, profile: Profile, file_name: str) -> Header:
    """Return the header that a row holds.

    Raises:
        NotAFeed: two names are read as the same column, or there are too many columns.
    """
    names = _names(row[1])
    language = language_of(names)
    titles = _unique(names, language)
    if len(titles) > MAX_COLUMNS:
        why = sentence("has more than %(most)s columns", most=MAX_COLUMNS)
        raise NotAFeed.of(file_name, why)
    mapping = _Mapping(profile.columns, language, titles)
    columns = [mapping.column(title) for title in titles]
    taken = [found.name for found in columns if found]
    for title, found in zip(titles, columns, strict=True):
        if found and taken.count(found.name) > 1:
            raise NotAFeed.of(file_name, _twice(title, found.name))
    chosen = frozenset(title for title in titles if mapping.says(title) is not None)
    left = [t for t, c in zip(titles, columns, strict=True) if c is None and t not in chosen]
    proposed = propose(left, profile.language, taken)
    return Header(row[0], titles, columns, proposed, chosen, language)


class _Mapping:
    """The columns that a sender assigned; case, accents and punctuation do not matter."""

    def __init__(self, columns: Mapping[str, str], language: str, titles: Sequence[str]) -> None:
        self._exact, self._language = columns, language
        self._alike = {normalised(name): to for name, to in columns.items() if name not in titles}

    def says(self, title: str) -> str | None:
        """Return our column, "" if the title is set aside, or None if nothing is assigned."""
        return self._exact.get(title, self._alike.get(normalised(title)))

    def column(self, title: str) -> Column | None:
        said = self.says(title)
        return column_of(title if said is None else said, self._language)


def _known(title: str, profile: Profile, language: str) -> str | None:
    """Return the column that a title is assigned to, names or may mean; else None."""
    if title in profile.columns:
        return profile.columns[title] or title
    ours = column_of(title, language)
    return ours.name if ours else meaning(title, profile.language)


def _names(cells: Sequence[object]) -> list[str]:
    """Return the names in a header, without the empty ones at the end."""
    names = ["" if says_nothing(cell) else plain(_title(cell))[:_LONGEST] for cell in cells]
    while names and not names[-1]:
        names.pop()
    return names


def _unique(names: Sequence[str], language: str) -> list[str]:
    """Return the names with a number where one is missing, or there twice and not ours."""
    titles: list[str] = []
    for number, title in enumerate(names, start=1):
        is_free = title and (title not in titles or column_of(title, language))
        titles.append(title if is_free else f"{title or 'column'} ({number})")
    return titles


def _title(cell: object) -> str:
    if isinstance(cell, Formatted):
        return cell.text
    return cell.error if isinstance(cell, CellError) else str(cell)


def _twice(title: str, name: str) -> Sentence:
    if title == name:
        return sentence('the column "%(title)s" is there twice', title=title)
    return sentence('the column "%(title)s" (as %(name)s) is there twice', title=title, name=name)


def _set_aside(title: str, proposal: str | None) -> Sentence:
    field = catalog.find(title)
    if field is not None and field.read_only:
        return sentence(
            'the column "%(title)s" is set aside: it is read-only, the platform sets it',
            title=title,
        )
    if proposal:
        return sentence(
            'the column "%(title)s" is set aside: none of ours has this name; it may be'
            " %(proposal)s: choose it for the sender",
            title=title[:_SHOWN],
            proposal=proposal,
        )
    language = title.split(".")[1] if title.startswith("localizations.") else "de"
    names = {name.lower(): name for name in (*COLUMNS, *localized(language))}
    nearest = [names[name] for name in get_close_matches(title.lower(), names, n=3, cutoff=0.6)]
    if nearest:
        return sentence(
            'the column "%(title)s" is set aside: none of ours has this name; the nearest:'
            " %(names)s",
            title=title[:_SHOWN],
            names=nearest,
        )
    return sentence(
        'the column "%(title)s" is set aside: none of ours has this name', title=title[:_SHOWN]
    )

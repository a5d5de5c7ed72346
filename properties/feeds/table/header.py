"""Where the header of a table is, and what each of its columns is read as.

Our own names are read as they are. Other names are read as the profile of the sender says. What is
left is set aside with a warning; what it may mean is only proposed.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from properties import catalog
from properties.feeds.profile import Profile
from properties.feeds.records import FileWarning, Heading, NotAFeed
from properties.feeds.table.synonyms import meaning, normalised, propose
from properties.feeds.table.table_cells import REFERENCE, CellError, Formatted, says_nothing
from properties.feeds.table.table_columns import COLUMNS, MAX_COLUMNS, Column, column, localized

SEARCHED = 20  # rows, the first ones that are not empty, in which a header is looked for
_LONGEST = 200  # characters of a name
# What people do not see, or see as a blank: some programs write it into names.
_UNSEEN = re.compile(r"[\s\u200b-\u200d\u2060\ufeff\u00ad]+")
_WARNED = 20  # columns that are named one by one

Row = tuple[int, Sequence[object]]  # its number in the file, from 1, and its cells


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a table.

    Attributes:
        row: its number in the file.
        titles: the names in the file, each one once; a column without one has its number.
        columns: what each is read as; None where it is set aside.
        proposed: title to the column that it may mean.
        chosen: the titles that a profile assigns.
    """

    row: int
    titles: list[str]
    columns: list[Column | None]
    proposed: dict[str, str]
    chosen: frozenset[str]

    def heading(self, sheet: str = "") -> Heading | None:
        """Return what a person may correct; None where all names are ours, or none is known."""
        is_ours = not self.chosen and None not in self.columns
        if is_ours or not (any(self.columns) or self.proposed):
            return None
        pairs = zip(self.titles, self.columns, strict=True)
        rows = tuple((t, c.name if c else "", self.proposed.get(t, "")) for t, c in pairs)
        return Heading(sheet, self.row, rows)

    def warnings(self) -> Iterator[FileWarning]:
        """Yield what a person should know of the columns that nobody has decided on."""
        pairs = zip(self.titles, self.columns, strict=True)
        aside = [t for t, c in pairs if c is None and t not in self.chosen]
        for title in aside[:_WARNED]:
            yield FileWarning(_set_aside(title, self.proposed.get(title)))
        if len(aside) > _WARNED:
            yield FileWarning(f"{len(aside) - _WARNED} more columns are set aside")

    def place(self, name: str) -> int | None:
        """Return which column, from 0, is read as one of ours; None where none is."""
        names = (found.name if found else None for found in self.columns)
        return next((at for at, one in enumerate(names) if one == name), None)

    def fault(self) -> str:
        """Return why nothing can be read below it; empty where something can."""
        if any(found and found.name == REFERENCE for found in self.columns):
            return ""
        may_be = [title for title, name in self.proposed.items() if name == REFERENCE]
        hint = f'; "{may_be[0][:80]}" may be it: choose it for the sender' if may_be else ""
        none = "" if may_be or any(self.columns) else "of which no column is known, "
        return f"a table {none}without the column {REFERENCE}{hint}"


def plain(title: str) -> str:
    """Return a name with one blank for each run of what people do not see."""
    return _UNSEEN.sub(" ", title).strip()


def searched(profile: Profile) -> int:
    """Return how many rows that are not empty `find` needs."""
    return max(SEARCHED, profile.header_row)


def find(rows: Sequence[Row], profile: Profile, file_name: str) -> int | None:
    """Return which of the first rows is the header; None where none looks like one.

    It is the one that the profile names, else the one with most names that are known, else the
    first one with two texts.

    Raises:
        NotAFeed: the row of the profile is not among them.
    """
    if profile.header_row:
        at = [index for index, (number, _) in enumerate(rows) if number == profile.header_row]
        if not at:
            raise NotAFeed(f"{file_name}: row {profile.header_row} is no header: it is empty")
        return at[0]
    ranked = [(rank(cells, profile), -index) for index, (_, cells) in enumerate(rows)]
    best, index = max(ranked, default=((False, 0), 0))
    if best[1]:
        return -index
    texts = [sum(isinstance(c, str) and bool(c.strip()) for c in cells) for _, cells in rows]
    return next((index for index, count in enumerate(texts) if count > 1), None)


def rank(cells: Sequence[object], profile: Profile) -> tuple[bool, int]:
    """Return how much a row is like a header: has it the reference, and how many known names."""
    known = {_known(plain(cell), profile) for cell in cells if isinstance(cell, str)} - {None}
    return REFERENCE in known, len(known)


def read(row: Row, profile: Profile, file_name: str) -> Header:
    """Return what the columns of a header are read as.

    Raises:
        NotAFeed: two of them are read as one column, or there are too many.
    """
    titles = _titles(row[1])
    if len(titles) > MAX_COLUMNS:
        raise NotAFeed(f"{file_name}: has more than {MAX_COLUMNS} columns")
    mapping = _Mapping(profile.columns)
    columns = [mapping.column(title) for title in titles]
    names = [found.name for found in columns if found]
    for title, found in zip(titles, columns, strict=True):
        if found and names.count(found.name) > 1:
            read_as = "" if title == found.name else f" (as {found.name})"
            raise NotAFeed(f'{file_name}: the column "{title}"{read_as} is there twice')
    chosen = frozenset(title for title in titles if mapping.says(title) is not None)
    left = [t for t, c in zip(titles, columns, strict=True) if c is None and t not in chosen]
    return Header(row[0], titles, columns, propose(left, profile.language, names), chosen)


class _Mapping:
    """The columns that a sender assigned, whatever their case, accents and marks."""

    def __init__(self, columns: Mapping[str, str]) -> None:
        self._exact = columns
        self._alike = {normalised(name): to for name, to in columns.items()}

    def says(self, title: str) -> str | None:
        """Return our column, "" to set it aside, None if nothing is assigned."""
        return self._exact.get(title, self._alike.get(normalised(title)))

    def column(self, title: str) -> Column | None:
        said = self.says(title)
        return column(title if said is None else said)


def _known(title: str, profile: Profile) -> str | None:
    """Return a column that a cell names in some way; None for any other text."""
    if title in profile.columns:
        return profile.columns[title] or title
    return title if column(title) else meaning(title, profile.language)


def _titles(cells: Sequence[object]) -> list[str]:
    """Return the names in a header without the empty ones at its end, each of them once."""
    raw = ["" if says_nothing(cell) else plain(_title(cell))[:_LONGEST] for cell in cells]
    while raw and not raw[-1]:
        raw.pop()
    titles: list[str] = []
    for number, title in enumerate(raw, start=1):
        is_free = title and (title not in titles or column(title))
        titles.append(title if is_free else f"{title or 'column'} ({number})")
    return titles


def _title(cell: object) -> str:
    if isinstance(cell, Formatted):
        return cell.text
    return cell.error if isinstance(cell, CellError) else str(cell)


def _set_aside(title: str, proposal: str | None) -> str:
    field = catalog.find(title)
    if field is not None and field.read_only:
        return f'the column "{title}" is set aside: it is read-only, the platform sets it'
    said = f'the column "{title[:80]}" is set aside: none of ours has this name'
    if proposal:
        return f"{said}; it may be {proposal}: choose it for the sender"
    language = title.split(".")[1] if title.startswith("localizations.") else "de"
    names = {name.lower(): name for name in (*COLUMNS, *localized(language))}
    nearest = [names[name] for name in get_close_matches(title.lower(), names, n=3, cutoff=0.6)]
    return f"{said}; the nearest: {', '.join(nearest)}" if nearest else said

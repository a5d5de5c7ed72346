"""Which sheet of a workbook holds the table: the one of the profile, else the first with a header.

A cover sheet has none, and a hidden sheet is read only where the profile names it.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from properties.feeds.profile import Profile
from properties.feeds.records import FileWarning, NotAFeed
from properties.feeds.table import header
from properties.feeds.table.header import Row

MAX_PEEKED = 20  # sheets that are looked at
_NAMED = 10  # sheets that a warning names

Peek = Callable[[Any, Profile], list[Row]]  # a sheet to its first rows


def choose(
    sheets: Sequence[Any], profile: Profile, file_name: str, peek: Peek
) -> tuple[Any, list[Row]]:
    """Return the sheet to read, and its first rows.

    Raises:
        NotAFeed: there is none, or none with the name that the profile gives.
    """
    visible = [sheet for sheet in sheets if sheet.sheet_state == "visible"]
    if profile.sheet:
        found = [s for s in sheets if s.title.strip().casefold() == profile.sheet.casefold()]
        if not found:
            there = _named(sheets)
            raise NotAFeed(f'{file_name}: no sheet is called "{profile.sheet}"; there is: {there}')
        return found[0], peek(found[0], profile)
    if not visible:
        raise NotAFeed(f"{file_name}: has no sheet that is shown: choose one for the sender")
    looked_at = []
    for index, sheet in enumerate(visible[:MAX_PEEKED]):
        rows = peek(sheet, profile)
        rank = max((header.rank(cells, profile) for _, cells in rows), default=(False, 0))
        looked_at.append((rank, -index, sheet, rows))
        if rank[0]:
            break
    _, _, best, rows = max(looked_at, key=lambda one: one[:2])
    return best, rows


def warnings(sheets: Sequence[Any], chosen: Any, profile: Profile) -> Iterator[FileWarning]:
    """Yield which sheets are not read, unless somebody chose the one that is."""
    others = [sheet for sheet in sheets if sheet is not chosen]
    if others and not profile.sheet:
        text = f'the sheet "{chosen.title}" is read, and not: {_named(others)}'
        yield FileWarning(text)


def _named(sheets: Sequence[Any]) -> str:
    shown = [s.title + (" (hidden)" if s.sheet_state != "visible" else "") for s in sheets]
    more = len(shown) - _NAMED
    return ", ".join([*shown[:_NAMED], *([f"and {more} more"] if more > 0 else [])])

"""Propose a column of ours for a foreign name in four languages; a person confirms it.

Names are compared without case, accents, punctuation and units. Nothing is proposed if two names
would mean the same column. Columns whose cells are words of the platform, such as `heatingType`,
have no names in `synonyms.txt`: a foreign table uses other words in them. `LANGUAGE` there means
the language of the texts.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from properties.feeds.table.table_columns import COLUMNS, localized

LANGUAGE = "LANGUAGE"

_TABLE = Path(__file__).with_suffix(".txt")
_UNITS = frozenset({"m", "m2", "m3", "qm", "mq", "cbm", "kg", "chf", "eur", "usd", "fr", "sfr"})
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "œ": "oe", "æ": "ae"})
_WORD = re.compile(r"[a-z0-9]+")
_LANGUAGES = {
    **dict.fromkeys(("de", "deutsch", "allemand", "tedesco", "german"), "de"),
    **dict.fromkeys(("fr", "franzoesisch", "francais", "francese", "french"), "fr"),
    **dict.fromkeys(("it", "italienisch", "italien", "italiano", "italian"), "it"),
    **dict.fromkeys(("en", "englisch", "anglais", "inglese", "english"), "en"),
}
_LONGEST = 120  # characters of a name that are compared


def _names() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for line in _TABLE.read_text("utf-8").replace("\n    ", " ").strip().splitlines():
        column, _, names = line.partition(": ")
        found[column] = tuple(name.strip() for name in names.split(","))
    return found


NAMES = _names()


def propose(titles: Iterable[str], language: str, taken: Iterable[str] = ()) -> dict[str, str]:
    """Return our columns by title, for titles whose meaning no other title shares.

    Args:
        titles: the foreign names in a header.
        language: two letters, for texts whose title names no language.
        taken: the columns that other titles are read as.
    """
    found = {title: column for title in titles if (column := meaning(title, language))}
    times = Counter([*found.values(), *taken])
    return {title: column for title, column in found.items() if times[column] == 1}


def meaning(title: str, language: str) -> str | None:
    """Return the column that a single name means, or None."""
    *words, last = _all_words(title) or [""]
    column = _by_text().get("".join(words)) if last in _LANGUAGES else None
    if column:  # "Titel FR"
        return column.replace(LANGUAGE, _LANGUAGES[last])
    column = _by_name().get(normalised(title))
    return column.replace(LANGUAGE, language) if column else None


def normalised(title: str) -> str:
    """Return a name without case, accents, punctuation and units.

    `Wohnfläche (m²)` is wohnflaeche.
    """
    words = _all_words(title)
    return "".join([word for word in words if word not in _UNITS] or words)


def _all_words(title: str) -> list[str]:
    text = unicodedata.normalize("NFC", title[:_LONGEST]).casefold().translate(_UMLAUTS)
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return _WORD.findall(plain)


@cache
def _by_name() -> dict[str, str]:
    """Return our columns by their normalised names. Our own names win."""
    languages = sorted(set(_LANGUAGES.values()))
    own = [*COLUMNS, *(name for language in languages for name in localized(language))]
    names = {normalised(name): column for column, names in NAMES.items() for name in names}
    return names | {normalised(name): name for name in own}


@cache
def _by_text() -> dict[str, str]:
    """Return the columns of texts by their names without the language."""
    texts = {name: column for name, column in _by_name().items() if LANGUAGE in column}
    titles = {name: column for name, column in _by_name().items() if column == "title"}
    return texts | dict.fromkeys(titles, f"localizations.{LANGUAGE}.title")

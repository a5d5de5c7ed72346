"""Pure: which files of a folder are feeds, and in which order they are imported."""

import re
import unicodedata
from collections.abc import Iterable, Mapping

from crm_sync.text import clean
from properties.feeds.unpack import is_delivery
from properties.sources.fetch.transfer import Listed, shown

LONGEST = 500  # characters of a name that can be remembered
_NUMBER = re.compile(r"([0-9]+)")

Key = tuple[tuple[str | tuple[int, str], ...], str]


def in_order(files: Iterable[Listed]) -> Mapping[str, Listed]:
    """Return the feeds among the files in the order of their names, each under its stored name.

    Of two names that differ only in what a database cannot store, the first counts.
    """
    found: dict[str, Listed] = {}
    for one in sorted(files, key=lambda one: order(shown(one.name))):
        name = stored(one.name)
        if is_delivery(name) and len(name) <= LONGEST:
            found.setdefault(name, one)
    return found


def stored(name: str) -> str:
    """Return the name of a file in the form in which it is stored and shown."""
    text: str = clean(shown(name))[0]
    return text


def order(name: str) -> Key:
    """Return the key by which names are sorted: numbers in them count as numbers.

    So `stock-9.xml` comes before `stock-10.xml`. Composed and decomposed letters are the same.
    """
    parts = _NUMBER.split(composed(name))
    pieces = [(int(part), part) if number % 2 else part for number, part in enumerate(parts)]
    return tuple(pieces), name


def composed(name: str) -> str:
    """Return a name with composed letters: some file systems take them apart."""
    return unicodedata.normalize("NFC", name)

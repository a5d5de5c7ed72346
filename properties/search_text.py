"""Pure: the words by which a property is found, and the words of a query.

Case, accents, composition and the order of words do not count. "ü", "ue" and "u" are one letter,
so that "Zürich", "Zuerich" and "zurich" are one word. A word of a query matches the beginning of a
word of the property. A reference is one word, too, whatever separates its parts, and a phone is
found by its digits, from the beginning or from any of its last digits.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from crm_sync.text import plain

LIMIT = 1_500  # characters of a property
LONGEST = 60  # characters of a word
MOST = 12  # words of a query; further ones are not searched

# A word that begins with one of these is a phone, or a whole reference. No text has such words.
PHONE, WHOLE = "+", "#"

_ADDRESS = ("street", "streetNumber", "streetAddition", "postalCode", "locality")
_REFERENCES = (
    *("objectReferenceId", "displayReferenceId", "projectReferenceId", "houseReferenceId"),
    "is24Id",
)
_NAMES = (
    *("owner.companyName", "owner.givenName", "owner.familyName"),
    *("seller.organization.legalName", "seller.organization.brand"),
    *(
        f"seller.{who}.{name}"
        for who in ("contactPerson", "visitPerson")
        for name in ("givenName", "familyName")
    ),
)
_PHONES = tuple(
    f"seller.{who}.{name}"
    for who in ("organization", "contactPerson", "visitPerson")
    for name in ("phone", "mobile")
)

# Letters that Unicode does not decompose.
_LETTERS = str.maketrans(
    {"ø": "o", "æ": "a", "œ": "o", "ł": "l", "đ": "d", "ð": "d", "\u0131": "i"}
)
_UMLAUT = re.compile(r"([aou])e+")
_SEPARATORS = re.compile(r"[\W_]+")
_TRUNK = re.compile(r"\(0\)")
_NUMBERS = re.compile(r"[\d\s()+/.-]+")
_SHORTEST_PHONE = 6  # digits of a query that may be a phone
_SHORTEST_TAIL = 7  # last digits by which a phone is found
_LONGEST_PHONE = 15  # E.164


def folded(text: str) -> str:
    """Return the words of a text, folded, with one space between them."""
    flat = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    bare = "".join(one for one in flat if not unicodedata.combining(one)).translate(_LETTERS)
    return _SEPARATORS.sub(" ", _UMLAUT.sub(r"\1", bare)).strip()


def search_text(
    document: Mapping[str, Any], reference: str | None = None, platform_id: str | None = None
) -> str:
    """Return the words by which a property is found: each once, with one space between them.

    Args:
        document: the desired values.
        reference: ours, which the document of a property that was never read does not have.
        platform_id: it is found as a whole, because a part of it says nothing to anybody.
    """
    words: dict[str, None] = {}
    for word in _words(document, reference or "", platform_id or ""):
        words.setdefault(word[:LONGEST])
    text = " ".join(words)
    return text if len(text) <= LIMIT else text[: text.rindex(" ", 0, LIMIT + 1)]


def _words(document: Mapping[str, Any], reference: str, platform_id: str) -> Iterator[str]:
    references = [reference, *(_at(document, path) for path in _REFERENCES)]
    for name in (*references, platform_id):
        yield from _whole(name)
    texts = [_at(document, f"address.{name}") for name in _ADDRESS]
    texts += [*references, *(_at(document, name) for name in ("title", *_NAMES))]
    for text in texts:
        yield from folded(text).split()
    for path in _PHONES:
        yield from _tails(_at(document, path))


def _at(document: Mapping[str, Any], path: str) -> str:
    value: Any = document
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return plain(value)


def _whole(reference: str) -> Iterator[str]:
    if word := folded(reference).replace(" ", ""):
        yield WHOLE + word


def _digits(text: str) -> str:
    """Return the digits of a phone without those that only some people write: 00 and 0."""
    return "".join(str(int(one)) for one in _TRUNK.sub("", text) if one.isdecimal()).lstrip("0")


def _numbers(text: str) -> Iterator[str]:
    """Yield the digits of a phone as typed, and without its country code (those of 31 to 49)."""
    digits = _digits(text)[:_LONGEST_PHONE]
    if len(digits) >= _SHORTEST_PHONE:
        yield digits
        if text.strip().startswith(("+", "00")) and len(digits) - 2 >= _SHORTEST_TAIL:
            yield digits[2:]


def _tails(phone: str) -> Iterator[str]:
    digits = _digits(phone)[:_LONGEST_PHONE]
    for start in range(max(1, len(digits) - _SHORTEST_TAIL + 1) if digits else 0):
        yield PHONE + digits[start:]


def alternatives(query: str) -> list[list[str]]:
    """Return the words to find: all words of any of these lists. A whole reference has a digit.

    Empty if the query has no letter and no digit: it finds nothing.
    """
    words = folded(query).split()[:MOST]
    if not words:
        return []
    found = [_longest_first(words)]
    if any(map(str.isdigit, query)):
        found += [[one[:LONGEST]] for one in _whole(query)]
    for run in _NUMBERS.finditer(query):
        rest = folded(f"{query[: run.start()]} {query[run.end() :]}").split()[:MOST]
        found += [_longest_first([PHONE + number, *rest]) for number in _numbers(run[0])]
    return found


def _longest_first(words: Iterable[str]) -> list[str]:
    """Return each word once, the longest first: fewer properties have it."""
    return sorted({word[:LONGEST] for word in words}, key=lambda word: (-len(word), word))

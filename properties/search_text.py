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
from properties.catalog.lookup import value_at

LIMIT = 1_500  # characters of a property
LONGEST = 60  # characters of a word
# A longer query would find less than these, if anything.
MOST = 12  # words of a query
LONGEST_QUERY = 200  # characters

# A word that begins with one of these is a phone, or a whole reference. No text has such words.
PHONE, WHOLE = "+", "#"

_REFERENCES = (
    *("objectReferenceId", "displayReferenceId", "projectReferenceId", "houseReferenceId"),
    "is24Id",
)
_PEOPLE = ("givenName", "familyName")
Steps = tuple[str, ...]
# The members, by the path of their object.
_TEXTS = (
    (
        ("address",),
        ("street", "streetNumber", "streetAddition", "postalCode", "locality"),
    ),
    ((), ("title",)),
    (("owner",), ("companyName", *_PEOPLE)),
    (("seller", "organization"), ("legalName", "brand")),
    (("seller", "contactPerson"), _PEOPLE),
    (("seller", "visitPerson"), _PEOPLE),
)
_PHONES = tuple(
    (("seller", who), ("phone", "mobile"))
    for who in ("organization", "contactPerson", "visitPerson")
)

# Letters that Unicode does not decompose.
_LETTERS = str.maketrans(
    {"ø": "o", "æ": "a", "œ": "o", "ł": "l", "đ": "d", "ð": "d", "\u0131": "i"}
)
_UMLAUT = re.compile(r"([aou])e+")
_OTHERS = re.compile(r"[^\x00-\x7f]+")
_SEPARATORS = re.compile(r"[\W_]+")
_NO_DIGITS = re.compile(r"\D+")
_TRUNK = re.compile(r"\(0\)")
_NUMBERS = re.compile(r"[\d\s()+/.-]+")
_SHORTEST_PHONE = 6  # digits of a query that may be a phone
_SHORTEST_TAIL = 7  # last digits by which a phone is found
_LONGEST_PHONE = 15  # E.164


def folded(text: str) -> str:
    """Return the words of a text, folded, with one space between them."""
    bare = text.lower() if text.isascii() else _bare(text)
    return _SEPARATORS.sub(" ", _UMLAUT.sub(r"\1", bare)).strip()


def _bare(text: str) -> str:
    flat = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return _OTHERS.sub(_unmarked, flat).translate(_LETTERS)


def _unmarked(found: re.Match[str]) -> str:
    return "".join(one for one in found[0] if not unicodedata.combining(one))


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
    references = [reference, *_values(document, (((), _REFERENCES),))]
    for name in filter(None, (*references, platform_id)):
        yield from _whole(name)
    texts = (*references, *_values(document, _TEXTS))
    yield from folded("\n".join(texts)).split()  # once, because a feed writes many properties
    for phone in _values(document, _PHONES):
        yield from _tails(phone)


def _values(document: Mapping[str, Any], of: Iterable[tuple[Steps, Steps]]) -> Iterator[str]:
    for path, names in of:
        found = value_at(document, path)
        if isinstance(found, dict):
            for name in names:
                if value := found.get(name):
                    yield value if isinstance(value, str) else plain(value)


def _whole(reference: str) -> Iterator[str]:
    if word := folded(reference).replace(" ", ""):
        yield WHOLE + word


def _digits(text: str) -> str:
    """Return the digits of a phone without those that only some people write: 00 and 0."""
    digits = _NO_DIGITS.sub("", _TRUNK.sub("", text))
    return (digits if digits.isascii() else "".join(str(int(one)) for one in digits)).lstrip("0")


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
    query = query[:LONGEST_QUERY]
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

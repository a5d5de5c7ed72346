"""Pure: find people in texts by e-mail, phone or whole name, in any spelling (S23)."""

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

FORGOTTEN = "[forgotten]"
AROUND = 30  # characters that are shown on each side of a name
LONGEST = 100  # characters of a word that may be a name
STATES = frozenset({"status", "state", "type", "event"})  # members that never hold a name
TITLES = frozenset({"frau", "herr", "mr", "mrs", "ms", "madame", "monsieur", "signora", "signor"})
_MAIL = re.compile(r"[^@\s]+@[^@\s]+")
_PHONE = re.compile(r"[\d\s()+/.-]+")
_DIGITS = 6  # the least number in a phone
_LETTERS = 4  # the least number in a name
# An escape of JSON counts as the letter, in JSON inside of JSON too, and so does one of a link: a
# letter in UTF-8, else a byte.
_NEXT = "%[89abAB][0-9a-fA-F]"
_ESCAPED = re.compile(
    r"""\\+(?:u[0-9a-fA-F]{4}|["\\/bfnrt])"""
    rf"|%[cdCD][0-9a-fA-F]{_NEXT}|%[eE][0-9a-fA-F](?:{_NEXT}){{2}}|%[fF][0-7](?:{_NEXT}){{3}}"
    r"|%[0-9a-fA-F]{2}"
)
_UNIT = re.compile(rf"{_ESCAPED.pattern}|.", re.DOTALL)
# A letter with a mark may be stored as one character or as two, and "ß" for "ss".
_IN_EACH_FORM = re.compile(r".?[^\x00-\x7f]+|[^a-z0-9@._-]|ss")
_NAME_BEFORE = re.compile(r"(?:(\w+)[ \t\u00a0]+|\w[-\u2010\u2011])$")
_NAME_AFTER = re.compile(r"[ \t\u00a0]+(\w)|[-\u2010\u2011]\w")


def folded(text: str) -> str:
    """Return a text for a comparison: no case, one composition, one space between words."""
    return " ".join(_fold(text).split())


def text_of(content: bytes) -> str:
    """Return the text of bytes of others: UTF-8 or as JSON is encoded, else one byte a letter."""
    try:
        return content.decode(json.detect_encoding(content))
    except ValueError:
        return content.decode("latin-1")


def fault(word: str) -> str:
    """Return why a word does not identify a person, or ""."""
    if _MAIL.fullmatch(word) or (is_phone(word) and sum(map(str.isdigit, word)) >= _DIGITS):
        return ""
    names = [one for one in word.split() if one[0].isalpha()]
    if len(names) > 1 and sum(map(str.isalpha, word)) >= _LETTERS:
        return ""
    return f"{word!r} is in too many texts: give an e-mail, a phone or a whole name"


def is_phone(word: str) -> bool:
    """Return whether a word can be a phone: digits and separators."""
    return bool(_PHONE.fullmatch(word))


def _fold(text: str) -> str:
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", text).casefold())


@dataclass(frozen=True)
class Found:
    """The position of a name in a text.

    Attributes:
        is_certain: False if it may be part of another person's name: "Anna Maria" Schmidt.
    """

    start: int
    end: int
    is_certain: bool


@dataclass(frozen=True)
class NameSearch:
    """The words to find, each from `folded` and without a `fault`."""

    words: frozenset[str]

    def pieces(self) -> Iterator[str]:
        """Yield the longest part of each word that every database finds, in all its spellings."""
        for word in self.words:
            piece = max(_IN_EACH_FORM.split(word), key=len)
            yield from {piece, piece.replace("@", "%40")}

    def found(self, text: str) -> list[Found]:
        """Return the positions of the whole words in a text, in any case and composition."""
        found = self._found(text, plus="+")
        # A form has a plus for a space. The @ of an e-mail is escaped there.
        for one in self._found(text, plus=" ") if "+" in text else ():
            is_new = all(one.end <= other.start or other.end <= one.start for other in found)
            if is_new and "@" not in text[one.start : one.end]:
                found.append(one)
        return sorted(found, key=lambda one: one.start)

    def _found(self, text: str, *, plus: str) -> list[Found]:
        whole = folded(_ESCAPED.sub(lambda one: _letters(one[0]), text.replace("+", plus)))
        if not any(word in whole for word in self.words):
            return []
        plain, units = _unescaped(text, plus)
        flat, starts = _flattened(plain)
        longest_first = sorted(self.words, key=len, reverse=True)
        either = (r"\s+".join(map(re.escape, word.split())) for word in longest_first)
        pattern = re.compile("|".join(either))
        found, at = [], 0
        while match := pattern.search(flat, at):
            start, end = starts[match.start()], starts[match.end()]
            at = match.start() + 1
            if starts[match.end() - 1] != end and not _is_within(plain, start, end, match[0]):
                is_certain = _is_certain(plain, start, end, match[0])
                found.append(Found(units[start], units[end], is_certain))
                at = match.end()
        return found

    def blanked(self, value: Any) -> tuple[Any, list[str]]:
        """Return a text or a JSON value without the names, and the names that remain in it.

        A name remains if it may be another person's, if it is in a key of a document, or in a
        state. It is returned with the words around it.
        """
        if isinstance(value, str):
            return self._in_text(value)
        if isinstance(value, list):
            pairs = [self.blanked(one) for one in value]
            return [one for one, _ in pairs], [text for _, left in pairs for text in left]
        if not isinstance(value, dict):
            return value, self.shown(value)
        result, left = {}, self.shown(list(value))
        for name, member in value.items():
            result[name], more = (
                (member, self.shown(member)) if name in STATES else self.blanked(member)
            )
            left += more
        return result, left

    def shown(self, value: Any) -> list[str]:
        """Return each name in a text or a JSON value, with the words around it."""
        if isinstance(value, str):
            return [_around(value, one) for one in self.found(value)]
        if isinstance(value, dict):
            return self.shown(list(value)) + self.shown(list(value.values()))
        if isinstance(value, list):
            return [text for one in value for text in self.shown(one)]
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return self.shown(str(value)) if is_number else []

    def _in_text(self, text: str) -> tuple[str, list[str]]:
        parts, left, at = [], [], 0
        for one in self.found(text):
            if one.is_certain:
                parts += [text[at : one.start], FORGOTTEN]
                at = one.end
            else:
                left.append(_around(text, one))
        return "".join([*parts, text[at:]]), left


def _letters(escape: str) -> str:
    """Return what a match of `_ESCAPED` stands for."""
    if escape[0] == "%":
        return text_of(bytes.fromhex(escape.replace("%", "")))
    last = escape.lstrip("\\")
    return str(json.loads(f'"\\{last}"')) if last else "\\"


def _unescaped(text: str, plus: str) -> tuple[str, list[int]]:
    """Return a text without escapes, and positions in `text` for its characters and its end."""
    plain, units = [], []
    for unit in _UNIT.finditer(text):
        letters = _letters(unit[0]) if len(unit[0]) > 1 else unit[0].replace("+", plus)
        plain.append(letters)
        units += [unit.start()] * len(letters)
    return "".join(plain), [*units, len(text)]


def _flattened(text: str) -> tuple[str, list[int]]:
    """Return a text for a comparison, and positions in `text` for its characters and its end.

    The position of a character is the start of its original letter, which may have marks.
    """
    letters: list[list[Any]] = []
    for at, char in enumerate(text):
        if letters and unicodedata.combining(char):
            letters[-1][1] += char
        else:
            letters.append([at, char])
    flat, starts = [], []
    for start, letter in letters:
        as_compared = _fold(letter)
        flat.append(as_compared)
        starts += [start] * len(as_compared)
    return "".join(flat), [*starts, len(text)]


def _is_within(text: str, start: int, end: int, word: str) -> bool:
    """Return whether the match is a part of a longer word or e-mail."""
    before, after = _base(text[:start]), text[end : end + 2]
    if before.isalnum() or before == "_" or after[:1].isalnum() or after[:1] == "_":
        return True
    if "@" not in word:
        return False
    return before in (*".+-",) or (after[:1] in (*".-",) and after[1:].isalnum())


def _base(text: str) -> str:
    """Return the last character that is not a combining mark."""
    return next((one for one in reversed(text) if not unicodedata.combining(one)), "")


def _is_certain(text: str, start: int, end: int, word: str) -> bool:
    """Return whether no other name is beside the match, which could make it another person's."""
    if "@" in word or is_phone(word):
        return True
    before = _NAME_BEFORE.search(text[max(0, start - LONGEST) : start])
    after = _NAME_AFTER.match(text[end:])
    if after and (after[1] is None or after[1].isupper()):
        return False
    if before is None:
        return True
    return before[1] is not None and (not before[1][0].isupper() or before[1].casefold() in TITLES)


def _around(text: str, one: Found) -> str:
    before, after = text[: one.start], text[one.end :]
    begins = "…" if len(before) > AROUND else ""
    ends = "…" if len(after) > AROUND else ""
    return begins + before[-AROUND:] + text[one.start : one.end] + after[:AROUND] + ends

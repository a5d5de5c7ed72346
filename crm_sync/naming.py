"""Pure: finds people in texts by their e-mails, phones and whole names, however written (S23)."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

FORGOTTEN = "[forgotten]"
AROUND = 30  # characters that are shown on each side of a name
LONGEST = 100  # characters of a word that may be a name
STATES = frozenset({"status", "state", "type", "event"})  # members of a document; nobody's name
TITLES = frozenset({"frau", "herr", "mr", "mrs", "ms", "madame", "monsieur", "signora", "signor"})
_MAIL = re.compile(r"[^@\s]+@[^@\s]+")
_PHONE = re.compile(r"[\d\s()+/.-]+")
_DIGITS = 6  # of a phone, at least
_LETTERS = 4  # of a name, at least
# What JSON writes for a letter counts as the letter.
_UNIT = re.compile(r"\\u[0-9a-fA-F]{4}|.", re.DOTALL)
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")
# A letter with a mark may be stored as one character or as two, and "ß" for "ss".
_IN_EACH_FORM = re.compile(r".?[^\x00-\x7f]+|[^a-z0-9@._+-]|ss")
_NAME_BEFORE = re.compile(r"(?:(\w+)[ \t\u00a0]+|\w[-\u2010\u2011])$")
_NAME_AFTER = re.compile(r"[ \t\u00a0]+(\w)|[-\u2010\u2011]\w")


def folded(text: str) -> str:
    """Return a text as it is compared: no case, one composition, one space between words."""
    return " ".join(_fold(text).split())


def fault(word: str) -> str:
    """Say why a word does not tell who is meant, "" when it does."""
    if _MAIL.fullmatch(word) or (is_phone(word) and sum(map(str.isdigit, word)) >= _DIGITS):
        return ""
    names = [one for one in word.split() if one[0].isalpha()]
    if len(names) > 1 and sum(map(str.isalpha, word)) >= _LETTERS:
        return ""
    return f"{word!r} is in too many texts: give an e-mail, a phone or a whole name"


def is_phone(word: str) -> bool:
    """Tell whether a word can be a phone: digits, and what stands between them."""
    return bool(_PHONE.fullmatch(word))


def _fold(text: str) -> str:
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", text).casefold())


@dataclass(frozen=True)
class Found:
    """Where a name stands in a text.

    Attributes:
        is_certain: False where it may be a part of somebody else's: "Anna Maria" Schmidt.
    """

    start: int
    end: int
    is_certain: bool


@dataclass(frozen=True)
class NameSearch:
    """What is looked for, each as `folded` returns it and without a `fault`."""

    words: frozenset[str]

    def pieces(self) -> Iterator[str]:
        """Yield for each word its longest part that each database finds in each of its forms."""
        for word in self.words:
            yield max(_IN_EACH_FORM.split(word), key=len)

    def found(self, text: str) -> list[Found]:
        """Return where they stand in a text, whole and in any case and composition."""
        plain = _ESCAPED.sub(lambda one: chr(int(one[1], 16)), text) if "\\u" in text else text
        whole = folded(plain)
        if not any(word in whole for word in self.words):
            return []
        flat, starts = _flattened(text)
        either = (r"\s+".join(map(re.escape, word.split())) for word in self._longest_first())
        pattern = re.compile("|".join(either))
        found, at = [], 0
        while match := pattern.search(flat, at):
            start, end = starts[match.start()], starts[match.end()]
            at = match.start() + 1
            if starts[match.end() - 1] != end and not _is_within(text, start, end, match[0]):
                found.append(Found(start, end, _is_certain(text, start, end, match[0])))
                at = match.end()
        return found

    def blanked(self, value: Any) -> tuple[Any, list[str]]:
        """Return a text or a JSON value without them, and what was left, with the words around.

        Left are names of which it is uncertain whose they are, those in a key of a document, and
        states.
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
        """Return each place in a text or a JSON value, with the words around."""
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

    def _longest_first(self) -> Iterable[str]:
        return sorted(self.words, key=len, reverse=True)


def _flattened(text: str) -> tuple[str, list[int]]:
    """Return a text as it is compared, and for each of its characters, and for its end, the start.

    That is the place in `text` of the letter, with its marks, that it comes from.
    """
    letters: list[list[Any]] = []
    for unit in _UNIT.finditer(text):
        char = chr(int(unit[0][2:], 16)) if len(unit[0]) > 1 else unit[0]
        if letters and unicodedata.combining(char):
            letters[-1][1] += char
        else:
            letters.append([unit.start(), char])
    flat, starts = [], []
    for start, letter in letters:
        as_compared = _fold(letter)
        flat.append(as_compared)
        starts += [start] * len(as_compared)
    return "".join(flat), [*starts, len(text)]


def _is_within(text: str, start: int, end: int, word: str) -> bool:
    """Tell whether it is a part of a longer word or e-mail."""
    before, after = _base(text[:start]), text[end : end + 2]
    if before.isalnum() or before == "_" or after[:1].isalnum() or after[:1] == "_":
        return True
    if "@" not in word:
        return False
    return before in (*".+-",) or (after[:1] in (*".-",) and after[1:].isalnum())


def _base(text: str) -> str:
    """Return the last character that is no mark of the one before it."""
    return next((one for one in reversed(text) if not unicodedata.combining(one)), "")


def _is_certain(text: str, start: int, end: int, word: str) -> bool:
    """Tell whether no other name stands beside it, which would make it another person's."""
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

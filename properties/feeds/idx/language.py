"""Pure: guess the language of the texts of an IDX file, which the format does not name.

The guess only leads to a warning: a person sets the language of the sender.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from crm_sync.sentence import Sentence, sentence
from properties.feeds.records import FileWarning

NAMES = {"de": sentence("German"), "fr": sentence("French"), "it": sentence("Italian")}
# Small words that the other two languages do not have.
_WORDS = {
    "de": "und der das mit für ist ein eine im am von auf bei beim zum zur wohnung zimmer",
    "fr": "et les des une avec dans est pour du aux sur vous cette appartement pièces",
    "it": "il di della con è nel gli che sono del alla questo appartamento locali",
}
_LANGUAGE_OF = {word: code for code, words in _WORDS.items() for word in words.split()}
# Cantons with one official language, as people write them.
_CANTONS = {
    "fr": "VD vaud waadt GE genève geneve genf NE neuchâtel neuchatel neuenburg JU jura",
    "it": "TI ticino tessin",
}
_LANGUAGE_IN = {name.casefold(): code for code, names in _CANTONS.items() for name in names.split()}
_WORD = re.compile(r"[^\W\d_]+")
_UMLAUT = re.compile("[äöüß]")
_LOOKED_AT = 2_000  # characters of a text that are searched
_LEAST = 2  # words of a language, and twice as many as of any other language
_NAMED = 5  # cantons in a warning


class Languages:
    """Counts the likely languages of the texts of a file, and their cantons."""

    def __init__(self) -> None:
        self._records: Counter[str] = Counter()
        self._cantons: defaultdict[str, dict[str, None]] = defaultdict(dict)

    def meet(self, text: str, canton: str) -> None:
        """Count the texts of one more record by the language of their words.

        Without a known word, the canton of the object decides. If the canton has several languages
        too, the record is not counted.
        """
        found = _found(text)
        code = _clear(found) if found else _LANGUAGE_IN.get(canton.casefold(), "")
        if text and code:
            self._records[code] += 1
            if canton and len(self._cantons[code]) < _NAMED:
                self._cantons[code][canton] = None

    def warnings(self, language: str) -> Iterator[FileWarning]:
        """Yield a warning for each other language that the texts seem to be in.

        Args:
            language: the language that the sender is set to.
        """
        total = self._records.total()
        for code, count in self._records.most_common():
            if code == language:
                continue
            yield FileWarning(self._warning(code, count, total, language))

    def _warning(self, code: str, count: int, total: int, language: str) -> Sentence:
        found: Sentence = NAMES[code]
        if cantons := [*self._cantons[code]]:
            found = sentence("%(language)s (%(cantons)s)", language=found, cantons=cantons)
        told = sentence(
            "the texts of %(count)s of %(total)s records seem to be %(found)s, and are taken for"
            " %(taken)s",
            count=count,
            total=total,
            found=found,
            taken=NAMES.get(language, language),
        )
        if count * 2 <= total:
            return told
        return sentence(
            "%(told)s: the language of its sender should be %(code)s", told=told, code=code
        )


def _found(text: str) -> Counter[str]:
    """Return the number of words of each language in a text. Only German has umlauts."""
    words = _WORD.findall(text[:_LOOKED_AT].lower())
    codes = (_LANGUAGE_OF.get(w) or ("de" if _UMLAUT.search(w) else "") for w in words)
    return Counter(filter(None, codes))


def _clear(found: Counter[str]) -> str:
    """Return the language with clearly the most words; "" if there is none."""
    (best, count), (_, second) = [*found.most_common(2), ("", 0)][:2]
    return best if count >= _LEAST and count >= 2 * second else ""

"""Pure: a sentence that a worker stores, and that each person reads in their own language.

As a text it is English: in a log, a command, the API, a comparison. As HTML it is in the language
of the reader (decision 30).
"""

import json
import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from typing import Any, Self, TypeAlias, cast

from django.utils import timezone
from django.utils.formats import number_format
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, ngettext, override
from django.utils.translation.trans_real import CONTEXT_SEPARATOR

from crm_sync.text import clean
from crm_sync.translated import Text, day_in_words, minute_in_words, number

LONGEST = 2000  # characters of a text that is stored
Value: TypeAlias = "str | float | date | Sentence | Sequence[Value]"
_QUOTED = re.compile("“([^”]*)”")
_MESSAGE, _VALUES, _TEXT, _MOMENT, _DAY = "say", "with", "text", "at", "day"


class Sentence(str):
    """A stored text: a message of ours with its values, or plain words such as those of an error.

    Attributes:
        message: what is translated, with placeholders; one and many, if it counts; "" if the text
            is plain words, which no language changes.
        values: what stands in the placeholders; a sentence among them is translated too.
    """

    __slots__ = ("message", "values")
    message: str | tuple[str, str]
    values: dict[str, Value]

    def __new__(
        cls,
        text: str = "",
        message: str | tuple[str, str] = "",
        values: dict[str, Value] | None = None,
    ) -> Self:
        """Take plain words, another sentence, or a message with its values; cut what is long."""
        if isinstance(text, Sentence) and not message:
            message, values = text.message, text.values
        kept = {name: _kept(value) for name, value in (values or {}).items()}
        made = super().__new__(cls, _english(message, kept) if message else _cut(text))
        made.message, made.values = message, kept
        return made

    def __str__(self) -> str:
        """Return itself: an error whose text it is does not lose the message."""
        return self

    def __html__(self) -> SafeString:
        """Return it for a page, in the language of the reader."""
        return mark_safe(escape(self.said()))  # noqa: S308 - it is escaped

    def said(self) -> str:
        """Return it in the language of the reader."""
        if not self.message:
            return format(self)
        values = {name: _said(value) for name, value in self.values.items()}
        if isinstance(self.message, tuple):
            return ngettext(*self.message, cast(int, self.values["count"])) % values
        return _without_context(gettext(self.message)) % values

    def changed(self, change: Callable[[str], str]) -> Self:
        """Return it with each text of others in it changed; its message stays."""
        if not self.message:
            text = change(format(self))
            return self if text == self else type(self)(text)
        values = {name: _changed(value, change) for name, value in self.values.items()}
        return self if values == self.values else type(self)("", self.message, values)

    @classmethod
    def of(cls, stored: "str | dict[str, Any]") -> Self:
        """Return the sentence that was stored in this form."""
        if isinstance(stored, str):
            return stored if type(stored) is cls else cls(stored)
        if _TEXT in stored:
            return cls(stored[_TEXT])
        message, values = stored[_MESSAGE], stored[_VALUES]
        return cls(
            "",
            message if isinstance(message, str) else tuple(message),
            {name: _of(value) for name, value in values.items()},
        )

    @property
    def stored(self) -> "str | dict[str, Any]":
        """The form for a JSON column. Plain words are stored as they are."""
        if not self.message:
            return format(self)
        return {_MESSAGE: self.message, _VALUES: {k: _stored(v) for k, v in self.values.items()}}

    @classmethod
    def loaded(cls, column: str) -> Self:
        """Return the sentence that a text column holds."""
        try:
            return cls.of(json.loads(column) if column.startswith("{") else column)
        except (ValueError, KeyError):  # words that an older version stored
            return cls(column)

    @property
    def dumped(self) -> str:
        """The form for a text column, in which only JSON begins with a brace."""
        stored = self.stored
        if isinstance(stored, str):
            if not stored.startswith("{"):
                return stored
            stored = {_TEXT: stored}
        return json.dumps(stored, ensure_ascii=False)


def sentence(message: str, /, **values: Value) -> Sentence:
    """Return a sentence of ours that is translated when it is read.

    Args:
        message: English, with a named placeholder for each value: "%(count)s rows".
        values: texts of others, whole numbers (with thousands apart), decimals, days, aware
            moments, sentences, or lists of these.
    """
    return Sentence("", message, values)


def counted_sentence(one: str, many: str, /, *, count: int, **values: Value) -> Sentence:
    """Return a sentence of ours about a number of things; see `sentence`."""
    return Sentence("", (one, many), {"count": count, **values})


def name_in_context(context: str, name: str) -> Sentence:
    """Return a name that the catalogues hold in a context, such as that of a field."""
    return Sentence("", f"{context}{CONTEXT_SEPARATOR}{name}")


def sentence_of(name: str, text: str) -> Sentence:
    """Return what is said of something, with its name: `translated.said_of`, to be stored."""
    return sentence("%(name)s: %(text)s", name=name, text=text)


def first_of(names: Sequence[str], count: int) -> Value:
    """Return the first names of `count`, and how many more there are, to stand in a sentence."""
    more = count - len(names)
    if more <= 0:
        return names
    return sentence("%(names)s and %(count)s more", names=names, count=more)


def lazy_sentence(text: Text) -> Sentence:
    """Return a lazy text of ours, such as the label of a choice, as a sentence."""
    with override("en"):
        return Sentence("", str(text))


def said(text: object) -> str:
    """Return a text, or that of an error, in the language of the reader, as `Sentence.said`."""
    found = str(text)
    return found.said() if isinstance(found, Sentence) else found


def _without_context(message: str) -> str:
    return message.rpartition(CONTEXT_SEPARATOR)[2]


def _english(message: str | tuple[str, str], values: dict[str, Value]) -> str:
    if isinstance(message, tuple):
        message = message[0] if values["count"] == 1 else message[1]
    named = {name: _in_english(value) for name, value in values.items()}
    return _without_context(message) % named


def _in_english(value: Value) -> str:
    # A sentence of a module is made before there is any translation, so its text asks for none.
    if isinstance(value, str):
        return format(value)
    if isinstance(value, float):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"  # quick, and the same where there are no settings
    with override("en"), timezone.override(UTC):
        return _said(value)


def _said(value: Value) -> str:
    if isinstance(value, str):
        return value.said() if isinstance(value, Sentence) else _with_marks(value)
    if isinstance(value, float):
        return number_format(value)
    if isinstance(value, int):
        return number(value)
    if isinstance(value, datetime):
        return minute_in_words(timezone.localtime(value))
    if isinstance(value, date):
        return day_in_words(value)
    are_sentences = any(isinstance(one, Sentence) for one in value)
    return ("; " if are_sentences else ", ").join(map(_said, value))


def _with_marks(text: str) -> str:
    """Return a text; the quotation marks of `text.quoted` become those of the reader."""
    quoted = _QUOTED.fullmatch(text)
    return gettext("“%(text)s”") % {"text": quoted[1]} if quoted else format(text)


def _kept(value: Value) -> Value:
    if isinstance(value, Sentence | int | float | date):
        return value
    return _cut(value) if isinstance(value, str) else [_kept(one) for one in value]


def _changed(value: Value, change: Callable[[str], str]) -> Value:
    if isinstance(value, Sentence):
        return value.changed(change)
    if isinstance(value, str):
        return change(value)
    return (
        value if isinstance(value, int | float | date) else [_changed(one, change) for one in value]
    )


def _cut(text: str) -> str:
    return str(clean(format(text))[0][:LONGEST])


def _stored(value: Value) -> Any:
    if isinstance(value, Sentence):
        return value.stored if value.message else {_TEXT: format(value)}
    if isinstance(value, date):
        return {_MOMENT if isinstance(value, datetime) else _DAY: value.isoformat()}
    return value if isinstance(value, str | int | float) else [_stored(one) for one in value]


def _of(stored: Any) -> Value:
    if isinstance(stored, list):
        return [_of(one) for one in stored]
    if not isinstance(stored, dict):
        return cast(Value, stored)
    if _MOMENT in stored:
        return datetime.fromisoformat(stored[_MOMENT])
    return date.fromisoformat(stored[_DAY]) if _DAY in stored else Sentence.of(stored)

"""The names of columns and values in a table for people: those of the pages, and back.

A table for a program has the platform's own names. A table that a person downloads has the names of
the pages, in the language of that person, and is read back in each of our languages. Its header is
recognised by the name of the reference, so no name in another sender's table is taken for ours.
"""

import re
from collections.abc import Collection, Iterable
from functools import cache
from typing import Any

from django.utils.translation import gettext, override

from crm_sync.translated import LANGUAGES
from properties.catalog import Field, Kind
from properties.catalog.field_names import choice_name, label
from properties.feeds.table.table_cells import REFERENCE
from properties.feeds.table.table_columns import COLUMNS, Column, column, localized

_ANY = "xx"  # stands for the language of a text
_OF_A_TEXT = re.compile(r"(.+ · )([a-z]{2})( · .+)")


@cache
def title(name: str, language: str) -> str:
    """Return the header of a column in a language; without a language, the platform's own name."""
    if not language:
        return name
    with override(language):
        return label(name)


@cache
def choice(value: str | bool, language: str) -> str:
    """Return a value of an enum, a yes or a no in a language."""
    with override(language):
        if isinstance(value, bool):
            return gettext("Yes") if value else gettext("No")
        return choice_name(value)


def titles(names: Iterable[str], language: str) -> list[str]:
    """Return the headers of columns."""
    return [title(name, language) for name in names]


def sheet(language: str) -> str:
    """Return the name of the sheet with the properties."""
    with override(language or "en"):
        return gettext("properties")


def language_of(titles: Collection[str]) -> str:
    """Return the language in which a header names the reference; "" if it does so in none."""
    if REFERENCE in titles:
        return ""
    found = {_folded(one) for one in titles}
    return next((one for one in LANGUAGES if _folded(title(REFERENCE, one)) in found), "")


def column_of(name: str, language: str) -> Column | None:
    """Return the column of a header, or None.

    Args:
        language: that of the table. In a table for people, the names of all our languages count, as
            somebody may have added a column of another table.
    """
    found = column(name)
    if found or not language:
        return found
    folded = _folded(name)
    ours = _titles().get(folded)
    if ours is None and (of_a_text := _OF_A_TEXT.fullmatch(folded)):
        before, code, after = of_a_text.groups()
        ours = _titles().get(f"{before}{_ANY}{after}", "").replace(f".{_ANY}.", f".{code}.")
    return column(ours) if ours else None


def is_title(name: str, ours: str) -> bool:
    """Return whether a header is a name of this column in one of our languages."""
    return name == ours or _folded(name) in {_folded(title(ours, one)) for one in LANGUAGES}


@cache
def _titles() -> dict[str, str]:
    """Return our columns by their folded headers in all languages. A test holds them apart."""
    names = [*COLUMNS, *localized(_ANY)]
    return {_folded(title(name, one)): name for one in LANGUAGES for name in names}


def in_words(field: Field, value: Any, language: str) -> Any:
    """Return a value of an enum, a yes or a no in a language; without a language, unchanged."""
    if not language or not (field.enum or field.kind is Kind.BOOLEAN):
        return value
    if isinstance(value, list):
        return [choice(one, language) for one in value]
    return choice(value, language)


def of_words(field: Field, value: Any, language: str) -> Any:
    """Return the value of an enum that a text names; unchanged if it names none.

    The language of the table counts first. Then a name counts that has one meaning in all of ours.
    """
    if not field.enum:
        return value
    if isinstance(value, list):
        return [_value(field.enum, one, language) for one in value]
    return _value(field.enum, value, language)


def _value(enum: tuple[str, ...], text: Any, language: str) -> Any:
    if text in enum or not isinstance(text, str):
        return text
    for languages in ((language,) if language else (), LANGUAGES):
        found = {_values(enum, one).get(_folded(text)) for one in languages} - {None}
        if len(found) == 1:
            return found.pop()
    return text


@cache
def _values(enum: tuple[str, ...], language: str) -> dict[str, str]:
    """Return the values of an enum by their folded names in a language."""
    return {_folded(choice(value, language)): value for value in enum}


def _folded(name: str) -> str:
    """Return a name in small letters with ss for ß, as in Switzerland, and a plain apostrophe."""
    return name.casefold().replace("’", "'")  # noqa: RUF001 - it is written so

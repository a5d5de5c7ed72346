"""What the file of the configuration says of each kind of row (docs/configuration.md).

An app describes its kinds of rows as a `ConfiguredRows` each, in the hook `configuration`.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models

# The values of one row by the names of their items.
Values = Mapping[str, Any]
# The keys of the rows that the file or this installation has, by the name of their section.
Known = Mapping[str, Collection[tuple[Any, ...]]]
Faults = Iterable[tuple[str, str]]  # the name of an item, and what is wrong with its value


class ItemKind(StrEnum):
    """What a value has to be, in words for whoever writes the file."""

    TEXT = "a text"
    WHOLE = "a whole number"
    YES_NO = "true or false"
    TIME = "a time such as 06:30"
    MOMENT = "a moment such as 2027-01-31T06:30:00+00:00"
    TEXTS = "a list of texts"
    PAIRS = "a text for each name"
    SECRET = "env:NAME or file:/path, never the secret itself"  # noqa: S105 - words for people


NEEDED = object()  # the value of an item that a new row must have in the file


def _never(_: str) -> bool:
    return False


@dataclass(frozen=True)
class ConfiguredItem:
    """One value of a row.

    Attributes:
        default: for a new row of which the file does not say it; `NEEDED` if it must.
        may_be_null: whether `null` is a value.
        choices: the only values; empty for any.
        is_private: whether a text holds a key, so that it is exported as a reference (S5).
    """

    name: str
    kind: ItemKind = ItemKind.TEXT
    default: Any = NEEDED
    may_be_null: bool = False
    choices: tuple[str, ...] = ()
    is_private: Callable[[str], bool] = _never

    @property
    def may_be_private(self) -> bool:
        """Whether a text may stand in the file as a reference."""
        return self.is_private is not _never


@dataclass(frozen=True)
class ConfiguredRows:
    """The rows of one kind in a workspace, as a list in the file.

    Attributes:
        name: of the list.
        noun: what one row is called.
        items: the values of a row; those of `key` come first and say which row it is.
        rows: takes a workspace; yields the primary key and the values of each row, the
            oldest first.
        make: takes a workspace, all values and now; returns the primary key.
        change: takes a workspace, a primary key, the values that change, and now.
        faults: takes all values of a row as it will be, those that it has now (none if it is new),
            and what is known.
        title: takes the values; returns the name of the row for people, without a secret.
        hint: takes the values; returns what a reference to its secret has in its name.
        is_untouched: takes the values; returns whether each installation has this row by itself, so
            that the file need not have it.
        may_repeat: whether two rows may have one key; equal ones are told apart by their order.
        is_of_workspace: whether the list is within a workspace; the workspace is 0 if it is not.
    """

    name: str
    noun: str
    items: tuple[ConfiguredItem, ...]
    key: tuple[str, ...]
    rows: Callable[[int], Iterable[tuple[Any, Values]]]
    make: Callable[[int, Values, datetime], Any]
    change: Callable[[int, Any, Values, datetime], object]
    faults: Callable[[Values, Values, Known], Faults]
    title: Callable[[Values], str]
    hint: Callable[[Values], str] = lambda values: ""
    is_untouched: Callable[[Values], bool] = lambda values: False
    may_repeat: bool = False
    is_of_workspace: bool = True

    @property
    def is_workspace(self) -> bool:
        """Whether its rows have the lists of the other sections."""
        return self.name == "workspaces"

    def key_of(self, values: Values) -> tuple[Any, ...]:
        """Return what says which row the values are of."""
        return tuple(values[name] for name in self.key)


def item(
    model: type[models.Model], column: str, kind: ItemKind = ItemKind.TEXT, **parts: Any
) -> ConfiguredItem:
    """Return the item for a column, with its default and its choices."""
    field: Any = model._meta.get_field(column)
    default = field.get_default() if field.has_default() else NEEDED
    choices = tuple(str(value) for value, _ in field.choices or ())
    found = ConfiguredItem(column, kind, default, field.null, choices)
    return replace(found, **parts) if parts else found


def column_faults(model: type[models.Model], columns: Mapping[str, Any]) -> Faults:
    """Yield what the columns of a model do not take: a text that is too long, and such."""
    others = {field.name for field in model._meta.fields} - columns.keys()
    try:
        model(**columns).clean_fields(exclude=others)
    except ValidationError as error:
        for name, texts in error.message_dict.items():
            yield name, " ".join(texts)

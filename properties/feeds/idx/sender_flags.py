"""The fields that the columns of one sender set: the table of the format, and the sender's flags.

Programs use the same column for different things, so a sender's `flags` can have these entries:

COLUMN: path       the column sets this field: {"gardenhouse": "characteristics.hasGarden"}
COLUMN: ""         the column is set aside
N: ""              an N or 0 of a flag is ignored: the program writes it by default
GARDEN: PLOT       a word of object_category is this propertyType, or this propertyCategories
"""

from dataclasses import dataclass
from typing import NamedTuple

from crm_sync.sentence import sentence
from properties import catalog
from properties.catalog import Field, Kind
from properties.feeds.idx.idx_columns import COLUMNS, As, IdxColumn

_NO = "N"
_LINKS = frozenset({"videoLinks", "virtualTourLinks"})
_TYPES = frozenset(catalog.FIELDS["propertyType"].enum)
_CATEGORIES = frozenset(catalog.FIELDS["propertyCategories"].enum)
_BY_UNIT = {"m": As.METRES, "m2": As.AREA, "m3": As.VOLUME, "kg": As.LOAD, "kg/m2": As.LOAD}
_BY_KIND = {
    Kind.BOOLEAN: As.YES_NO,
    Kind.INTEGER: As.COUNT,
    Kind.STRING: As.TEXT,
    Kind.TEXT: As.LINES,
}


class Way(NamedTuple):
    """A column with the paths that it sets."""

    name: str
    read: As
    paths: tuple[str, ...]


class BadFlags(ValueError):
    """The flags of a sender name something that does not exist. The message names it."""


@dataclass(frozen=True, slots=True)
class Mapping:
    """The columns in their order, and the words that the sender defines.

    Attributes:
        no_counts: whether an N of a flag means DOES_NOT_APPLY.
        words: object_category to propertyType or propertyCategories.
        name_of: path to the name of the column that sets it.
    """

    columns: tuple[Way, ...]
    no_counts: bool
    words: dict[str, str]
    name_of: dict[str, str]


def mapping(flags: dict[str, str]) -> Mapping:
    """Return the mapping of a sender.

    Raises:
        BadFlags: a flag names an unknown column or field, or a column with a rule of its own.
    """
    columns = {column.name: column for column in COLUMNS}
    words = {}
    for name, target in flags.items():
        if name in columns and columns[name].read is As.RULE:
            raise BadFlags(
                sentence("%(name)s has a rule of its own: it cannot set another field", name=name)
            )
        if name in columns:
            columns[name] = _column(columns[name], target)
        elif name.isupper() and target in _TYPES | _CATEGORIES:
            words[name] = target
        elif name != _NO or target not in {"", "DOES_NOT_APPLY"}:
            raise BadFlags(
                sentence(
                    "%(name)s: %(target)s is no column with its field, nor a word of IDX",
                    name=name,
                    target=target,
                )
            )
    found = tuple(Way(c.name, c.read, tuple(c.path.split(", "))) for c in columns.values())
    names = {path: one.name for one in found for path in one.paths if path}
    return Mapping(found, flags.get(_NO, "-") != "", words, names)


def is_type(word: str) -> bool:
    """Return whether a word is a propertyType."""
    return word in _TYPES


def _column(column: IdxColumn, path: str) -> IdxColumn:
    if not path:
        return column._replace(read=As.KEPT, path="")
    found = catalog.find(path)
    read = _reading(found) if found else None
    if read is None or "[" in path:
        raise BadFlags(
            sentence(
                "%(name)s: %(target)s is no field that one column can set",
                name=column.name,
                target=path,
            )
        )
    return column._replace(read=read, path=path)


def _reading(found: Field) -> As | None:
    """Return how a column for this field is read; None if no column can set it."""
    if found.path in _LINKS:
        return As.LINK
    if found.is_characteristic:
        return As.FLAG
    if found.kind is Kind.DECIMAL:
        return _BY_UNIT.get(found.unit, As.ROOMS)
    return _BY_KIND.get(found.kind)

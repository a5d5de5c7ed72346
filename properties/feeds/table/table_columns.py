"""The columns of a table of properties, in the platform's own names.

A column has the path of its field as its name, such as `prices.rent.gross`. Texts in a language are
named like `localizations.de.title`. Lists of enum values are joined by `|`. Other lists and
customFields are JSON. A table changes only the fields of its columns. An empty cell changes
nothing, and `<empty>` clears.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.translated import Text
from properties import catalog
from properties.catalog import Field, Kind
from properties.feeds.overlay import LOCALIZATIONS, Part
from properties.merge import MERGED

MAX_COLUMNS = 500  # the catalog has about 220, and six for each language
_LANGUAGE = re.compile(r"localizations\.([a-z]{2})\.(\w+)")
_CONTAINERS = {Kind.OBJECT, Kind.MERGED}
_HOLDS: dict[Kind, Text] = {
    Kind.STRING: _("text"),
    Kind.TEXT: _("long text"),
    Kind.INTEGER: _("whole number"),
    Kind.DECIMAL: _("number"),
    Kind.BOOLEAN: _("yes, no"),
    Kind.DATE: "2026-01-31",
    Kind.DATETIME: "2026-01-31T09:00:00Z",
    Kind.ENUM: _("one of %(values)s"),
    Kind.ENUM_LIST: _("any of %(values)s"),
    Kind.OBJECT_LIST: _("list in JSON"),
    Kind.MAP: _("object of texts in JSON"),
}
_MANY = 12  # values that a readable cell can list


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name in the header, and the place of its value."""

    name: str
    field: Field
    leaf: str
    way: tuple[str, ...]

    def part(self, value: Any) -> Part:
        """Return a value with its place."""
        return self.leaf, self.way, value


def _fixed(field: Field) -> Column:
    first, *rest = field.path.split(".")
    if first in MERGED:
        return Column(field.path, field, f"{first}.{rest[0]}", tuple(rest[1:]))
    return Column(field.path, field, first, tuple(rest))


COLUMNS = {
    path: _fixed(field)
    for path, field in catalog.FIELDS.items()
    if "[]" not in path
    and not field.read_only
    and field.kind not in _CONTAINERS
    and path != LOCALIZATIONS
}
TEXTS = tuple(f.name for f in catalog.children(LOCALIZATIONS) if f.name != "languageCode")


def column(name: str) -> Column | None:
    """Return the column of a name, or None."""
    by_language = _LANGUAGE.fullmatch(name)
    if by_language and by_language[2] in TEXTS:
        field = catalog.FIELDS[f"{LOCALIZATIONS}[].{by_language[2]}"]
        return Column(name, field, LOCALIZATIONS, by_language.groups())
    return COLUMNS.get(name)


def localized(language: str) -> list[str]:
    """Return the names of the columns for texts in a language."""
    return [f"{LOCALIZATIONS}.{language}.{name}" for name in TEXTS]


def holds(field: Field, name: Callable[[str], str] = str) -> str:
    """Return a description of the cells of a field's column.

    Args:
        name: how a value of an enum is written.
    """
    many = gettext("%(count)s values") % {"count": len(field.enum)}
    values = many if len(field.enum) > _MANY else ", ".join(map(name, field.enum))
    held = str(_HOLDS[field.kind]) % {"values": values}
    if field.max_length:
        text = gettext("%(held)s, at most %(count)s characters")
        held = text % {"held": held, "count": field.max_length}
    return f"{held} ({field.unit})" if field.unit else held

"""Find a field in the table."""

import re
from functools import lru_cache
from typing import Any

from properties.catalog.field import Field
from properties.catalog.fields import ROWS
from properties.merge import MERGED

FIELDS: dict[str, Field] = {row.path: row for row in ROWS}
TOP_LEVEL: dict[str, Field] = {row.path: row for row in ROWS if row.is_top_level}
READ_ONLY: frozenset[str] = frozenset(row.path for row in TOP_LEVEL.values() if row.read_only)
GROUPS: dict[str, list[Field]] = {}
_ORDER = {path: place for place, path in enumerate(FIELDS)}
_CHILDREN: dict[str, list[Field]] = {}
for _row in ROWS:
    if _row.is_top_level:
        GROUPS.setdefault(_row.group, []).append(_row)
    else:
        _CHILDREN.setdefault(_row.parent, []).append(_row)
# Where people expect the fields of "Extra": the group, and the field before it.
PLACED = {
    "offerType": ("Core", "propertyType"),
    "parcelNumbers": ("References", "is24Id"),
    "yearBuilt": ("Classification", "developmentState"),
    "yearLastRenovated": ("Classification", "yearBuilt"),
    "areaBwf": ("Areas and counts", ""),
    "areaNwf": ("Areas and counts", "areaBwf"),
    "areaPropertyLand": ("Areas and counts", "areaNwf"),
    "craneCapacity": ("Areas and counts", "elevatorLoad"),
    "numberOfToiletsGuest": ("Areas and counts", "numberOfToilets"),
    "floor": ("Areas and counts", "numberOfBalconies"),
    "numberOfFloors": ("Areas and counts", "floor"),
    "numberOfApartments": ("Areas and counts", "numberOfFloors"),
    "numberOfParcels": ("Areas and counts", "numberOfApartments"),
    "grossPremium": ("Prices", "rentalIncomeInterval"),
    "author": ("Listing", "customFields"),
}
TEXTS = "Texts"  # a group of ours: what readers of the listing read
OTHERS = "Others"  # the group of the fields that the catalog does not know
_REQUIRED = {path: [row for row in rows if row.required] for path, rows in _CHILDREN.items()}

_SHORT = 200  # characters of a path that is worth caching
_INDEX = re.compile(r"\[\d+\]|\.\d+(?=\.|$)")
_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


def find(path: str) -> Field | None:
    """Return the field at a path, or None if the catalog knows none.

    Items of lists may be written `localizations[].title`, `localizations[0].title` or
    `localizations.0.title`; the path of an item itself finds its list.
    """
    field = FIELDS.get(path)
    if field is not None:
        return field
    return _find_inside(path) if len(path) < _SHORT else _find_inside.__wrapped__(path)


def order_of(path: str) -> int:
    """Return the place of a field in the catalog; the whole property is first, unknown ones last.

    The items of a list have the place of the list.
    """
    found = find(path)
    return _ORDER[found.path] if found else len(_ORDER) if path else -1


@lru_cache(maxsize=4096)  # every record of a stock has the same few
def _find_inside(path: str) -> Field | None:
    """Find a field by a path with the numbers of list items."""
    general = _INDEX.sub("[]", path)
    if not general.endswith("[]"):
        return FIELDS.get(general)
    field = FIELDS.get(general[:-2])
    return field if field and field.kind.is_list else None  # an object may have a member "0"


def group_of(path: str) -> str:
    """Return the group in which people find a leaf; `OTHERS` if the catalog does not know it."""
    top = TOP_LEVEL.get(path.partition(".")[0])
    if top is None:
        return OTHERS
    return PLACED[top.path][0] if top.path in PLACED else top.group


def leaf_of(path: str) -> str:
    """Return the leaf in which a path lies: `prices.rent.net` lies in `prices.rent` (A10).

    Works for paths that the catalog does not know. A merged object lies in itself, and is no leaf.
    """
    name, _, rest = path.replace("[", ".").partition(".")
    member = rest.partition(".")[0]
    return f"{name}.{member}" if name in MERGED and member else name


@lru_cache(512)  # a feed asks for the same few paths of each record
def steps(path: str) -> tuple[str | int, ...]:
    """Cut `localizations[0].title` into names of members and numbers of items."""
    return tuple(int(index) if index else name for index, name in _STEP.findall(path))


def value_at(document: object, path: str | tuple[str | int, ...]) -> Any:
    """Return the value at a path or its steps; None if there is none."""
    value = document
    for step in steps(path) if isinstance(path, str) else path:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def children(path: str) -> list[Field]:
    """Return the fields that an object, or an item of a list, holds directly; in table order."""
    field = find(path)
    return list(_CHILDREN.get(field.path, [])) if field else []


def required(path: str) -> list[Field]:
    """Return the children that an object must have."""
    field = find(path)
    return _REQUIRED.get(field.path, []) if field else []

"""Find a field in the table, and name it for people."""

import re
from collections.abc import Mapping
from functools import lru_cache

from crm_sync.text import capitalized
from properties.catalog.field import Field
from properties.catalog.fields import ROWS
from properties.merge import MERGED

FIELDS: dict[str, Field] = {row.path: row for row in ROWS}
TOP_LEVEL: dict[str, Field] = {row.path: row for row in ROWS if row.is_top_level}
READ_ONLY: frozenset[str] = frozenset(row.path for row in TOP_LEVEL.values() if row.read_only)
GROUPS: dict[str, list[Field]] = {}
_CHILDREN: dict[str, list[Field]] = {}
_MEMBERS: dict[str, dict[str, Field]] = {}
for _row in ROWS:
    _MEMBERS.setdefault(_row.path.rpartition(".")[0], {})[_row.name] = _row
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
OTHERS = "Others"  # the group of the fields that the catalog does not know
_REQUIRED = {path: [row for row in rows if row.required] for path, rows in _CHILDREN.items()}

_SHORT = 200  # characters of a path that is worth caching
_INDEX = re.compile(r"\[\d+\]|\.\d+(?=\.|$)")

# Names that no rule can make readable.
_LABELS = {
    "is24Id": "ImmoScout24 ID",
    "areaBwf": "Living area",
    "areaNwf": "Net living area",
    "areaPropertyLand": "Plot area",
    "areaUsable": "Usable area",
    "areaRentable": "Rentable area",
    "areaCellar": "Cellar area",
    "areaBalcony": "Balcony area",
    "areaTerrace": "Terrace area",
    "areaLoggia": "Loggia area",
    "areaGarden": "Garden area",
    "numberOfToiletsGuest": "Number of guest toilets",
    "co2Emissions": "CO2 emissions",
    "localizations": "Texts",
    "hasDemolitionProperty": "Comes with a demolition property",
    "availabilityStartAt": "Available from",
    "availabilityExpiresAt": "Available until",
    "hasCarPort": "Carport",
    "hasCarPortDouble": "Double carport",
    "hasGarageDouble": "Double garage",
    "hasGarageUnderground": "Underground garage",
    "hasStoreRoom": "Storeroom",
    "hasSupplyGas": "Gas supply",
    "hasSupplyPower": "Power supply",
    "hasSupplySewage": "Sewage connection",
    "hasSupplyWater": "Water supply",
    "isGroundFloorRaised": "Raised ground floor",
    "isInNeedOfRenovationPartially": "Partly in need of renovation",
    "isRefurbishedPartially": "Partly refurbished",
    "isMiddleHouse": "Mid-terrace house",
    "isCornerHouse": "End-of-terrace house",
    "onEvenGround": "On level ground",
    "onHillside": "On a slope",
    "onHillsideSouth": "On a south-facing slope",
}
_ACRONYMS = {
    "id": "ID",
    "url": "URL",
    "egid": "EGID",
    "ewid": "EWID",
    "egrid": "EGRID",
    "tv": "TV",
    "ev": "EV",
    "sia": "SIA",
    "wir": "WIR",
    "vat": "VAT",
}


def find(path: str) -> Field | None:
    """Return the field at a path, or None if the catalog knows none.

    Items of lists may be written `localizations[].title`, `localizations[0].title` or
    `localizations.0.title`; the path of an item itself finds its list.
    """
    field = FIELDS.get(path)
    if field is not None:
        return field
    return _find_inside(path) if len(path) < _SHORT else _find_inside.__wrapped__(path)


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


def children(path: str) -> list[Field]:
    """Return the fields that an object, or an item of a list, holds directly; in table order."""
    field = find(path)
    return list(_CHILDREN.get(field.path, [])) if field else []


def members(path: str) -> Mapping[str, Field]:
    """Return the fields of an object by name; empty if the catalog knows none.

    For the many records of a feed, which ask for each of their values: `path` is spelled as in the
    table, "localizations[]" for any item of a list and "" for the property itself.
    """
    return _MEMBERS.get(path, {})


def required(path: str) -> list[Field]:
    """Return the children that an object must have."""
    field = find(path)
    return _REQUIRED.get(field.path, []) if field else []


def label(path: str) -> str:
    """Return a path in words: `numberOfRooms` is "Number of rooms".

    The four merged objects are left out ("Rent · gross"), since their group names them; the item
    of a list gets its number ("Texts 1 · title"). Works for unknown paths as well.
    """
    segments = re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", path).split(".")
    field = find(path)
    if field and field.merges and len(segments) > 1:
        segments = segments[1:]
    return capitalized(" · ".join(_words(segment) for segment in segments))


def last_label(path: str) -> str:
    """Return the last segment in words, for a place that shows its parent beside it."""
    return capitalized(label(path).rpartition(" · ")[2])


def _words(segment: str) -> str:
    """Return one segment in lower-case words, with the number of a list item counted from 1."""
    name, _, index = segment.partition("[")
    number = f" {int(index[:-1]) + 1}" if index[:-1].isdecimal() else ""
    if name in _LABELS:
        return _LABELS[name] + number
    parts = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name) or [name]
    if len(parts) > 1 and parts[0] in {"is", "has", "are"}:  # a flag is readable without its verb
        parts = parts[1:]
    return " ".join(_ACRONYMS.get(part.lower(), part.lower()) for part in parts) + number

"""The names of fields, groups and values for people, in the language of the reader.

They are made of the wire names; `locale/` translates them, each kind in a context of its own.
"""

import re

from django.utils.translation import pgettext

from crm_sync.text import capitalized
from properties.catalog.lookup import find

# The contexts of the catalogues in `locale/`.
FIELD, VALUE, GROUP = "field", "value of a field", "group of fields"

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
_VALUES = {
    "A_PLUS": "A+",
    "M2": "m²",
    "KM2": "km²",
    "BEFORE_01_MAY_2014": "Before 1 May 2014",
    "FROM_01_MAY_2014": "From 1 May 2014",
    "CAFE": "Café",
    "CLUB_DISCO": "Club or disco",
    "DISTRICT": "District heating",
    "DOCTORS_OFFICE": "Doctor's office",
    "FLOOR": "Underfloor heating",
    "HEATPUMP": "Heat pump",
    "HEATPUMP_AIR_AND_WATER": "Air-to-water heat pump",
    "MINERGIE_A": "Minergie-A",
    "MINERGIE_A_ECO": "Minergie-A-ECO",
    "MINERGIE_AREAL": "Minergie-Areal",
    "MINERGIE_ECO": "Minergie-ECO",
    "MINERGIE_MQS_BAU": "MQS Bau",
    "MINERGIE_MQS_BETRIEB": "MQS Betrieb",
    "MINERGIE_P": "Minergie-P",
    "MINERGIE_P_ECO": "Minergie-P-ECO",
    "NEED_OF_RENOVATION": "In need of renovation",
    "ONETIME": "Once",
    "PARKING_CARPORT": "Carport",
    "PARKING_DOUBLE_GARAGE": "Double garage",
    "PARKING_DUPLEX": "Duplex parking space",
    "PARKING_EXTERIOR_SPACE": "Outdoor parking space",
    "PARKING_GARAGE": "Garage",
    "PARKING_GARAGE_BOX": "Garage box",
    "PARKING_GARAGE_CONNECTED": "Attached garage",
    "PARKING_GARAGE_UNDERGROUND": "Underground garage",
    "PARKING_HOUSE": "Multi-storey car park",
    "ROOM_STORAGE_BASEMENT": "Cellar storage room",
    "ROOM_WORKROOM": "Workroom",
    "SQUASH_BADMINTON": "Squash or badminton court",
    "WOOD_PELLET": "Wood pellets",
}


def label(path: str) -> str:
    """Return a path in the reader's language: `numberOfRooms` is "Number of rooms".

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
    return pgettext(FIELD, english(name)) + number


def english(name: str) -> str:
    """Return a wire name in lower-case English words: `numberOfRooms` is "number of rooms"."""
    if name in _LABELS:
        return _LABELS[name]
    parts = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name) or [name]
    if len(parts) > 1 and parts[0] in {"is", "has", "are"}:  # a flag is readable without its verb
        parts = parts[1:]
    return " ".join(_ACRONYMS.get(part.lower(), part.lower()) for part in parts)


def choice_name(value: str) -> str:
    """Return an enum value in words."""
    return pgettext(VALUE, english_value(value))


def english_value(value: str) -> str:
    """Return an enum value in English words: `ATTIC_FLAT` is "Attic flat"."""
    return _VALUES.get(value, value.replace("_", " ").capitalize())


def group_name(group: str) -> str:
    """Return the name of a group of fields."""
    return pgettext(GROUP, group)

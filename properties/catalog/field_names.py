"""The names of fields, groups and values for people, in the language of the reader.

They are made of the wire names; `locale/` translates them, each kind in a context of its own.
"""

import re
from functools import lru_cache

from django.utils.translation import get_language, pgettext

from crm_sync.sentence import Sentence, name_in_context, sentence
from crm_sync.text import capitalized
from properties.catalog.lookup import find

# A form says 600 names and values, most of them in each request, so they are kept by language.
NAMES = 8_192
# The contexts of the catalogues in `locale/`.
FIELD, VALUE, GROUP = "field", "value of a field", "group of fields"

# Names that no rule can make readable.
_LABELS = {
    "is24Id": "ImmoScout24 ID",
    "areaBwf": "living area",
    "areaNwf": "net living area",
    "areaPropertyLand": "plot area",
    "areaUsable": "usable area",
    "areaRentable": "rentable area",
    "areaCellar": "cellar area",
    "areaBalcony": "balcony area",
    "areaTerrace": "terrace area",
    "areaLoggia": "loggia area",
    "areaGarden": "garden area",
    "numberOfToiletsGuest": "number of guest toilets",
    # SwissRETS XML means the yield; IDX has the same name for it.
    "grossPremium": "gross yield",
    "utilizationRatioConstruction": "utilization ratio (construction)",
    "isMultiStoryPlan": "multi-storey floor plan",
    "co2Emissions": "CO2 emissions",
    "constructionYear": "construction year on the energy certificate",  # not `yearBuilt`
    "issuedAt": "issue date",
    "thermalCharacteristic": "energy performance",
    "thermalCharacteristicElectricity": "energy performance for electricity",
    "thermalCharacteristicHeating": "energy performance for heating",
    "isWarmWaterIncluded": "hot water included",
    "buy": "purchase",
    "buyPrice": "purchase price",
    "rentPrice": "rental price",
    "extra": "additional costs",
    "referring": "price unit",  # a price is for the whole property, or per m²
    "geo": "coordinates",
    "swissReferences": "Swiss references",
    "localizations": "texts",
    "visitInformation": "viewing information",
    "visitPerson": "contact for viewings",
    "inquiryEmail": "email for inquiries",
    "function": "job title",
    "hasDemolitionProperty": "comes with a demolition property",
    "availabilityStartAt": "available from",
    "availabilityExpiresAt": "available until",
    "hasBuiltInKitchen": "built-in kitchen",
    "hasCarPort": "carport",
    "hasCarPortDouble": "double carport",
    "hasConnectedBuildingLand": "serviced building land",
    "hasFlatSharingCommunity": "flat share",
    "hasGarageDouble": "double garage",
    "hasGarageUnderground": "underground garage",
    "hasPhotovoltaic": "photovoltaic system",
    "hasSteamer": "steam oven",
    "hasStoreRoom": "storeroom",
    "hasSupplyGas": "gas supply",
    "hasSupplyPower": "power supply",
    "hasSupplySewage": "sewage connection",
    "hasSupplyWater": "water supply",
    "isCornerHouse": "corner house",
    "isGroundFloorRaised": "raised ground floor",
    "isGutted": "stripped to the shell",
    "isInNeedOfRenovationPartially": "partly in need of renovation",
    "isMiddleHouse": "mid-terrace house",
    "isMonumentProtected": "listed building",
    "isProjection": "planned",
    "isRefurbishedPartially": "partly refurbished",
    "isUnderRoof": "covered",  # of a parking space
    "onEvenGround": "on level ground",
    "onHillside": "on a slope",
    "onHillsideSouth": "on a south-facing slope",
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
    "minergie": "Minergie",
}
_GROUPS = {"Core": "General"}
_VALUES = {
    "A_PLUS": "A+",
    "M2": "m²",
    "KM2": "km²",
    "ALL": "Whole property",  # what a price is for
    "ACID_GAS": "Light natural gas",  # ImmoScout24 shows it as "Erdgas leicht"
    "BEFORE_01_MAY_2014": "Before 1 May 2014",
    "FROM_01_MAY_2014": "From 1 May 2014",
    "CAFE": "Café",
    "CLUB_DISCO": "Club or disco",
    "COAL_COKE": "Coal or coke",
    "COMBINED_HEAT_AND_POWER_BIO_ENERGY": "Combined heat and power (bio energy)",
    "COMBINED_HEAT_AND_POWER_FOSSIL_FUELS": "Combined heat and power (fossil fuels)",
    "COMBINED_HEAT_AND_POWER_REGENERATIVE_ENERGY": "Combined heat and power (regenerative energy)",
    "COMBINED_HEAT_AND_POWER_RENEWABLE_ENERGY": "Combined heat and power (renewable energy)",
    "DISTRICT": "District heating",
    "DOCTORS_OFFICE": "Doctor's office",
    "DUPLEX_HOUSE": "Two-family house",
    "EARTH_SHELTERED_DWELLING": "Earth-sheltered house",
    "ENERGY_REQUIRED": "Energy demand",
    "ENVIRONMENTAL_THERMAL_ENERGY": "Ambient heat",
    "FIRST_TIME_USE": "First occupancy",
    "FIRST_TIME_USE_AFTER_REFURBISHMENT": "First occupancy after refurbishment",
    "FLOOR": "Underfloor heating",
    "FULL": "Fully developed",
    "HEATPUMP": "Heat pump",
    "HEATPUMP_AIR_AND_WATER": "Air-to-water heat pump",
    "HYDRO_ENERGY": "Hydropower",
    "MINERGIE_A": "Minergie-A",
    "MINERGIE_A_ECO": "Minergie-A-ECO",
    "MINERGIE_AREAL": "Minergie-Areal",
    "MINERGIE_ECO": "Minergie-ECO",
    "MINERGIE_MQS_BAU": "MQS Bau",
    "MINERGIE_MQS_BETRIEB": "MQS Betrieb",
    "MINERGIE_P": "Minergie-P",
    "MINERGIE_P_ECO": "Minergie-P-ECO",
    "MULTIPLEX_HOUSE": "Multi-family house",
    "MULTISTOREY_CAR_PARK": "Multi-storey car park",
    "NEED_OF_RENOVATION": "In need of renovation",
    "NEGOTIABLE": "By arrangement",
    "NON_RESIDENTIAL": "Non-residential",
    "ONE_ROOM_FLAT": "Studio flat",
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
    "PARTIAL": "Partly developed",
    "REFERENCE": "Reference property",
    "RESIDENTIAL_COMMERCIAL_BUILDING": "Residential and commercial building",
    "ROOM_STORAGE_BASEMENT": "Cellar storage room",
    "ROOM_WORKROOM": "Workroom",
    "SOUR_GAS": "Heavy natural gas",
    "SQUASH_BADMINTON": "Squash or badminton court",
    "STEAM_DISTRICT_HEATING": "District heating (steam)",
    "STOECKLI": "Stöckli",
    "TAKEN": "Sold or rented",
    "WOOD_PELLET": "Wood pellets",
}


def label(path: str) -> str:
    """Return a path in the reader's language: `numberOfRooms` is "Number of rooms".

    The four merged objects are left out ("Rent · gross"), since their group names them; the item
    of a list gets its number ("Texts 1 · title"). Works for unknown paths as well.
    """
    return _label(path, get_language())


@lru_cache(NAMES)
def _label(path: str, _language: str | None) -> str:
    return capitalized(" · ".join(_words(segment) for segment in _segments(path)))


def stored_label(path: str) -> Sentence:
    """Return `label` for a stored sentence, in which it begins small: it stands in the middle."""
    name, *others = (_stored_words(segment) for segment in _segments(path))
    for inner in others:
        name = sentence("%(outer)s · %(inner)s", outer=name, inner=inner)
    return name


def last_label(path: str) -> str:
    """Return the last segment in words, for a place that shows its parent beside it."""
    return capitalized(inner_label(path))


def inner_label(path: str) -> str:
    """Return the last segment in words, to stand behind its parent: "gross" of "Rent · gross"."""
    return label(path).rpartition(" · ")[2]


def stored_inner_label(path: str) -> Sentence:
    """Return the last segment in words for a stored sentence. The path ends with no list item."""
    return name_in_context(FIELD, english(path.rpartition(".")[2]))


def _segments(path: str) -> list[str]:
    """Split a path; the item of a list stays with its list (`texts[0]`)."""
    segments = re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", path).split(".")
    field = find(path)
    return segments[1:] if field and field.merges and len(segments) > 1 else segments


def _words(segment: str) -> str:
    """Return one segment in lower-case words, with the number of a list item counted from 1."""
    name, number = _numbered(segment)
    return pgettext(FIELD, english(name)) + (f" {number}" if number else "")


def _stored_words(segment: str) -> Sentence:
    name, number = _numbered(segment)
    words = name_in_context(FIELD, english(name))
    return sentence("%(name)s %(number)s", name=words, number=str(number)) if number else words


def _numbered(segment: str) -> tuple[str, int]:
    """Return the name of a segment, and the number of its list item counted from 1, or 0."""
    name, _, index = segment.partition("[")
    return name, int(index[:-1]) + 1 if index[:-1].isdecimal() else 0


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
    return _choice_name(value, get_language())


@lru_cache(NAMES)
def _choice_name(value: str, _language: str | None) -> str:
    return pgettext(VALUE, english_value(value))


def english_value(value: str) -> str:
    """Return an enum value in English words: `ATTIC_FLAT` is "Attic flat"."""
    return _VALUES.get(value, value.replace("_", " ").capitalize())


def group_name(group: str) -> str:
    """Return the name of a group of fields."""
    return pgettext(GROUP, english_group(group))


def stored_group_name(group: str) -> Sentence:
    """Return the name of a group of fields for a stored sentence."""
    return name_in_context(GROUP, english_group(group))


def english_group(group: str) -> str:
    """Return the name of a group of fields in English."""
    return _GROUPS.get(group, group)

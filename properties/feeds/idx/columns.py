"""IDX 3.01 in tables: its 183 columns, what each leads to, and its categories.

The columns follow the published field list of the format (idx-format-v3.01). A column without a
path has no home in the property model: it stays with the record under its name.
"""

from enum import StrEnum
from typing import NamedTuple


class As(StrEnum):
    """How a column is read."""

    TEXT = "text"
    LINES = "text, <br> is a line break"
    NUMBER = "number"
    COUNT = "whole number"
    FLOOR = "number, 0 is the ground floor"
    DATE = "date, DD.MM.YYYY"
    FLAG = "flag"
    LABEL = "flag: the label MINERGIE"
    RULE = "see the rules"
    KEPT = "kept"


class Column(NamedTuple):
    """One column, counted from 0 as the field list does."""

    number: int
    name: str
    read: As = As.KEPT
    path: str = ""


def _flags(first: int, pairs: str) -> list[Column]:
    """Return columns in a row that are flags: `column:characteristic`."""
    flags = [pair.split(":") for pair in pairs.split()]
    return [
        Column(number, name, As.FLAG, f"characteristics.{characteristic}")
        for number, (name, characteristic) in enumerate(flags, start=first)
    ]


def _kept(first: int, names: str) -> list[Column]:
    """Return columns in a row that have no home."""
    return [Column(number, name) for number, name in enumerate(names.split(), start=first)]


def _numbered(first: int, name: str, numbers: range) -> list[Column]:
    """Return the columns of pictures: `picture_1_filename` and so on."""
    return [Column(first + i, name.format(n)) for i, n in enumerate(numbers)]


_ORGANIZATION = "seller.organization"
_ADDRESS = f"{_ORGANIZATION}.address"

COLUMNS = (
    Column(0, "version", As.RULE),  # the same in every line
    Column(1, "sender_id"),
    Column(2, "object_category", As.RULE, "propertyType, propertyCategories"),
    Column(3, "object_type", As.RULE, "propertyCategories"),
    Column(4, "offer_type", As.RULE, "offerType"),
    Column(5, "ref_property", As.TEXT, "projectReferenceId"),  # the nearest: a group of houses
    Column(6, "ref_house", As.TEXT, "houseReferenceId"),
    Column(7, "ref_object", As.TEXT, "objectReferenceId"),
    # Street and number stand in one column; where to cut is a guess ("Rue du 31-Décembre 7").
    Column(8, "object_street", As.TEXT, "address.street"),
    Column(9, "object_zip", As.TEXT, "address.postalCode"),
    Column(10, "object_city", As.TEXT, "address.locality"),
    Column(11, "object_state", As.TEXT, "address.region"),
    Column(12, "object_country", As.TEXT, "address.countryCode"),
    Column(13, "region"),
    Column(14, "object_situation", As.LINES, "localizations.location"),
    Column(15, "available_from", As.DATE, "availabilityStartAt"),
    Column(16, "object_title", As.TEXT, "title, localizations.title"),
    Column(17, "object_description", As.LINES, "localizations.description"),
    Column(18, "selling_price", As.RULE, "prices.buy.price, prices.rent.gross"),
    Column(19, "rent_net", As.RULE, "prices.rent.net"),
    Column(20, "rent_extra", As.RULE, "prices.rent.extra"),
    Column(21, "price_unit", As.RULE, "prices.rent.interval, prices.rent.referring"),
    Column(22, "currency", As.TEXT, "prices.currency"),
    Column(23, "gross_premium"),  # a range such as 4-5, and grossPremium is one number
    Column(24, "floor", As.FLOOR, "floor"),
    Column(25, "number_of_rooms", As.NUMBER, "numberOfRooms"),
    Column(26, "number_of_apartments", As.COUNT, "numberOfApartments"),
    Column(27, "surface_living", As.NUMBER, "areaBwf"),
    Column(28, "surface_property", As.NUMBER, "areaPropertyLand"),
    Column(29, "surface_usable", As.NUMBER, "areaUsable"),
    Column(30, "volume", As.NUMBER, "buildingVolume"),
    Column(31, "year_built", As.NUMBER, "yearBuilt"),
    *_flags(32, "view:hasNiceView fireplace:hasFireplace cabletv:hasCableTv elevator:hasElevator"),
    *_flags(36, "child_friendly:isChildFriendly parking:hasParking garage:hasGarage"),
    *_flags(39, "balcony:hasBalcony roof_floor:hasAttic"),
    *_kept(41, "distance_public_transport distance_shop distance_kindergarten"),
    *_kept(44, "distance_school1 distance_school2"),
    *_numbered(46, "picture_{}_filename", range(1, 6)),
    *_numbered(51, "picture_{}_title", range(1, 6)),
    *_numbered(56, "picture_{}_description", range(1, 6)),
    *_kept(61, "movie_filename movie_title movie_description"),
    *_kept(64, "document_filename document_title document_description url"),
    Column(68, "agency_id", As.TEXT, f"{_ORGANIZATION}.id"),
    Column(69, "agency_name", As.TEXT, f"{_ORGANIZATION}.legalName"),
    Column(70, "agency_name_2"),
    # A whole name in one column: it stands where a person would look for it.
    Column(71, "agency_reference", As.TEXT, "seller.contactPerson.familyName"),
    Column(72, "agency_street", As.TEXT, f"{_ADDRESS}.street"),
    Column(73, "agency_zip", As.TEXT, f"{_ADDRESS}.postalCode"),
    Column(74, "agency_city", As.TEXT, f"{_ADDRESS}.locality"),
    Column(75, "agency_country", As.TEXT, f"{_ADDRESS}.countryCode"),
    Column(76, "agency_phone", As.TEXT, f"{_ORGANIZATION}.phone"),
    Column(77, "agency_mobile", As.TEXT, f"{_ORGANIZATION}.mobile"),
    Column(78, "agency_fax"),
    Column(79, "agency_email", As.TEXT, f"{_ORGANIZATION}.email"),
    Column(80, "agency_logo"),
    Column(81, "visit_name", As.TEXT, "seller.visitPerson.familyName"),
    Column(82, "visit_phone", As.TEXT, "seller.visitPerson.phone"),
    Column(83, "visit_email", As.TEXT, "seller.visitPerson.email"),
    Column(84, "visit_remark", As.TEXT, "seller.visitPerson.note"),
    *_kept(85, "publish_until destination"),
    *_numbered(87, "picture_{}_filename", range(6, 10)),
    *_numbered(91, "picture_{}_title", range(6, 10)),
    *_numbered(95, "picture_{}_description", range(6, 10)),
    *_numbered(99, "picture_{}_url", range(1, 10)),
    Column(108, "distance_motorway"),
    Column(109, "ceiling_height", As.NUMBER, "ceilingHeight"),
    Column(110, "hall_height", As.NUMBER, "hallHeight"),
    Column(111, "maximal_floor_loading", As.NUMBER, "floorLoad"),
    Column(112, "carrying_capacity_crane", As.NUMBER, "craneCapacity"),
    Column(113, "carrying_capacity_elevator", As.NUMBER, "elevatorLoad"),
    Column(114, "isdn"),
    *_flags(115, "wheelchair_accessible:isWheelchairAccessible animal_allowed:arePetsAllowed"),
    *_flags(117, "ramp:hasRamp lifting_platform:hasLiftingPlatform"),
    *_kept(119, "railway_terminal restrooms"),
    *_flags(121, "water_supply:hasSupplyWater sewage_supply:hasSupplySewage"),
    *_flags(123, "power_supply:hasSupplyPower gas_supply:hasSupplyGas"),
    *_kept(125, "municipal_info own_object_url billing_salutation billing_first_name"),
    *_kept(129, "billing_name billing_company billing_street billing_post_box billing_zip"),
    *_kept(134, "billing_place_name billing_land billing_phone_1 billing_phone_2"),
    *_kept(138, "billing_mobile billing_language publishing_id delivery_id"),
    *_numbered(142, "picture_{}_filename", range(10, 14)),
    *_numbered(146, "picture_{}_title", range(10, 14)),
    *_numbered(150, "picture_{}_description", range(10, 14)),
    *_numbered(154, "picture_{}_url", range(10, 14)),
    *_kept(158, "commission_sharing commission_own commission_partner agency_logo_2"),
    Column(162, "number_of_floors", As.NUMBER, "numberOfFloors"),
    Column(163, "year_renovated", As.NUMBER, "yearLastRenovated"),
    *_flags(164, "flat_sharing_community:hasFlatSharingCommunity corner_house:isCornerHouse"),
    *_flags(166, "middle_house:isMiddleHouse building_land_connected:hasConnectedBuildingLand"),
    *_flags(168, "gardenhouse:hasGardenShed raised_ground_floor:isGroundFloorRaised"),
    *_flags(170, "new_building:isNewConstruction old_building:isOldBuilding"),
    *_flags(172, "under_building_laws:hasBuildingLawRestrictions under_roof:isUnderRoof"),
    *_flags(174, "swimmingpool:hasSwimmingPool"),
    Column(175, "minergie_general"),  # built like it, without the label
    Column(176, "minergie_certified", As.LABEL, "swissReferences.minergieCertification"),
    *_kept(177, "last_modified advertisement_id"),
    *_kept(179, "sparefield_1 sparefield_2 sparefield_3 sparefield_4"),
)
NAME_OF = {path: column.name for column in COLUMNS for path in column.path.split(", ")}

# object_category: propertyType, where the type below says nothing better.
PROPERTY_TYPES = {
    "APPT": "APARTMENT",
    "HOUSE": "HOUSE",
    "PROP": "PLOT",
    "INDUS": "COMMERCIAL",
    "GASTRO": "GASTRONOMY",
    "AGRI": "AGRICULTURAL",
    "PARK": "PARKING",
    "GARDEN": "AGRICULTURAL",
    "SECONDARY": "STORAGE",
}

# object_category and object_type: the SwissRETS category that says the same.
CATEGORIES = {
    "APPT": {
        **{1: "APARTMENT", 2: "MAISONETTE", 3: "ATTIC_FLAT", 4: "ROOF_FLAT", 5: "ONE_ROOM_FLAT"},
        **{6: "SINGLE_ROOM", 7: "FURNISHED_FLAT", 8: "STEPPED_FLAT", 9: "GRANNY_FLAT"},
        **{10: "LOFT", 11: "ROOF_FLAT"},
    },
    "HOUSE": {
        **{1: "DETACHED_HOUSE", 2: "ROW_HOUSE", 3: "DUPLEX_HOUSE", 4: "STEPPED_HOUSE"},
        **{5: "VILLA", 6: "FARM_HOUSE", 7: "MULTIPLEX_HOUSE", 9: "EARTH_SHELTERED_DWELLING"},
        **{10: "CASTLE", 11: "STOECKLI", 12: "CHALET", 13: "RUSTICO"},
    },
    "PROP": {1: "BUILDING_LOT", 2: "AGRICULTURAL_LOT", 3: "COMMERCIAL_LOT", 4: "INDUSTRIAL_LOT"},
    "INDUS": {
        **{1: "OFFICE", 2: "RETAIL_LOCATION", 3: "ADVERTISING_AREA", 4: "COMMERCIAL_SPACE"},
        **{5: "STORAGE_ROOM", 6: "DOCTORS_OFFICE", 7: "KIOSK", 8: "MARKET_GARDEN"},
        **{9: "FUEL_STATION", 10: "CAR_REPAIR_SHOP", 11: "CHEESE_FACTORY", 12: "BUTCHER"},
        **{13: "BAKERY", 14: "HAIRDRESSER", 15: "SHOPPING_CENTER", 16: "FACTORY"},
        **{17: "INDUSTRIAL_OBJECT", 18: "ARCADE", 19: "ATELIER"},
        **{20: "RESIDENTIAL_COMMERCIAL_BUILDING", 21: "LIBRARY", 22: "HOSPITAL"},
        **{23: "LABORATORY", 24: "MINI_GOLF_COURSE", 25: "NURSING_HOME", 26: "RIDING_HALL"},
        **{27: "SANATORIUM", 28: "WORKSHOP", 29: "PARTY_ROOM", 30: "SAUNA", 31: "SOLARIUM"},
        **{32: "CARPENTRY_SHOP", 33: "RETIREMENT_HOME", 34: "DEPARTMENT_STORE"},
        **{36: "DISPLAY_WINDOW", 37: "MULTISTOREY_CAR_PARK", 38: "CAR_PARK"},
    },
    "GASTRO": {
        **{1: "HOTEL", 2: "RESTAURANT", 3: "CAFE", 4: "BAR", 5: "CLUB_DISCO", 6: "CASINO"},
        **{7: "MOVIE_THEATER", 8: "SQUASH_BADMINTON", 9: "INDOOR_TENNIS_COURT"},
        **{10: "TENNIS_COURT", 11: "SPORTS_HALL", 12: "CAMPGROUND"},
        **{13: "OUTDOOR_SWIMMING_POOL", 14: "INDOOR_SWIMMING_POOL", 15: "GOLF_COURSE"},
        **{16: "MOTEL", 17: "PUB"},
    },
    "AGRI": {1: "AGRICULTURAL_LOT", 3: "FARM_HOUSE"},
    "PARK": {
        **{1: "OPEN_PARKING_SPACE", 2: "COVERED_PARKING_SPACE", 3: "SINGLE_GARAGE"},
        **{4: "DOUBLE_GARAGE", 5: "UNDERGROUND_PARKING_SPACE", 7: "BOAT_DRY_DOCK"},
        **{8: "BOAT_LANDING_STAGE", 9: "COVERED_MOTORBIKE_PARKING_SPACE"},
        **{10: "OPEN_MOTORBIKE_PARKING_SPACE", 11: "HORSE_BOX", 12: "BOAT_MOORING"},
    },
    "GARDEN": {1: "ALLOTMENT_GARDEN"},
    "SECONDARY": {0: "HOBBY_ROOM", 1: "CELLAR_COMPARTMENT", 2: "ATTIC_COMPARTMENT"},
}

# offer_type: offerType, and which price each price column is.
OFFER_TYPES = {"RENT": "RENT", "SALE": "BUY"}
PRICES = {
    "RENT": {
        "selling_price": "gross",  # the column is the gross rent of what is for rent
        "rent_net": "net",
        "rent_extra": "extra",
    },
    "SALE": {"selling_price": "price"},
}

# price_unit: what it says of the price, by offer_type.
PRICE_UNITS = {
    "RENT": {
        "MONTHLY": {"interval": "MONTH", "referring": "ALL"},
        "YEARLY": {"interval": "YEAR", "referring": "ALL"},
        "M2YEARLY": {"interval": "YEAR", "referring": "M2"},
        "WEEKLY": {"interval": "WEEK", "referring": "ALL"},
        "DAILY": {"interval": "DAY", "referring": "ALL"},
    },
    "SALE": {"SELL": {"referring": "ALL"}, "SELLM2": {"referring": "M2"}},
}

# Blank is not here: the field list reads it as N, but what senders leave blank they mostly never
# asked. DOES_NOT_APPLY would then be a claim that nobody made, and would overwrite at each import
# what a person set in the admin. An N is weak evidence as well, yet somebody wrote it.
FLAGS = {"1": "APPLIES", "Y": "APPLIES", "0": "DOES_NOT_APPLY", "N": "DOES_NOT_APPLY"}

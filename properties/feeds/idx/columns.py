"""IDX 3.01 as a table: its 183 columns, and what each leads to.

The columns follow the published field list of the format (idx-format-v3.01). A column without a
path has no home in the property model: it stays with the record under its name.
"""

from enum import StrEnum
from typing import NamedTuple


class As(StrEnum):
    """How a column is read."""

    TEXT = "text"
    LINES = "text of several lines"
    ROOMS = "number"
    METRES = "number, m"
    AREA = "number, m2"
    VOLUME = "number, m3"
    LOAD = "number, kg"
    COUNT = "whole number"
    YEAR = "year"
    FLOOR = "number, 0 is the ground floor"
    AMOUNT = "amount"
    DATE = "date"
    FLAG = "flag"
    LABEL = "flag: the label MINERGIE"
    YES_NO = "yes or no"
    LINK = "address of the web"
    STREET = "street with its number"
    PERSON = "whole name"
    COUNTRY = "country"
    CURRENCY = "currency"
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


def _name(person: str) -> str:
    """Return the paths of a person's name."""
    return f"{person}.givenName, {person}.familyName"


_ORGANIZATION = "seller.organization"
_ADDRESS = f"{_ORGANIZATION}.address"

COLUMNS = (
    Column(0, "version", As.RULE),  # the same in every line
    Column(1, "sender_id"),
    Column(2, "object_category", As.RULE, "propertyType, propertyCategories"),
    Column(3, "object_type", As.RULE, "propertyCategories, isFurnished"),
    Column(4, "offer_type", As.RULE, "offerType"),
    Column(5, "ref_property", As.TEXT, "projectReferenceId"),  # the nearest: a group of houses
    Column(6, "ref_house", As.TEXT, "houseReferenceId"),
    Column(7, "ref_object", As.RULE, "objectReferenceId"),
    Column(8, "object_street", As.STREET, "address.street, address.streetNumber"),
    Column(9, "object_zip", As.TEXT, "address.postalCode"),
    Column(10, "object_city", As.TEXT, "address.locality"),
    Column(11, "object_state", As.TEXT, "address.region"),
    Column(12, "object_country", As.COUNTRY, "address.countryCode"),
    Column(13, "region"),
    Column(14, "object_situation", As.LINES, "localizations.location"),
    Column(15, "available_from", As.DATE, "availabilityStartAt"),
    Column(16, "object_title", As.TEXT, "title, localizations.title"),
    Column(17, "object_description", As.LINES, "localizations.description"),
    Column(18, "selling_price", As.RULE, "prices.buy.price, prices.rent.gross"),
    Column(19, "rent_net", As.RULE, "prices.rent.net"),
    Column(20, "rent_extra", As.RULE, "prices.rent.extra"),
    Column(21, "price_unit", As.RULE, "prices.rent.interval, prices.rent.referring"),
    Column(22, "currency", As.CURRENCY, "prices.currency"),
    Column(23, "gross_premium"),  # a range such as 4-5, and grossPremium is one number
    Column(24, "floor", As.FLOOR, "floor"),
    Column(25, "number_of_rooms", As.ROOMS, "numberOfRooms"),
    Column(26, "number_of_apartments", As.COUNT, "numberOfApartments"),
    Column(27, "surface_living", As.AREA, "areaBwf"),
    Column(28, "surface_property", As.AREA, "areaPropertyLand"),
    Column(29, "surface_usable", As.AREA, "areaUsable"),
    Column(30, "volume", As.VOLUME, "buildingVolume"),
    Column(31, "year_built", As.YEAR, "yearBuilt"),
    *_flags(32, "view:hasNiceView fireplace:hasFireplace cabletv:hasCableTv elevator:hasElevator"),
    *_flags(36, "child_friendly:isChildFriendly parking:hasParking garage:hasGarage"),
    *_flags(39, "balcony:hasBalcony roof_floor:hasAttic"),
    *_kept(41, "distance_public_transport distance_shop distance_kindergarten"),
    *_kept(44, "distance_school1 distance_school2"),
    *_numbered(46, "picture_{}_filename", range(1, 6)),
    *_numbered(51, "picture_{}_title", range(1, 6)),
    *_numbered(56, "picture_{}_description", range(1, 6)),
    Column(61, "movie_filename", As.LINK, "videoLinks"),
    *_kept(62, "movie_title movie_description"),
    *_kept(64, "document_filename document_title document_description url"),
    Column(68, "agency_id", As.TEXT, f"{_ORGANIZATION}.id"),
    Column(69, "agency_name", As.TEXT, f"{_ORGANIZATION}.legalName"),
    Column(70, "agency_name_2"),
    Column(71, "agency_reference", As.PERSON, _name("seller.contactPerson")),
    Column(72, "agency_street", As.STREET, f"{_ADDRESS}.street, {_ADDRESS}.streetNumber"),
    Column(73, "agency_zip", As.TEXT, f"{_ADDRESS}.postalCode"),
    Column(74, "agency_city", As.TEXT, f"{_ADDRESS}.locality"),
    Column(75, "agency_country", As.COUNTRY, f"{_ADDRESS}.countryCode"),
    Column(76, "agency_phone", As.TEXT, f"{_ORGANIZATION}.phone"),
    Column(77, "agency_mobile", As.TEXT, f"{_ORGANIZATION}.mobile"),
    Column(78, "agency_fax"),
    # The agency's, and for this record: inquiries go there.
    Column(79, "agency_email", As.TEXT, f"{_ORGANIZATION}.email, seller.inquiryEmail"),
    Column(80, "agency_logo"),
    Column(81, "visit_name", As.PERSON, _name("seller.visitPerson")),
    Column(82, "visit_phone", As.TEXT, "seller.visitPerson.phone"),
    Column(83, "visit_email", As.TEXT, "seller.visitPerson.email"),
    Column(84, "visit_remark", As.TEXT, "seller.visitPerson.note"),
    *_kept(85, "publish_until destination"),
    *_numbered(87, "picture_{}_filename", range(6, 10)),
    *_numbered(91, "picture_{}_title", range(6, 10)),
    *_numbered(95, "picture_{}_description", range(6, 10)),
    *_numbered(99, "picture_{}_url", range(1, 10)),
    Column(108, "distance_motorway"),
    Column(109, "ceiling_height", As.METRES, "ceilingHeight"),
    Column(110, "hall_height", As.METRES, "hallHeight"),
    Column(111, "maximal_floor_loading", As.LOAD, "floorLoad"),
    Column(112, "carrying_capacity_crane", As.LOAD, "craneCapacity"),
    Column(113, "carrying_capacity_elevator", As.LOAD, "elevatorLoad"),
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
    Column(162, "number_of_floors", As.COUNT, "numberOfFloors"),
    Column(163, "year_renovated", As.YEAR, "yearLastRenovated"),
    *_flags(164, "flat_sharing_community:hasFlatSharingCommunity corner_house:isCornerHouse"),
    *_flags(166, "middle_house:isMiddleHouse building_land_connected:hasConnectedBuildingLand"),
    *_flags(168, "gardenhouse:hasGardenShed raised_ground_floor:isGroundFloorRaised"),
    *_flags(170, "new_building:isNewConstruction old_building:isOldBuilding"),
    *_flags(172, "under_building_laws:hasBuildingLawRestrictions under_roof:isUnderRoof"),
    *_flags(174, "swimmingpool:hasSwimmingPool"),
    Column(175, "minergie_general"),  # built like it, without the label
    Column(176, "minergie_certified", As.LABEL, "swissReferences.minergieCertification"),
    *_kept(177, "last_modified advertisement_id"),
    Column(179, "sparefield_1"),
    Column(180, "sparefield_2", As.LINK, "virtualTourLinks"),  # as several programs use it
    *_kept(181, "sparefield_3 sparefield_4"),
)

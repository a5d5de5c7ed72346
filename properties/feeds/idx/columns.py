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


class IdxColumn(NamedTuple):
    """One column, counted from 0 as the field list does."""

    number: int
    name: str
    read: As = As.KEPT
    path: str = ""


def _flags(first: int, pairs: str) -> list[IdxColumn]:
    """Return columns in a row that are flags: `column:characteristic`."""
    flags = [pair.split(":") for pair in pairs.split()]
    return [
        IdxColumn(number, name, As.FLAG, f"characteristics.{characteristic}")
        for number, (name, characteristic) in enumerate(flags, start=first)
    ]


def _kept(first: int, names: str) -> list[IdxColumn]:
    """Return columns in a row that have no home."""
    return [IdxColumn(number, name) for number, name in enumerate(names.split(), start=first)]


def _numbered(first: int, name: str, numbers: range) -> list[IdxColumn]:
    """Return the columns of pictures: `picture_1_filename` and so on."""
    return [IdxColumn(first + i, name.format(n)) for i, n in enumerate(numbers)]


def _name(person: str) -> str:
    """Return the paths of a person's name."""
    return f"{person}.givenName, {person}.familyName"


_ORGANIZATION = "seller.organization"
_ADDRESS = f"{_ORGANIZATION}.address"

COLUMNS = (
    IdxColumn(0, "version", As.RULE),  # the same in every line
    IdxColumn(1, "sender_id"),
    IdxColumn(2, "object_category", As.RULE, "propertyType, propertyCategories"),
    IdxColumn(3, "object_type", As.RULE, "propertyCategories, isFurnished"),
    IdxColumn(4, "offer_type", As.RULE, "offerType"),
    IdxColumn(5, "ref_property", As.TEXT, "projectReferenceId"),  # the nearest: a group of houses
    IdxColumn(6, "ref_house", As.TEXT, "houseReferenceId"),
    IdxColumn(7, "ref_object", As.RULE, "objectReferenceId"),
    IdxColumn(8, "object_street", As.STREET, "address.street, address.streetNumber"),
    IdxColumn(9, "object_zip", As.TEXT, "address.postalCode"),
    IdxColumn(10, "object_city", As.TEXT, "address.locality"),
    IdxColumn(11, "object_state", As.TEXT, "address.region"),
    IdxColumn(12, "object_country", As.COUNTRY, "address.countryCode"),
    IdxColumn(13, "region"),
    IdxColumn(14, "object_situation", As.LINES, "localizations.location"),
    IdxColumn(15, "available_from", As.DATE, "availabilityStartAt"),
    IdxColumn(16, "object_title", As.TEXT, "title, localizations.title"),
    IdxColumn(17, "object_description", As.LINES, "localizations.description"),
    IdxColumn(18, "selling_price", As.RULE, "prices.buy.price, prices.rent.gross"),
    IdxColumn(19, "rent_net", As.RULE, "prices.rent.net"),
    IdxColumn(20, "rent_extra", As.RULE, "prices.rent.extra"),
    IdxColumn(21, "price_unit", As.RULE, "prices.rent.interval, prices.rent.referring"),
    IdxColumn(22, "currency", As.CURRENCY, "prices.currency"),
    IdxColumn(23, "gross_premium"),  # a range such as 4-5, and grossPremium is one number
    IdxColumn(24, "floor", As.FLOOR, "floor"),
    IdxColumn(25, "number_of_rooms", As.ROOMS, "numberOfRooms"),
    IdxColumn(26, "number_of_apartments", As.COUNT, "numberOfApartments"),
    IdxColumn(27, "surface_living", As.AREA, "areaBwf"),
    IdxColumn(28, "surface_property", As.AREA, "areaPropertyLand"),
    IdxColumn(29, "surface_usable", As.AREA, "areaUsable"),
    IdxColumn(30, "volume", As.VOLUME, "buildingVolume"),
    IdxColumn(31, "year_built", As.YEAR, "yearBuilt"),
    *_flags(32, "view:hasNiceView fireplace:hasFireplace cabletv:hasCableTv elevator:hasElevator"),
    *_flags(36, "child_friendly:isChildFriendly parking:hasParking garage:hasGarage"),
    *_flags(39, "balcony:hasBalcony roof_floor:hasAttic"),
    *_kept(41, "distance_public_transport distance_shop distance_kindergarten"),
    *_kept(44, "distance_school1 distance_school2"),
    *_numbered(46, "picture_{}_filename", range(1, 6)),
    *_numbered(51, "picture_{}_title", range(1, 6)),
    *_numbered(56, "picture_{}_description", range(1, 6)),
    IdxColumn(61, "movie_filename", As.LINK, "videoLinks"),
    *_kept(62, "movie_title movie_description"),
    *_kept(64, "document_filename document_title document_description url"),
    IdxColumn(68, "agency_id", As.TEXT, f"{_ORGANIZATION}.id"),
    IdxColumn(69, "agency_name", As.TEXT, f"{_ORGANIZATION}.legalName"),
    IdxColumn(70, "agency_name_2"),
    IdxColumn(71, "agency_reference", As.PERSON, _name("seller.contactPerson")),
    IdxColumn(72, "agency_street", As.STREET, f"{_ADDRESS}.street, {_ADDRESS}.streetNumber"),
    IdxColumn(73, "agency_zip", As.TEXT, f"{_ADDRESS}.postalCode"),
    IdxColumn(74, "agency_city", As.TEXT, f"{_ADDRESS}.locality"),
    IdxColumn(75, "agency_country", As.COUNTRY, f"{_ADDRESS}.countryCode"),
    IdxColumn(76, "agency_phone", As.TEXT, f"{_ORGANIZATION}.phone"),
    IdxColumn(77, "agency_mobile", As.TEXT, f"{_ORGANIZATION}.mobile"),
    IdxColumn(78, "agency_fax"),
    # The agency's, and for this record: inquiries go there.
    IdxColumn(79, "agency_email", As.TEXT, f"{_ORGANIZATION}.email, seller.inquiryEmail"),
    IdxColumn(80, "agency_logo"),
    IdxColumn(81, "visit_name", As.PERSON, _name("seller.visitPerson")),
    IdxColumn(82, "visit_phone", As.TEXT, "seller.visitPerson.phone"),
    IdxColumn(83, "visit_email", As.TEXT, "seller.visitPerson.email"),
    IdxColumn(84, "visit_remark", As.TEXT, "seller.visitPerson.note"),
    *_kept(85, "publish_until destination"),
    *_numbered(87, "picture_{}_filename", range(6, 10)),
    *_numbered(91, "picture_{}_title", range(6, 10)),
    *_numbered(95, "picture_{}_description", range(6, 10)),
    *_numbered(99, "picture_{}_url", range(1, 10)),
    IdxColumn(108, "distance_motorway"),
    IdxColumn(109, "ceiling_height", As.METRES, "ceilingHeight"),
    IdxColumn(110, "hall_height", As.METRES, "hallHeight"),
    IdxColumn(111, "maximal_floor_loading", As.LOAD, "floorLoad"),
    IdxColumn(112, "carrying_capacity_crane", As.LOAD, "craneCapacity"),
    IdxColumn(113, "carrying_capacity_elevator", As.LOAD, "elevatorLoad"),
    IdxColumn(114, "isdn"),
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
    IdxColumn(162, "number_of_floors", As.COUNT, "numberOfFloors"),
    IdxColumn(163, "year_renovated", As.YEAR, "yearLastRenovated"),
    *_flags(164, "flat_sharing_community:hasFlatSharingCommunity corner_house:isCornerHouse"),
    *_flags(166, "middle_house:isMiddleHouse building_land_connected:hasConnectedBuildingLand"),
    *_flags(168, "gardenhouse:hasGardenShed raised_ground_floor:isGroundFloorRaised"),
    *_flags(170, "new_building:isNewConstruction old_building:isOldBuilding"),
    *_flags(172, "under_building_laws:hasBuildingLawRestrictions under_roof:isUnderRoof"),
    *_flags(174, "swimmingpool:hasSwimmingPool"),
    IdxColumn(175, "minergie_general"),  # built like it, without the label
    IdxColumn(176, "minergie_certified", As.LABEL, "swissReferences.minergieCertification"),
    *_kept(177, "last_modified advertisement_id"),
    IdxColumn(179, "sparefield_1"),
    IdxColumn(180, "sparefield_2", As.LINK, "virtualTourLinks"),  # as several programs use it
    *_kept(181, "sparefield_3 sparefield_4"),
)

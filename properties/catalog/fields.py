"""The table of all property fields, one line each: wire name, kind, how sure the name is.

A wire name that proves wrong costs one line here, and a data step for what is stored. What the
names, limits and enums mean and where they come from is told in docs/interface.md.
"""

import dataclasses

from properties.catalog import values
from properties.catalog.field import SHORT_TEXT, Field, Kind, Source

STRING, TEXT, ENUM, INTEGER, DECIMAL, BOOLEAN, DATE, DATETIME = (
    Kind.STRING,
    Kind.TEXT,
    Kind.ENUM,
    Kind.INTEGER,
    Kind.DECIMAL,
    Kind.BOOLEAN,
    Kind.DATE,
    Kind.DATETIME,
)
ENUM_LIST, OBJECT_LIST, MAP, OBJECT, MERGED_OBJECT = (
    Kind.ENUM_LIST,
    Kind.OBJECT_LIST,
    Kind.MAP,
    Kind.OBJECT,
    Kind.MERGED,
)
SEED, SWISSRETS, INFERRED = Source.SEED, Source.SWISSRETS, Source.INFERRED

NO_LIMIT = 0
MONEY = "prices.currency"
LANGUAGE = r"[a-z]{2}"
CURRENCY = r"[A-Z]{3}"


def _f(
    path: str,
    kind: Kind,
    source: Source,
    unit: str = "",
    *,
    enum: tuple[str, ...] = (),
    limit: int = SHORT_TEXT,
    pattern: str = "",
    required: bool = False,
    read_only: bool = False,
) -> Field:
    """Return one row; `limit` counts for strings only (A9: 255 unless the row says otherwise)."""
    max_length = limit if kind is STRING and limit != NO_LIMIT else None
    return Field(
        path, "", kind, source, unit, enum, max_length, pattern, required, read_only=read_only
    )


def _address(prefix: str, source: Source = SWISSRETS) -> list[Field]:
    """Return the rows of an address: the property's own, the owner's, the organization's."""
    return [
        _f(f"{prefix}", OBJECT, source),
        _f(f"{prefix}.countryCode", STRING, SWISSRETS),
        _f(f"{prefix}.locality", STRING, SWISSRETS),
        _f(f"{prefix}.region", STRING, SWISSRETS),
        _f(f"{prefix}.postalCode", STRING, SWISSRETS),
        _f(f"{prefix}.postOfficeBoxNumber", STRING, SWISSRETS),
        _f(f"{prefix}.street", STRING, SWISSRETS),
        _f(f"{prefix}.streetNumber", STRING, SWISSRETS),
        _f(f"{prefix}.streetAddition", STRING, SWISSRETS),
        _f(f"{prefix}.subunit", INTEGER, SWISSRETS),
        _f(f"{prefix}.geo", OBJECT, SWISSRETS),
        _f(f"{prefix}.geo.latitude", DECIMAL, SWISSRETS, "deg WGS84", required=True),
        _f(f"{prefix}.geo.longitude", DECIMAL, SWISSRETS, "deg WGS84", required=True),
        _f(f"{prefix}.geo.elevation", DECIMAL, SWISSRETS, "m"),
    ]


def _person(prefix: str) -> list[Field]:
    """Return the rows of a person at the seller's."""
    return [
        _f(f"{prefix}", OBJECT, SWISSRETS),
        _f(f"{prefix}.gender", STRING, SWISSRETS),
        _f(f"{prefix}.function", STRING, SWISSRETS),
        _f(f"{prefix}.givenName", STRING, SWISSRETS),
        _f(f"{prefix}.familyName", STRING, SWISSRETS),
        _f(f"{prefix}.email", STRING, SWISSRETS),
        _f(f"{prefix}.phone", STRING, SWISSRETS),
        _f(f"{prefix}.mobile", STRING, SWISSRETS),
        _f(f"{prefix}.note", STRING, SWISSRETS),
    ]


def _links(prefix: str) -> list[Field]:
    """Return the rows of a list of links; a URL may well be longer than 255."""
    return [
        _f(f"{prefix}", OBJECT_LIST, SEED),
        _f(f"{prefix}[].url", STRING, SWISSRETS, limit=NO_LIMIT, required=True),
        _f(f"{prefix}[].title", STRING, SWISSRETS),
    ]


def _characteristics(source: Source, names: str) -> list[Field]:
    """Return one row for each name: they differ in nothing else."""
    return [
        _f(f"characteristics.{name}", ENUM, source, enum=values.THREE_STATES)
        for name in names.split()
    ]


_CORE = [
    _f("id", STRING, SEED, limit=NO_LIMIT, read_only=True),
    _f("title", STRING, SEED),
    _f("propertyType", ENUM, INFERRED, enum=values.PROPERTY_TYPES),
    *_address("address", SEED),
]

_REFERENCES = [
    _f("displayReferenceId", STRING, SEED),
    _f("projectReferenceId", STRING, SEED),
    _f("houseReferenceId", STRING, SEED),
    _f("is24Id", STRING, SEED),
    _f("parentRealtyReferenceId", STRING, SEED),
    _f("objectReferenceId", STRING, SEED),
    _f("swissReferences", MERGED_OBJECT, SEED),
    _f("swissReferences.egid", STRING, SWISSRETS),
    _f("swissReferences.ewid", STRING, SWISSRETS),
    _f("swissReferences.egrid", STRING, SWISSRETS),
    _f("swissReferences.minergieCertification", ENUM, SWISSRETS, enum=values.MINERGIE_LABELS),
    _f("swissReferences.minergieId", STRING, INFERRED),
]

_AVAILABILITY = [
    _f("availabilityState", ENUM, SEED, enum=values.AVAILABILITY_STATES),
    _f("availabilityStartAt", DATETIME, SEED),
    _f("availabilityExpiresAt", DATETIME, SEED),
]

_CLASSIFICATION = [
    _f("propertyCategories", ENUM_LIST, SEED, enum=values.PROPERTY_CATEGORIES),
    _f("developmentState", ENUM, SEED, enum=values.DEVELOPMENT_STATES),
    _f("buildingZones", STRING, SEED),
    _f("conditions", ENUM_LIST, SEED, enum=values.CONDITIONS),
    _f("constructionMethod", ENUM, SEED, enum=values.CONSTRUCTION_METHODS),
    _f("isFurnished", BOOLEAN, SEED),
]

_AREAS_AND_COUNTS = [
    _f("areaUsable", DECIMAL, INFERRED, "m2"),
    _f("areaRentable", DECIMAL, INFERRED, "m2"),
    _f("areaCellar", DECIMAL, SWISSRETS, "m2"),
    _f("areaBalcony", DECIMAL, SWISSRETS, "m2"),
    _f("areaTerrace", DECIMAL, SWISSRETS, "m2"),
    _f("areaLoggia", DECIMAL, SWISSRETS, "m2"),
    _f("areaGarden", DECIMAL, SWISSRETS, "m2"),
    _f("buildingVolume", DECIMAL, INFERRED, "m3"),
    _f("ceilingHeight", DECIMAL, SWISSRETS, "m"),
    _f("hallHeight", DECIMAL, SWISSRETS, "m"),
    _f("floorLoad", DECIMAL, SWISSRETS, "kg/m2"),
    _f("elevatorLoad", DECIMAL, SWISSRETS, "kg"),
    _f("utilizationRatio", DECIMAL, SWISSRETS, "ratio"),
    _f("utilizationRatioConstruction", DECIMAL, SWISSRETS, "ratio"),
    _f("numberOfRooms", DECIMAL, SEED, "count"),
    _f("numberOfBedrooms", INTEGER, INFERRED, "count"),
    _f("numberOfBathrooms", INTEGER, SWISSRETS, "count"),
    _f("numberOfShowers", INTEGER, SWISSRETS, "count"),
    _f("numberOfToilets", INTEGER, SWISSRETS, "count"),
    _f("numberOfBalconies", INTEGER, INFERRED, "count"),
    _f("isMultiStoryPlan", BOOLEAN, SEED),
]

_CERTIFICATE = "energyCertificate"
_HEATING_AND_ENERGY = [
    _f("heatingType", ENUM, SEED, enum=values.HEATING_TYPES),
    _f("heatingDistribution", ENUM, SEED, enum=values.HEATING_DISTRIBUTIONS),
    _f("isHydraulicBalancingDone", BOOLEAN, SEED),
    _f("energyCertificate", MERGED_OBJECT, SEED),
    _f(f"{_CERTIFICATE}.availability", ENUM, INFERRED, enum=values.CERTIFICATE_AVAILABILITIES),
    _f(f"{_CERTIFICATE}.type", ENUM, INFERRED, enum=values.CERTIFICATE_TYPES),
    _f(f"{_CERTIFICATE}.creationPeriod", ENUM, INFERRED, enum=values.CERTIFICATE_PERIODS),
    _f(f"{_CERTIFICATE}.issuedAt", DATE, INFERRED),
    _f(f"{_CERTIFICATE}.validUntil", DATE, INFERRED),
    _f(f"{_CERTIFICATE}.buildingUse", ENUM, INFERRED, enum=values.BUILDING_USES),
    _f(f"{_CERTIFICATE}.energyEfficiencyClass", ENUM, INFERRED, enum=values.EFFICIENCY_CLASSES),
    _f(f"{_CERTIFICATE}.thermalCharacteristic", DECIMAL, INFERRED, "kWh/(m2*a)"),
    _f(f"{_CERTIFICATE}.thermalCharacteristicElectricity", DECIMAL, INFERRED, "kWh/(m2*a)"),
    _f(f"{_CERTIFICATE}.thermalCharacteristicHeating", DECIMAL, INFERRED, "kWh/(m2*a)"),
    _f(f"{_CERTIFICATE}.co2Emissions", DECIMAL, INFERRED, "kg/(m2*a)"),
    _f(f"{_CERTIFICATE}.isWarmWaterIncluded", BOOLEAN, INFERRED),
    _f(f"{_CERTIFICATE}.energySources", ENUM_LIST, INFERRED, enum=values.ENERGY_SOURCES),
    _f(f"{_CERTIFICATE}.constructionYear", INTEGER, INFERRED, "year"),
]

_PRICES = [
    _f("prices", MERGED_OBJECT, SEED),
    _f("prices.currency", STRING, SWISSRETS, limit=3, pattern=CURRENCY),
    _f("prices.buy", OBJECT, SWISSRETS),
    _f("prices.buy.price", DECIMAL, SWISSRETS, MONEY),
    _f("prices.buy.extra", DECIMAL, SWISSRETS, MONEY),
    _f("prices.buy.wirPercentage", DECIMAL, SWISSRETS, "%"),
    _f("prices.buy.referring", ENUM, SWISSRETS, enum=values.PRICE_REFERENCES),
    _f("prices.rent", OBJECT, SWISSRETS),
    _f("prices.rent.gross", DECIMAL, SWISSRETS, MONEY),
    _f("prices.rent.net", DECIMAL, SWISSRETS, MONEY),
    _f("prices.rent.extra", DECIMAL, SWISSRETS, MONEY),
    _f("prices.rent.interval", ENUM, SWISSRETS, enum=values.INTERVALS),
    _f("prices.rent.referring", ENUM, SWISSRETS, enum=values.PRICE_REFERENCES),
    _f("prices.deposit", OBJECT, SWISSRETS),
    _f("prices.deposit.amount", DECIMAL, SWISSRETS, MONEY),
    _f("prices.deposit.type", ENUM, SWISSRETS, enum=values.DEPOSIT_TYPES),
    _f("prices.auction", OBJECT, SWISSRETS),
    _f("prices.auction.startPrice", DECIMAL, SWISSRETS, MONEY),
    _f("prices.auction.startDate", DATETIME, SWISSRETS),
    _f("prices.auction.expiration", DATETIME, SWISSRETS),
    _f("prices.additionalOffers", OBJECT_LIST, SWISSRETS),
    _f(
        "prices.additionalOffers[].type",
        ENUM,
        SWISSRETS,
        enum=values.ADDITIONAL_OFFER_TYPES,
        required=True,
    ),
    _f("prices.additionalOffers[].price", DECIMAL, SWISSRETS, MONEY, required=True),
    _f("prices.additionalOffers[].interval", ENUM, SWISSRETS, enum=values.INTERVALS),
    _f("commissions", OBJECT_LIST, SEED),
    _f("commissions[].payer", ENUM, INFERRED, enum=values.PAYERS),
    _f("commissions[].percentage", DECIMAL, INFERRED, "%"),
    _f("commissions[].amount", DECIMAL, INFERRED, MONEY),
    _f("commissions[].isVatIncluded", BOOLEAN, INFERRED),
    _f("commissions[].note", STRING, INFERRED),
    _f("heatingCosts", DECIMAL, INFERRED, MONEY),
    _f("isHeatingCostsIncluded", BOOLEAN, INFERRED),
    _f("rentalIncome", DECIMAL, INFERRED, MONEY),
    _f("rentalIncomeInterval", ENUM, INFERRED, enum=values.INCOME_INTERVALS),
]

# fmt: off
_AMENITIES = [
    _f("characteristics", MERGED_OBJECT, SEED),
    *_characteristics(SWISSRETS, """
        arePetsAllowed hasAttic hasBalcony hasBuildingLawRestrictions hasCableTv hasCarPort
        hasCarPortDouble hasCellar hasChargingStation hasConnectedBuildingLand
        hasDemolitionProperty hasDishwasher hasElevator hasEvChargingStation hasFiberOptic
        hasFireplace hasFlatSharingCommunity hasForeignQuota hasGarage hasGarageDouble
        hasGarageUnderground hasGardenShed hasLakeView hasLiftingPlatform hasMountainView
        hasMultimediaWiring hasNiceView hasParking hasPhotovoltaic hasPlayground hasRamp
        hasSteamer hasStoreRoom hasSupplyGas hasSupplyPower hasSupplySewage hasSupplyWater
        hasSwimmingPool hasThermalSolarCollector hasTiledStove hasTumbleDryer hasWashingMachine
        hasRemoteViewings isChildFriendly isCornerHouse isDemolitionProperty isDilapidated
        isFirstOccupancy isGroundFloor isGroundFloorRaised isGutted isInNeedOfRenovation
        isInNeedOfRenovationPartially isLikeNew isMiddleHouse isModernized isNewConstruction
        isOldBuilding isProjection isQuiet isRefurbished isRefurbishedPartially
        isSecondaryResidenceAllowed isShellConstruction isSmokingAllowed isSunny isTemporaryUse
        isUnderRoof isWellTended isWheelchairAccessible onEvenGround onHillside onHillsideSouth
    """),
    *_characteristics(INFERRED, """
        hasGarden hasTerrace hasLoggia hasBuiltInKitchen hasGuestToilet hasAirConditioning
        hasSauna hasWinterGarden hasAlarmSystem hasBicycleRoom isBarrierFree isMonumentProtected
        isRented
    """),
]
# fmt: on

_LISTING = [
    _f("localizations", OBJECT_LIST, SEED),
    _f(
        "localizations[].languageCode",
        STRING,
        SWISSRETS,
        limit=2,
        pattern=LANGUAGE,
        required=True,
    ),
    _f("localizations[].title", STRING, SWISSRETS),
    _f("localizations[].excerpt", TEXT, SWISSRETS),
    _f("localizations[].description", TEXT, SWISSRETS),
    _f("localizations[].location", TEXT, SWISSRETS),
    _f("localizations[].equipment", TEXT, SWISSRETS),
    _f("localizations[].visitInformation", TEXT, SWISSRETS),
    _f("publishers", OBJECT_LIST, SEED),
    _f("publishers[].id", STRING, SWISSRETS, required=True),
    _f("publishers[].options", OBJECT_LIST, SWISSRETS),
    _f("publishers[].options[].key", STRING, SWISSRETS, required=True),
    _f("publishers[].options[].value", TEXT, SWISSRETS, required=True),
    _f("publishers[].options[].languageCode", STRING, SWISSRETS, limit=2, pattern=LANGUAGE),
    _f("publishers[].options[].start", DATETIME, SWISSRETS),
    _f("publishers[].options[].expiration", DATETIME, SWISSRETS),
    _f("publishers[].promotions", OBJECT_LIST, SWISSRETS),
    _f("publishers[].promotions[].name", STRING, SWISSRETS),
    _f("publishers[].promotions[].start", DATETIME, SWISSRETS, required=True),
    _f("publishers[].promotions[].expiration", DATETIME, SWISSRETS, required=True),
    _f("parkingLots", OBJECT_LIST, SEED),
    _f("parkingLots[].type", ENUM, INFERRED, enum=values.PARKING_TYPES),
    _f("parkingLots[].count", INTEGER, INFERRED, "count"),
    _f("parkingLots[].rentPrice", DECIMAL, INFERRED, MONEY),
    _f("parkingLots[].buyPrice", DECIMAL, INFERRED, MONEY),
    _f("parkingLots[].interval", ENUM, INFERRED, enum=values.INTERVALS),
    *_links("virtualTourLinks"),
    *_links("videoLinks"),
    _f("owner", OBJECT, INFERRED),
    _f("owner.companyName", STRING, SWISSRETS),
    _f("owner.givenName", STRING, SWISSRETS),
    _f("owner.familyName", STRING, SWISSRETS),
    _f("owner.email", STRING, SWISSRETS),
    *_address("owner.address"),
    _f("seller", OBJECT, INFERRED),
    _f("seller.inquiryEmail", STRING, SWISSRETS),
    _f("seller.organization", OBJECT, SWISSRETS),
    _f("seller.organization.id", STRING, SWISSRETS),
    _f("seller.organization.legalName", STRING, SWISSRETS),
    _f("seller.organization.brand", STRING, SWISSRETS),
    _f("seller.organization.email", STRING, SWISSRETS),
    _f("seller.organization.phone", STRING, SWISSRETS),
    _f("seller.organization.mobile", STRING, SWISSRETS),
    _f("seller.organization.website", OBJECT, SWISSRETS),
    _f("seller.organization.website.url", STRING, SWISSRETS, limit=NO_LIMIT, required=True),
    _f("seller.organization.website.label", STRING, SWISSRETS),
    _f("seller.organization.website.title", STRING, SWISSRETS),
    *_address("seller.organization.address"),
    *_person("seller.contactPerson"),
    *_person("seller.visitPerson"),
    _f("customFields", MAP, SEED),
]

_READ_ONLY = [
    _f("rooms", OBJECT_LIST, SEED, read_only=True),
    _f("rooms[].name", STRING, INFERRED, limit=NO_LIMIT, read_only=True),
    _f("rooms[].type", STRING, INFERRED, limit=NO_LIMIT, read_only=True),
    _f("rooms[].floor", INTEGER, INFERRED, read_only=True),
    _f("rooms[].area", DECIMAL, INFERRED, "m2", read_only=True),
]

# The interface document names none of these, but feeds carry them.
_EXTRA = [
    _f("offerType", ENUM, SWISSRETS, enum=values.OFFER_TYPES),
    _f("areaBwf", DECIMAL, SWISSRETS, "m2"),
    _f("areaNwf", DECIMAL, SWISSRETS, "m2"),
    _f("areaPropertyLand", DECIMAL, SWISSRETS, "m2"),
    _f("floor", INTEGER, SWISSRETS),
    _f("numberOfFloors", INTEGER, SWISSRETS, "count"),
    _f("numberOfApartments", INTEGER, INFERRED, "count"),
    _f("numberOfToiletsGuest", INTEGER, SWISSRETS, "count"),
    _f("numberOfParcels", INTEGER, SWISSRETS, "count"),
    _f("craneCapacity", DECIMAL, SWISSRETS, "kg"),
    _f("grossPremium", DECIMAL, SWISSRETS, "%"),
    _f("yearBuilt", INTEGER, SWISSRETS, "year"),
    _f("yearLastRenovated", INTEGER, SWISSRETS, "year"),
    _f("parcelNumbers", STRING, SWISSRETS),
    _f("author", STRING, SWISSRETS),
]

_TABLE = {
    "Core": _CORE,
    "References": _REFERENCES,
    "Availability": _AVAILABILITY,
    "Classification": _CLASSIFICATION,
    "Areas and counts": _AREAS_AND_COUNTS,
    "Heating and energy": _HEATING_AND_ENERGY,
    "Prices": _PRICES,
    "Amenities": _AMENITIES,
    "Listing": _LISTING,
    "Read-only": _READ_ONLY,
    "Extra": _EXTRA,
}

ROWS = [dataclasses.replace(row, group=group) for group, rows in _TABLE.items() for row in rows]

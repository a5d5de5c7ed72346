"""The table of all property fields: wire name, kind, how sure the name is.

One line for each field, or for neighbours that differ only in their names.

If a wire name proves wrong, change one line here, and migrate the data that is stored. What the
names, limits and enums mean and where they come from stands in docs/interface.md.
"""

import dataclasses
from typing import Any

from properties.catalog import enums
from properties.catalog.field import SHORT_TEXT, Field, Kind, NameSource

STRING, TEXT, INTEGER, DECIMAL = Kind.STRING, Kind.TEXT, Kind.INTEGER, Kind.DECIMAL
BOOLEAN, DATE, DATETIME, MAP = Kind.BOOLEAN, Kind.DATE, Kind.DATETIME, Kind.MAP
ENUM, ENUM_LIST, OBJECT_LIST = Kind.ENUM, Kind.ENUM_LIST, Kind.OBJECT_LIST
OBJECT, MERGED_OBJECT = Kind.OBJECT, Kind.MERGED
PLATFORM, SWISSRETS, INFERRED = NameSource.PLATFORM, NameSource.SWISSRETS, NameSource.INFERRED

NO_LIMIT = 0
MONEY = "prices.currency"
LANGUAGE = r"[a-z]{2}"
CURRENCY = r"[A-Z]{3}"
COUNTRY = r"[A-Z]{2}"


def _f(
    path: str,
    kind: Kind,
    source: NameSource,
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


def _each(
    names: str, kind: Kind, source: NameSource, unit: str = "", *, within: str = "", **more: Any
) -> list[Field]:
    """Return one row for each name, below `within`: they differ in nothing else."""
    return [_f(f"{within}{name}", kind, source, unit, **more) for name in names.split()]


def _address(prefix: str, source: NameSource = SWISSRETS) -> list[Field]:
    """Return the rows of an address: the property's own, the owner's, the organization's."""
    texts = "locality region postalCode postOfficeBoxNumber street streetNumber"
    return [
        _f(prefix, OBJECT, source),
        _f(f"{prefix}.countryCode", STRING, SWISSRETS, pattern=COUNTRY),
        *_each(f"{texts} streetAddition", STRING, SWISSRETS, within=f"{prefix}."),
        _f(f"{prefix}.subunit", INTEGER, SWISSRETS),
        _f(f"{prefix}.geo", OBJECT, SWISSRETS),
        _f(f"{prefix}.geo.latitude", DECIMAL, SWISSRETS, "deg WGS84", required=True),
        _f(f"{prefix}.geo.longitude", DECIMAL, SWISSRETS, "deg WGS84", required=True),
        _f(f"{prefix}.geo.elevation", DECIMAL, SWISSRETS, "m"),
    ]


def _person(prefix: str) -> list[Field]:
    """Return the rows of a person at the seller's."""
    texts = "gender function givenName familyName email phone mobile note"
    return [
        _f(prefix, OBJECT, SWISSRETS),
        *_each(texts, STRING, SWISSRETS, within=f"{prefix}."),
    ]


def _links(prefix: str) -> list[Field]:
    """Return the rows of a list of links; a URL may well be longer than 255."""
    return [
        _f(prefix, OBJECT_LIST, PLATFORM),
        _f(f"{prefix}[].url", STRING, SWISSRETS, limit=NO_LIMIT, required=True),
        _f(f"{prefix}[].title", STRING, SWISSRETS),
    ]


def _characteristics(source: NameSource, names: str) -> list[Field]:
    return _each(names, ENUM, source, within="characteristics.", enum=enums.THREE_STATES)


_AMENITIES = """
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
"""
_OUR_AMENITIES = """
    hasGarden hasTerrace hasLoggia hasBuiltInKitchen hasGuestToilet hasAirConditioning
    hasSauna hasWinterGarden hasAlarmSystem hasBicycleRoom isBarrierFree isMonumentProtected
    isRented
"""

_TABLE = {
    "Core": [
        _f("id", STRING, PLATFORM, limit=NO_LIMIT, read_only=True),
        _f("title", STRING, PLATFORM),
        _f("propertyType", ENUM, INFERRED, enum=enums.PROPERTY_TYPES),
        *_address("address", PLATFORM),
    ],
    "References": [
        *_each("displayReferenceId projectReferenceId houseReferenceId is24Id", STRING, PLATFORM),
        *_each("parentRealtyReferenceId objectReferenceId", STRING, PLATFORM),
        _f("swissReferences", MERGED_OBJECT, PLATFORM),
        *_each("egid ewid egrid", STRING, SWISSRETS, within="swissReferences."),
        _f("swissReferences.minergieCertification", ENUM, SWISSRETS, enum=enums.MINERGIE_LABELS),
        _f("swissReferences.minergieId", STRING, INFERRED),
    ],
    "Availability": [
        _f("availabilityState", ENUM, PLATFORM, enum=enums.AVAILABILITY_STATES),
        *_each("availabilityStartAt availabilityExpiresAt", DATETIME, PLATFORM),
    ],
    "Classification": [
        _f("propertyCategories", ENUM_LIST, PLATFORM, enum=enums.PROPERTY_CATEGORIES),
        _f("developmentState", ENUM, PLATFORM, enum=enums.DEVELOPMENT_STATES),
        _f("buildingZones", STRING, PLATFORM),
        _f("conditions", ENUM_LIST, PLATFORM, enum=enums.CONDITIONS),
        _f("constructionMethod", ENUM, PLATFORM, enum=enums.CONSTRUCTION_METHODS),
        _f("isFurnished", BOOLEAN, PLATFORM),
    ],
    "Areas and counts": [
        *_each("areaUsable areaRentable", DECIMAL, INFERRED, "m2"),
        *_each(
            "areaCellar areaBalcony areaTerrace areaLoggia areaGarden", DECIMAL, SWISSRETS, "m2"
        ),
        _f("buildingVolume", DECIMAL, INFERRED, "m3"),
        *_each("ceilingHeight hallHeight", DECIMAL, SWISSRETS, "m"),
        _f("floorLoad", DECIMAL, SWISSRETS, "kg/m2"),
        _f("elevatorLoad", DECIMAL, SWISSRETS, "kg"),
        *_each("utilizationRatio utilizationRatioConstruction", DECIMAL, SWISSRETS, "ratio"),
        _f("numberOfRooms", DECIMAL, PLATFORM, "count"),
        _f("numberOfBedrooms", INTEGER, INFERRED, "count"),
        *_each("numberOfBathrooms numberOfShowers numberOfToilets", INTEGER, SWISSRETS, "count"),
        _f("numberOfBalconies", INTEGER, INFERRED, "count"),
        _f("isMultiStoryPlan", BOOLEAN, PLATFORM),
    ],
    "Heating and energy": [
        _f("heatingType", ENUM, PLATFORM, enum=enums.HEATING_TYPES),
        _f("heatingDistribution", ENUM, PLATFORM, enum=enums.HEATING_DISTRIBUTIONS),
        _f("isHydraulicBalancingDone", BOOLEAN, PLATFORM),
        _f("energyCertificate", MERGED_OBJECT, PLATFORM),
        _f("energyCertificate.availability", ENUM, INFERRED, enum=enums.CERTIFICATE_AVAILABILITIES),
        _f("energyCertificate.type", ENUM, INFERRED, enum=enums.CERTIFICATE_TYPES),
        _f("energyCertificate.creationPeriod", ENUM, INFERRED, enum=enums.CERTIFICATE_PERIODS),
        *_each("issuedAt validUntil", DATE, INFERRED, within="energyCertificate."),
        _f("energyCertificate.buildingUse", ENUM, INFERRED, enum=enums.BUILDING_USES),
        _f(
            "energyCertificate.energyEfficiencyClass",
            ENUM,
            INFERRED,
            enum=enums.EFFICIENCY_CLASSES,
        ),
        _f("energyCertificate.thermalCharacteristic", DECIMAL, INFERRED, "kWh/(m2*a)"),
        _f("energyCertificate.thermalCharacteristicElectricity", DECIMAL, INFERRED, "kWh/(m2*a)"),
        _f("energyCertificate.thermalCharacteristicHeating", DECIMAL, INFERRED, "kWh/(m2*a)"),
        _f("energyCertificate.co2Emissions", DECIMAL, INFERRED, "kg/(m2*a)"),
        _f("energyCertificate.isWarmWaterIncluded", BOOLEAN, INFERRED),
        _f("energyCertificate.energySources", ENUM_LIST, INFERRED, enum=enums.ENERGY_SOURCES),
        _f("energyCertificate.constructionYear", INTEGER, INFERRED, "year"),
    ],
    "Prices": [
        _f("prices", MERGED_OBJECT, PLATFORM),
        _f("prices.currency", STRING, SWISSRETS, limit=3, pattern=CURRENCY),
        _f("prices.buy", OBJECT, SWISSRETS),
        *_each("price extra", DECIMAL, SWISSRETS, MONEY, within="prices.buy."),
        _f("prices.buy.wirPercentage", DECIMAL, SWISSRETS, "%"),
        _f("prices.buy.referring", ENUM, SWISSRETS, enum=enums.PRICE_REFERENCES),
        _f("prices.rent", OBJECT, SWISSRETS),
        *_each("gross net extra", DECIMAL, SWISSRETS, MONEY, within="prices.rent."),
        _f("prices.rent.interval", ENUM, SWISSRETS, enum=enums.INTERVALS),
        _f("prices.rent.referring", ENUM, SWISSRETS, enum=enums.PRICE_REFERENCES),
        _f("prices.deposit", OBJECT, SWISSRETS),
        _f("prices.deposit.amount", DECIMAL, SWISSRETS, MONEY),
        _f("prices.deposit.type", ENUM, SWISSRETS, enum=enums.DEPOSIT_TYPES),
        _f("prices.auction", OBJECT, SWISSRETS),
        _f("prices.auction.startPrice", DECIMAL, SWISSRETS, MONEY),
        *_each("startDate expiration", DATETIME, SWISSRETS, within="prices.auction."),
        _f("prices.additionalOffers", OBJECT_LIST, SWISSRETS),
        _f(
            "prices.additionalOffers[].type",
            ENUM,
            SWISSRETS,
            enum=enums.ADDITIONAL_OFFER_TYPES,
            required=True,
        ),
        _f("prices.additionalOffers[].price", DECIMAL, SWISSRETS, MONEY, required=True),
        _f("prices.additionalOffers[].interval", ENUM, SWISSRETS, enum=enums.INTERVALS),
        _f("commissions", OBJECT_LIST, PLATFORM),
        _f("commissions[].payer", ENUM, INFERRED, enum=enums.PAYERS),
        _f("commissions[].percentage", DECIMAL, INFERRED, "%"),
        _f("commissions[].amount", DECIMAL, INFERRED, MONEY),
        _f("commissions[].isVatIncluded", BOOLEAN, INFERRED),
        _f("commissions[].note", STRING, INFERRED),
        _f("heatingCosts", DECIMAL, INFERRED, MONEY),
        _f("isHeatingCostsIncluded", BOOLEAN, INFERRED),
        _f("rentalIncome", DECIMAL, INFERRED, MONEY),
        _f("rentalIncomeInterval", ENUM, INFERRED, enum=enums.INCOME_INTERVALS),
    ],
    "Amenities": [
        _f("characteristics", MERGED_OBJECT, PLATFORM),
        *_characteristics(SWISSRETS, _AMENITIES),
        *_characteristics(INFERRED, _OUR_AMENITIES),
    ],
    "Listing": [
        _f("localizations", OBJECT_LIST, PLATFORM),
        _f(
            "localizations[].languageCode",
            STRING,
            SWISSRETS,
            limit=2,
            pattern=LANGUAGE,
            required=True,
        ),
        _f("localizations[].title", STRING, SWISSRETS),
        *_each(
            "excerpt description location equipment", TEXT, SWISSRETS, within="localizations[]."
        ),
        _f("localizations[].visitInformation", TEXT, SWISSRETS),
        _f("publishers", OBJECT_LIST, PLATFORM),
        _f("publishers[].id", STRING, SWISSRETS, required=True),
        _f("publishers[].options", OBJECT_LIST, SWISSRETS),
        _f("publishers[].options[].key", STRING, SWISSRETS, required=True),
        _f("publishers[].options[].value", TEXT, SWISSRETS, required=True),
        _f("publishers[].options[].languageCode", STRING, SWISSRETS, limit=2, pattern=LANGUAGE),
        *_each("start expiration", DATETIME, SWISSRETS, within="publishers[].options[]."),
        _f("publishers[].promotions", OBJECT_LIST, SWISSRETS),
        _f("publishers[].promotions[].name", STRING, SWISSRETS),
        _f("publishers[].promotions[].start", DATETIME, SWISSRETS, required=True),
        _f("publishers[].promotions[].expiration", DATETIME, SWISSRETS, required=True),
        _f("parkingLots", OBJECT_LIST, PLATFORM),
        _f("parkingLots[].type", ENUM, INFERRED, enum=enums.PARKING_TYPES),
        _f("parkingLots[].count", INTEGER, INFERRED, "count"),
        *_each("rentPrice buyPrice", DECIMAL, INFERRED, MONEY, within="parkingLots[]."),
        _f("parkingLots[].interval", ENUM, INFERRED, enum=enums.INTERVALS),
        *_links("virtualTourLinks"),
        *_links("videoLinks"),
        _f("owner", OBJECT, INFERRED),
        *_each("companyName givenName familyName email", STRING, SWISSRETS, within="owner."),
        *_address("owner.address"),
        _f("seller", OBJECT, INFERRED),
        _f("seller.inquiryEmail", STRING, SWISSRETS),
        _f("seller.organization", OBJECT, SWISSRETS),
        *_each(
            "id legalName brand email phone mobile",
            STRING,
            SWISSRETS,
            within="seller.organization.",
        ),
        _f("seller.organization.website", OBJECT, SWISSRETS),
        _f("seller.organization.website.url", STRING, SWISSRETS, limit=NO_LIMIT, required=True),
        *_each("label title", STRING, SWISSRETS, within="seller.organization.website."),
        *_address("seller.organization.address"),
        *_person("seller.contactPerson"),
        *_person("seller.visitPerson"),
        _f("customFields", MAP, PLATFORM),
    ],
    "Read-only": [
        _f("rooms", OBJECT_LIST, PLATFORM, read_only=True),
        *_each("name type", STRING, INFERRED, within="rooms[].", limit=NO_LIMIT, read_only=True),
        _f("rooms[].floor", INTEGER, INFERRED, read_only=True),
        _f("rooms[].area", DECIMAL, INFERRED, "m2", read_only=True),
    ],
    # The interface document names none of these, but feeds carry them.
    "Extra": [
        _f("offerType", ENUM, SWISSRETS, enum=enums.OFFER_TYPES),
        *_each("areaBwf areaNwf areaPropertyLand", DECIMAL, SWISSRETS, "m2"),
        _f("floor", INTEGER, SWISSRETS),
        _f("numberOfFloors", INTEGER, SWISSRETS, "count"),
        _f("numberOfApartments", INTEGER, INFERRED, "count"),
        *_each("numberOfToiletsGuest numberOfParcels", INTEGER, SWISSRETS, "count"),
        _f("craneCapacity", DECIMAL, SWISSRETS, "kg"),
        _f("grossPremium", DECIMAL, SWISSRETS, "%"),
        *_each("yearBuilt yearLastRenovated", INTEGER, SWISSRETS, "year"),
        *_each("parcelNumbers author", STRING, SWISSRETS),
    ],
}

ROWS = [dataclasses.replace(row, group=group) for group, rows in _TABLE.items() for row in rows]

"""The property fields that the platform knows (§2.4), as one table.

A line is a wire name and its kind. `a.b` is a member of `a`. `a[].b` is a member of each item of
the list `a`. `a.{b,c}` are two members of one kind. A line that begins with blanks continues the
line above. Kinds:

    text        at most 255 characters (§8); `text 3`: at most 3
    long-text   descriptions, addresses on the web, option values: not limited (A9)
    decimal, integer, boolean, date, datetime
    enum …      one of the words; `enums …` a list of them
    object      replaced as a whole (A11); `like x`: an object with the members of `x`
    merged      merged field by field (§4.6 rule 3)
    list        a list of objects; `map`: names to texts
    read-only   returned, cannot be set (§4.6 rule 5)
"""

from dataclasses import dataclass, field

TABLE = """
# Core
id                           read-only
title                        text
propertyType                 enum APARTMENT HOUSE ROOM PLOT COMMERCIAL GASTRONOMY INDUSTRIAL
    AGRICULTURAL PARKING STORAGE INVESTMENT OTHER
address                      object
address.{countryCode,locality,region,postalCode,postOfficeBoxNumber,street,streetNumber} text
address.streetAddition                         text
address.subunit                                integer
address.geo                                    object
address.geo.{latitude,longitude,elevation}     decimal

# References
{displayReferenceId,projectReferenceId,houseReferenceId,is24Id,parentRealtyReferenceId} text
objectReferenceId            text
swissReferences              merged
swissReferences.{egid,ewid,egrid}              text
swissReferences.minergieCertification          enum MINERGIE MINERGIE_A MINERGIE_A_ECO
    MINERGIE_AREAL MINERGIE_ECO MINERGIE_MQS_BAU MINERGIE_MQS_BETRIEB MINERGIE_P MINERGIE_P_ECO
swissReferences.minergieId                     text

# Availability
availabilityState            enum ACTIVE PRIVATE REFERENCE RESERVED TAKEN
{availabilityStartAt,availabilityExpiresAt} datetime

# Classification
propertyCategories           enums ADVERTISING_AREA AGRICULTURAL_LOT ALLOTMENT_GARDEN APARTMENT
    ARCADE ATELIER ATTIC_COMPARTMENT ATTIC_FLAT BAKERY BAR BOAT_DRY_DOCK BOAT_LANDING_STAGE
    BOAT_MOORING BUILDING_LOT BUTCHER CAFE CAMPGROUND CAR_PARK CAR_REPAIR_SHOP CARPENTRY_SHOP
    CASINO CASTLE CELLAR_COMPARTMENT CHALET CHEESE_FACTORY CLUB_DISCO COMMERCIAL_LOT
    COMMERCIAL_SPACE COVERED_MOTORBIKE_PARKING_SPACE COVERED_PARKING_SPACE DEPARTMENT_STORE
    DETACHED_HOUSE DISPLAY_WINDOW DOCTORS_OFFICE DOUBLE_GARAGE DUPLEX_HOUSE
    EARTH_SHELTERED_DWELLING FACTORY FARM_HOUSE FUEL_STATION FURNISHED_FLAT GOLF_COURSE
    GRANNY_FLAT HAIRDRESSER HOBBY_ROOM HOSPITAL HOTEL HORSE_BOX INDOOR_SWIMMING_POOL
    INDOOR_TENNIS_COURT INDUSTRIAL_LOT INDUSTRIAL_OBJECT KIOSK LABORATORY LIBRARY LOFT
    MAISONETTE MARKET_GARDEN MINI_GOLF_COURSE MOTEL MOVIE_THEATER MULTIPLEX_HOUSE
    MULTISTOREY_CAR_PARK NURSING_HOME OFFICE ONE_ROOM_FLAT OPEN_MOTORBIKE_PARKING_SPACE
    OPEN_PARKING_SPACE ORPHANAGE OUTDOOR_SWIMMING_POOL PARKING_SPACE PARTY_ROOM PLOT PUB
    RESIDENTIAL_COMMERCIAL_BUILDING RESTAURANT RETAIL_LOCATION RETIREMENT_HOME RIDING_HALL
    ROOF_FLAT ROW_HOUSE RUSTICO SANATORIUM SAUNA SHOPPING_CENTER SINGLE_GARAGE SINGLE_ROOM
    SOLARIUM SPORTS_HALL SQUASH_BADMINTON STEPPED_FLAT STEPPED_HOUSE STOECKLI STORAGE_ROOM
    TENNIS_COURT UNDERGROUND_PARKING_SPACE VILLA WORKSHOP
developmentState             enum FULL PARTIAL UNDEVELOPED
buildingZones                text
conditions                   enums FIRST_TIME_USE FIRST_TIME_USE_AFTER_REFURBISHMENT
    MINT_CONDITION REFURBISHED MODERNIZED FULLY_RENOVATED WELL_KEPT NEED_OF_RENOVATION
    NEGOTIABLE RIPE_FOR_DEMOLITION
constructionMethod           enum SOLID SOLID_PREFABRICATED PREFABRICATED WOOD_PREFABRICATED
isFurnished                  boolean

# Areas and counts
{areaUsable,areaRentable,areaCellar,areaBalcony,areaTerrace,areaLoggia,areaGarden} decimal
{buildingVolume,ceilingHeight,hallHeight,floorLoad,elevatorLoad,utilizationRatio} decimal
{utilizationRatioConstruction,numberOfRooms} decimal
{numberOfBedrooms,numberOfBathrooms,numberOfShowers,numberOfToilets,numberOfBalconies} integer
isMultiStoryPlan             boolean

# Heating and energy
heatingType                  enum DISTRICT ELECTRICITY GAS GEOTHERMAL_PROBE
    HEATPUMP_AIR_AND_WATER HEATPUMP OIL PHOTOVOLTAICS SOLAR_THERMAL WOOD_PELLET WOOD COAL
heatingDistribution          enum RADIATOR FLOOR
isHydraulicBalancingDone     boolean
energyCertificate            merged
energyCertificate.availability                 enum AVAILABLE NOT_AVAILABLE_YET NOT_REQUIRED
energyCertificate.type                         enum ENERGY_REQUIRED ENERGY_CONSUMPTION
energyCertificate.creationPeriod               enum BEFORE_01_MAY_2014 FROM_01_MAY_2014
energyCertificate.{issuedAt,validUntil}        date
energyCertificate.buildingUse                  enum RESIDENTIAL NON_RESIDENTIAL
energyCertificate.energyEfficiencyClass        enum A_PLUS A B C D E F G H
energyCertificate.{thermalCharacteristic,thermalCharacteristicElectricity} decimal
energyCertificate.{thermalCharacteristicHeating,co2Emissions} decimal
energyCertificate.isWarmWaterIncluded          boolean
energyCertificate.energySources                enums GEOTHERMAL SOLAR_HEATING PELLET_HEATING GAS
    OIL DISTRICT_HEATING ELECTRICITY COAL ACID_GAS SOUR_GAS LIQUID_GAS STEAM_DISTRICT_HEATING
    WOOD WOOD_CHIPS COAL_COKE LOCAL_HEATING HEAT_SUPPLY BIO_ENERGY WIND_ENERGY HYDRO_ENERGY
    ENVIRONMENTAL_THERMAL_ENERGY COMBINED_HEAT_AND_POWER_FOSSIL_FUELS
    COMBINED_HEAT_AND_POWER_RENEWABLE_ENERGY COMBINED_HEAT_AND_POWER_REGENERATIVE_ENERGY
    COMBINED_HEAT_AND_POWER_BIO_ENERGY
energyCertificate.constructionYear             integer

# Prices
prices                       merged
prices.currency                                text 3
prices.buy                                     object
prices.buy.{price,extra,wirPercentage}         decimal
prices.buy.referring                           enum ALL M2 KM2
prices.rent                                    object
prices.rent.{gross,net,extra}                  decimal
prices.rent.interval                           enum ONETIME DAY WEEK MONTH YEAR
prices.rent.referring                          enum ALL M2 KM2
prices.deposit                                 object
prices.deposit.amount                          decimal
prices.deposit.type                            enum BANK_GUARANTEE DEPOSIT_GUARANTEE
prices.auction                                 object
prices.auction.startPrice                      decimal
prices.auction.{startDate,expiration}          datetime
prices.additionalOffers                        list
prices.additionalOffers[].type                 enum PARKING_EXTERIOR_SPACE PARKING_CARPORT
    PARKING_GARAGE PARKING_GARAGE_CONNECTED PARKING_GARAGE_BOX PARKING_GARAGE_UNDERGROUND
    PARKING_HOUSE PARKING_DUPLEX PARKING_DOUBLE_GARAGE ROOM_WORKROOM ROOM_STORAGE_BASEMENT
prices.additionalOffers[].price                decimal
prices.additionalOffers[].interval             enum ONETIME DAY WEEK MONTH YEAR
commissions                  list
commissions[].payer                            enum BUYER SELLER TENANT LANDLORD
commissions[].{percentage,amount}              decimal
commissions[].isVatIncluded                    boolean
commissions[].note                             text
heatingCosts                 decimal
isHeatingCostsIncluded       boolean
rentalIncome                 decimal
rentalIncomeInterval         enum MONTH YEAR

# Amenities
characteristics              merged

# Listing
localizations                list
localizations[].languageCode                   text 2
localizations[].title                          text
localizations[].{excerpt,description,location,equipment,visitInformation} long-text
publishers                   list
publishers[].id                                text
publishers[].options                           list
publishers[].options[].key                     text
publishers[].options[].value                   long-text
publishers[].options[].languageCode            text 2
publishers[].options[].{start,expiration}      datetime
publishers[].promotions                        list
publishers[].promotions[].name                 text
publishers[].promotions[].{start,expiration}   datetime
parkingLots                  list
parkingLots[].type                             enum PARKING_EXTERIOR_SPACE PARKING_CARPORT
    PARKING_GARAGE PARKING_GARAGE_CONNECTED PARKING_GARAGE_BOX PARKING_GARAGE_UNDERGROUND
    PARKING_HOUSE PARKING_DUPLEX PARKING_DOUBLE_GARAGE
parkingLots[].count                            integer
parkingLots[].{rentPrice,buyPrice}             decimal
parkingLots[].interval                         enum ONETIME DAY WEEK MONTH YEAR
virtualTourLinks             list
virtualTourLinks[].url                         long-text
virtualTourLinks[].title                       text
videoLinks                   list
videoLinks[].url                               long-text
videoLinks[].title                             text
owner                        object
owner.{companyName,givenName,familyName,email} text
owner.address                                  like address
seller                       object
seller.inquiryEmail                            text
seller.organization                            object
seller.organization.{id,legalName,brand,email,phone,mobile} text
seller.organization.website                    object
seller.organization.website.url                long-text
seller.organization.website.{label,title}      text
seller.organization.address                    like address
seller.contactPerson                           object
seller.contactPerson.{gender,function,givenName,familyName,email,phone,mobile,note} text
seller.visitPerson                             like seller.contactPerson
customFields                 map

# Read-only
rooms                        read-only

# Extra (in no document of the platform)
offerType                    enum BUY RENT
{areaBwf,areaNwf,areaPropertyLand} decimal
{floor,numberOfFloors,numberOfApartments,numberOfToiletsGuest,numberOfParcels} integer
{craneCapacity,grossPremium} decimal
{yearBuilt,yearLastRenovated} integer
{parcelNumbers,author}       text
"""

# Each is APPLIES, DOES_NOT_APPLY or UNKNOWN. Only here UNKNOWN is a value (§4.6 rule 4).
CHARACTERISTICS = """
arePetsAllowed hasAttic hasBalcony hasBuildingLawRestrictions hasCableTv hasCarPort
hasCarPortDouble hasCellar hasChargingStation hasConnectedBuildingLand hasDemolitionProperty
hasDishwasher hasElevator hasEvChargingStation hasFiberOptic hasFireplace
hasFlatSharingCommunity hasForeignQuota hasGarage hasGarageDouble hasGarageUnderground
hasGardenShed hasLakeView hasLiftingPlatform hasMountainView hasMultimediaWiring hasNiceView
hasParking hasPhotovoltaic hasPlayground hasRamp hasSteamer hasStoreRoom hasSupplyGas
hasSupplyPower hasSupplySewage hasSupplyWater hasSwimmingPool hasThermalSolarCollector
hasTiledStove hasTumbleDryer hasWashingMachine hasRemoteViewings isChildFriendly isCornerHouse
isDemolitionProperty isDilapidated isFirstOccupancy isGroundFloor isGroundFloorRaised isGutted
isInNeedOfRenovation isInNeedOfRenovationPartially isLikeNew isMiddleHouse isModernized
isNewConstruction isOldBuilding isProjection isQuiet isRefurbished isRefurbishedPartially
isSecondaryResidenceAllowed isShellConstruction isSmokingAllowed isSunny isTemporaryUse
isUnderRoof isWellTended isWheelchairAccessible onEvenGround onHillside onHillsideSouth
hasGarden hasTerrace hasLoggia hasBuiltInKitchen hasGuestToilet hasAirConditioning hasSauna
hasWinterGarden hasAlarmSystem hasBicycleRoom isBarrierFree isMonumentProtected isRented
"""

SHORT_TEXT = 255  # §8


@dataclass(slots=True)
class Field:
    """The values that one field of a property document may have."""

    kind: str
    values: frozenset[str] = frozenset()
    limit: int | None = None
    members: dict[str, "Field"] = field(default_factory=dict)


def parse(table: str) -> dict[str, Field]:
    """Return a table as a tree: the fields by their wire names at the first level."""
    root = Field("object")
    for line in _whole_lines(table):
        names, kind, *words = line.split()
        before, _, several = names.removesuffix("}").partition("{")
        for name in several.split(",") if several else ("",):
            parent = root
            *way, last = f"{before}{name}".replace("[]", "").split(".")
            for step in way:
                parent = parent.members[step]
            parent.members[last] = _field(root, kind, words)
    return root.members


def _whole_lines(table: str) -> list[str]:
    lines: list[str] = []
    for line in table.splitlines():
        if line.startswith(" "):
            lines[-1] += line
        elif line and not line.startswith("#"):
            lines.append(line)
    return lines


def _field(root: Field, kind: str, words: list[str]) -> Field:
    match kind:
        case "text":
            return Field("text", limit=int(words[0]) if words else SHORT_TEXT)
        case "long-text":
            return Field("text")
        case "enum" | "enums":
            return Field(kind, values=frozenset(words))
        case "like":
            model = root
            for step in words[0].split("."):
                model = model.members[step]
            return Field("object", members=model.members)
        case _:
            return Field(kind)


def _all_fields() -> dict[str, Field]:
    fields = parse(TABLE)
    feature = Field("enum", values=frozenset({"APPLIES", "DOES_NOT_APPLY", "UNKNOWN"}))
    fields["characteristics"].members.update(dict.fromkeys(CHARACTERISTICS.split(), feature))
    return fields


PROPERTY = _all_fields()

"""Tables from SwissRETS names to the platform's names, in the shape of SwissRETS JSON 3.x.

The XML reader converts its format to that shape first, so both formats share the tables.
"""

from properties import catalog

# From SwissRETS (left) to a top-level field or a member of a merged object (right).
# The first line with a value wins. A later value for the same field goes to the leftover.
MOVED = (
    ("referenceId", "objectReferenceId"),
    ("externalReference.refObject", "objectReferenceId"),
    ("visualReferenceId", "displayReferenceId"),
    ("unitReferenceId", "parentRealtyReferenceId"),  # the nearest: a unit is the building
    ("externalReference.refProperty", "projectReferenceId"),
    ("externalReference.refHouse", "houseReferenceId"),
    ("bfs.egid", "swissReferences.egid"),
    ("bfs.ewid", "swissReferences.ewid"),
    ("bfs.egrid", "swissReferences.egrid"),
    ("minergieCertification", "swissReferences.minergieCertification"),
    ("availability.state", "availabilityState"),
    ("availability.start", "availabilityStartAt"),
    ("availability.expiration", "availabilityExpiresAt"),
    ("type", "offerType"),
    ("categories", "propertyCategories"),
    ("development", "developmentState"),
    ("heating.generation", "heatingType"),
    ("heating.distribution", "heatingDistribution"),
    ("buildingZones", "buildingZones"),
    ("parcelNumbers", "parcelNumbers"),
    ("author", "author"),
    ("address", "address"),
    ("prices", "prices"),
    ("localizations", "localizations"),
    ("publishers", "publishers"),
    ("propertyOwner", "owner"),
    ("seller.inquiryPerson.email", "seller.inquiryEmail"),
    ("seller", "seller"),
    ("characteristics.volumeGva", "buildingVolume"),
    ("characteristics.areaSiaNf", "areaUsable"),  # the nearest: net area by SIA 416
    ("characteristics.numberOfApartements", "numberOfApartments"),
)

# The numbers of SwissRETS `characteristics` are top-level fields of the same name.
NUMBERS = frozenset(
    name
    for name, row in catalog.TOP_LEVEL.items()
    if row.kind in {catalog.Kind.DECIMAL, catalog.Kind.INTEGER}
)

# Flags that also set `conditions`. The words are OpenImmo's, the values IS24's.
CONDITIONS = (
    ("isFirstOccupancy", "FIRST_TIME_USE"),
    ("isLikeNew", "MINT_CONDITION"),
    ("isRefurbished", "REFURBISHED"),
    ("isRefurbishedPartially", "REFURBISHED"),
    ("isModernized", "MODERNIZED"),
    ("isWellTended", "WELL_KEPT"),
    ("isInNeedOfRenovation", "NEED_OF_RENOVATION"),
    ("isInNeedOfRenovationPartially", "NEED_OF_RENOVATION"),
    ("isDilapidated", "RIPE_FOR_DEMOLITION"),
    ("isDemolitionProperty", "RIPE_FOR_DEMOLITION"),
)

# Links are in the attachments of each localization in SwissRETS, on the platform at top level.
LINKS = (("virtualTourLinks", "virtualTourLinks"), ("youTubeLinks", "videoLinks"))

# Files in the attachments of the first localization: what they show to their list.
FILES = {"PHOTO": "images", "PLAN": "plans", "FILM": "documents", "DOCUMENT": "documents"}

# `propertyType` by the main category; OTHER for any other category.
PROPERTY_TYPES = {
    "APARTMENT": """APARTMENT ATTIC_FLAT FURNISHED_FLAT GRANNY_FLAT LOFT MAISONETTE ONE_ROOM_FLAT
        ROOF_FLAT STEPPED_FLAT""",
    "HOUSE": """CASTLE CHALET DETACHED_HOUSE DUPLEX_HOUSE EARTH_SHELTERED_DWELLING FARM_HOUSE
        ROW_HOUSE RUSTICO STEPPED_HOUSE STOECKLI VILLA""",
    "ROOM": "SINGLE_ROOM",
    "PLOT": "BUILDING_LOT COMMERCIAL_LOT INDUSTRIAL_LOT PLOT",
    "COMMERCIAL": """ADVERTISING_AREA ARCADE ATELIER BAKERY BUTCHER COMMERCIAL_SPACE
        DEPARTMENT_STORE DISPLAY_WINDOW DOCTORS_OFFICE FUEL_STATION HAIRDRESSER KIOSK LABORATORY
        OFFICE RETAIL_LOCATION SHOPPING_CENTER""",
    "GASTRONOMY": "BAR CAFE CAMPGROUND CASINO CLUB_DISCO HOTEL MOTEL PUB RESTAURANT",
    "INDUSTRIAL": """CARPENTRY_SHOP CAR_REPAIR_SHOP CHEESE_FACTORY FACTORY INDUSTRIAL_OBJECT
        WORKSHOP""",
    "AGRICULTURAL": "AGRICULTURAL_LOT ALLOTMENT_GARDEN HORSE_BOX MARKET_GARDEN",
    "PARKING": """BOAT_DRY_DOCK BOAT_LANDING_STAGE BOAT_MOORING CAR_PARK
        COVERED_MOTORBIKE_PARKING_SPACE COVERED_PARKING_SPACE DOUBLE_GARAGE MULTISTOREY_CAR_PARK
        OPEN_MOTORBIKE_PARKING_SPACE OPEN_PARKING_SPACE PARKING_SPACE SINGLE_GARAGE
        UNDERGROUND_PARKING_SPACE""",
    "STORAGE": "ATTIC_COMPARTMENT CELLAR_COMPARTMENT STORAGE_ROOM",
    "INVESTMENT": "MULTIPLEX_HOUSE RESIDENTIAL_COMMERCIAL_BUILDING",
}
PROPERTY_TYPE_OF = {
    category: kind for kind, names in PROPERTY_TYPES.items() for category in names.split()
}

# Required by the schemas in every record, besides localizations with language and title.
REQUIRED = ("id", "referenceId", "type", "availability.state")

"""The words of IDX 3.01 in tables: categories, offers, prices, flags."""

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
    "GARDEN": {0: "ALLOTMENT_GARDEN", 1: "ALLOTMENT_GARDEN"},  # both are written
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

# Flag: the categories whose objects may have what it asks. Programs write an N into every flag of
# every line; that a parking space has no chimney is nothing that anybody has said. A yes counts
# wherever it stands. The field list names no categories for a flag: this is our reading.
HOMES = frozenset({"APPT", "HOUSE"})
BUILT = HOMES | {"INDUS", "GASTRO"}
LAND = frozenset({"PROP", "AGRI"})
_SUPPLIED = LAND | {"INDUS", "GARDEN"}
FLAG_CATEGORIES = {
    "view": BUILT | LAND,
    "fireplace": HOMES | {"GASTRO"},
    "cabletv": BUILT,
    "elevator": BUILT,
    "child_friendly": HOMES,
    "parking": BUILT,
    "garage": BUILT,
    "balcony": HOMES,
    "roof_floor": HOMES,
    "wheelchair_accessible": BUILT,
    "animal_allowed": HOMES,
    "ramp": frozenset({"INDUS"}),
    "lifting_platform": frozenset({"INDUS"}),
    "water_supply": _SUPPLIED,
    "sewage_supply": _SUPPLIED,
    "power_supply": _SUPPLIED,
    "gas_supply": _SUPPLIED,
    "flat_sharing_community": HOMES,
    "corner_house": frozenset({"HOUSE"}),
    "middle_house": frozenset({"HOUSE"}),
    "building_land_connected": frozenset({"PROP"}),
    "gardenhouse": HOMES | {"GARDEN"},
    "raised_ground_floor": frozenset({"APPT", "INDUS"}),
    "new_building": BUILT,
    "old_building": BUILT,
    "under_building_laws": BUILT | LAND,
    "under_roof": frozenset({"APPT", "INDUS", "PARK", "SECONDARY"}),
    "swimmingpool": HOMES | {"GASTRO"},
}

# How people write that there is no value, in small letters and without points around.
NO_VALUE = frozenset(
    {
        *(
            "",
            "auf anfrage",
            "preis auf anfrage",
            "a.a",
            "nach vereinbarung",
            "n.v",
            "nach absprache",
        ),
        *("k.a", "keine angabe", "keine angaben", "unbekannt", "n/a", "null", "offen", "?"),
        *("sur demande", "prix sur demande", "à convenir", "su richiesta", "da convenire"),
        *("on request", "by request", "price on request"),
    }
)

# Countries and currencies that people write in words, in small letters.
COUNTRIES = {
    **dict.fromkeys(("schweiz", "suisse", "svizzera", "switzerland", "che"), "CH"),
    **dict.fromkeys(("deutschland", "germany", "allemagne"), "DE"),
    **dict.fromkeys(("frankreich", "france", "francia"), "FR"),
    **dict.fromkeys(("italien", "italie", "italia", "italy"), "IT"),
    **dict.fromkeys(("österreich", "autriche", "austria"), "AT"),
    "liechtenstein": "LI",
}
CURRENCIES = dict.fromkeys(("fr.", "fr", "sfr.", "sfr", "franken"), "CHF") | {"€": "EUR"}

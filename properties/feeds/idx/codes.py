"""The words of IDX 3.01 in tables: categories, offers, prices."""

import csv
from pathlib import Path

# object_category: propertyType, unless the type below is more exact.
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
# offer_type: offerType. Then the price that each price column sets, by offer_type.
OFFER_TYPES = {"RENT": "RENT", "SALE": "BUY"}
PRICES = {
    "RENT": {
        "selling_price": "gross",  # for a rental object this column is the gross rent
        "rent_net": "net",
        "rent_extra": "extra",
    },
    "SALE": {"selling_price": "price"},
}
# price_unit: the members of the price that it sets, by offer_type.
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
# Words for "no value", in small letters and without dots around them.
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
# Countries and currencies as people write them, in small letters.
COUNTRIES = {
    **dict.fromkeys(("schweiz", "suisse", "svizzera", "switzerland", "che"), "CH"),
    **dict.fromkeys(("deutschland", "germany", "allemagne"), "DE"),
    **dict.fromkeys(("frankreich", "france", "francia"), "FR"),
    **dict.fromkeys(("italien", "italie", "italia", "italy"), "IT"),
    **dict.fromkeys(("österreich", "autriche", "austria"), "AT"),
    "liechtenstein": "LI",
}
CURRENCIES = dict.fromkeys(("fr.", "fr", "sfr.", "sfr", "franken"), "CHF") | {"€": "EUR"}


def _categories() -> dict[str, dict[int, str]]:
    found: dict[str, dict[int, str]] = {category: {} for category in PROPERTY_TYPES}
    table = Path(__file__).with_name("idx_categories.csv")
    with table.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found[row["object_category"]][int(row["object_type"])] = row["category"]
    return found


# object_category and object_type: the SwissRETS category with the same meaning.
CATEGORIES = _categories()

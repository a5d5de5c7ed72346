"""Tables from the element names of OpenImmo to the platform's names, for the reader and the writer.

A path leads from the object to an element (`geo.ort`) or an attribute (`geo.land.@iso_land`). The
names are those that open-source programs use: facts of the format. The tables have only the
elements that we read, and are not its schema.
"""

from typing import NamedTuple

from properties.feeds.swissrets.vocabulary import PROPERTY_TYPE_OF

EXTERN = "verwaltung_techn.objektnr_extern"
INTERN = "verwaltung_techn.objektnr_intern"
OBID = "verwaltung_techn.openimmo_obid"
# The setting of a sender, and what names its objects.
KEYS = {"INTERN": INTERN, "OBID": OBID}
ACTION = "verwaltung_techn.aktion.@aktionart"
# The actions that take an object away.
AWAY = frozenset({"DELETE", "ARCHIV", "ARCHIVIERT"})
REFERENCE = "REFERENZ"  # the action for an object that is sold and still shown

_PERSON = "seller.contactPerson"
_FIRM = "seller.organization"

# From a value of OpenImmo to a field. The first line with a value wins; the writer uses the first
# line of each field. 0 of a number means that nothing is said, except for a floor and a place.
MOVED = (
    ("geo.plz", "address.postalCode"),
    ("geo.ort", "address.locality"),
    ("geo.geokoordinaten.@breitengrad", "address.geo.latitude"),
    ("geo.geokoordinaten.@laengengrad", "address.geo.longitude"),
    ("geo.strasse", "address.street"),
    ("geo.hausnummer", "address.streetNumber"),
    ("geo.bundesland", "address.region"),
    ("geo.etage", "floor"),
    ("geo.anzahl_etagen", "numberOfFloors"),
    ("kontaktperson.email_zentrale", f"{_FIRM}.email"),
    ("kontaktperson.email_direkt", f"{_PERSON}.email"),
    ("kontaktperson.tel_zentrale", f"{_FIRM}.phone"),
    ("kontaktperson.tel_durchw", f"{_PERSON}.phone"),
    ("kontaktperson.tel_handy", f"{_PERSON}.mobile"),
    ("kontaktperson.name", f"{_PERSON}.familyName"),
    ("kontaktperson.vorname", f"{_PERSON}.givenName"),
    ("kontaktperson.position", f"{_PERSON}.function"),
    ("kontaktperson.firma", f"{_FIRM}.legalName"),
    ("kontaktperson.strasse", f"{_FIRM}.address.street"),
    ("kontaktperson.hausnummer", f"{_FIRM}.address.streetNumber"),
    ("kontaktperson.plz", f"{_FIRM}.address.postalCode"),
    ("kontaktperson.ort", f"{_FIRM}.address.locality"),
    ("kontaktperson.postfach", f"{_FIRM}.address.postOfficeBoxNumber"),
    ("kontaktperson.email_feedback", "seller.inquiryEmail"),
    ("kontaktperson.url", f"{_FIRM}.website.url"),
    ("kontaktperson.freitextfeld", f"{_PERSON}.note"),
    ("preise.kaufpreis", "prices.buy.price"),
    ("preise.nettokaltmiete", "prices.rent.net"),
    ("preise.kaltmiete", "prices.rent.net"),
    ("preise.warmmiete", "prices.rent.gross"),
    ("preise.nebenkosten", "prices.rent.extra"),
    ("preise.heizkosten_enthalten", "isHeatingCostsIncluded"),
    ("preise.heizkosten", "heatingCosts"),
    ("preise.waehrung.@iso_waehrung", "prices.currency"),
    ("preise.mieteinnahmen_ist", "rentalIncome"),
    ("preise.kaution", "prices.deposit.amount"),
    ("bieterverfahren.beginn_bietzeit", "prices.auction.startDate"),
    ("bieterverfahren.ende_bietzeit", "prices.auction.expiration"),
    ("bieterverfahren.mindestpreis", "prices.auction.startPrice"),
    ("flaechen.wohnflaeche", "areaBwf"),
    ("flaechen.nutzflaeche", "areaUsable"),
    ("flaechen.grz", "utilizationRatioConstruction"),
    ("flaechen.grundstuecksflaeche", "areaPropertyLand"),
    ("flaechen.anzahl_zimmer", "numberOfRooms"),
    ("flaechen.anzahl_schlafzimmer", "numberOfBedrooms"),
    ("flaechen.anzahl_badezimmer", "numberOfBathrooms"),
    ("flaechen.anzahl_sep_wc", "numberOfToilets"),
    ("flaechen.anzahl_balkone", "numberOfBalconies"),
    ("flaechen.gartenflaeche", "areaGarden"),
    ("flaechen.kellerflaeche", "areaCellar"),
    ("flaechen.vermietbare_flaeche", "areaRentable"),
    ("flaechen.anzahl_wohneinheiten", "numberOfApartments"),
    ("flaechen.kubatur", "buildingVolume"),
    ("flaechen.ausnuetzungsziffer", "utilizationRatio"),
    ("flaechen.gfz", "utilizationRatio"),
    ("ausstattung.wg_geeignet", "characteristics.hasFlatSharingCommunity"),
    ("ausstattung.kueche.@EBK", "characteristics.hasBuiltInKitchen"),
    ("ausstattung.kamin", "characteristics.hasFireplace"),
    ("ausstattung.klimatisiert", "characteristics.hasAirConditioning"),
    ("ausstattung.fahrstuhl.@PERSONEN", "characteristics.hasElevator"),
    ("ausstattung.stellplatzart.@GARAGE", "characteristics.hasGarage"),
    ("ausstattung.stellplatzart.@TIEFGARAGE", "characteristics.hasGarageUnderground"),
    ("ausstattung.stellplatzart.@CARPORT", "characteristics.hasCarPort"),
    ("ausstattung.stellplatzart.@FREIPLATZ", "characteristics.hasParking"),
    ("ausstattung.gartennutzung", "characteristics.hasGarden"),
    ("ausstattung.rollstuhlgerecht", "characteristics.isWheelchairAccessible"),
    ("ausstattung.kabel_sat_tv", "characteristics.hasCableTv"),
    ("ausstattung.barrierefrei", "characteristics.isBarrierFree"),
    ("ausstattung.sauna", "characteristics.hasSauna"),
    ("ausstattung.swimmingpool", "characteristics.hasSwimmingPool"),
    ("ausstattung.wintergarten", "characteristics.hasWinterGarden"),
    ("ausstattung.dv_verkabelung", "characteristics.hasMultimediaWiring"),
    ("ausstattung.rampe", "characteristics.hasRamp"),
    ("ausstattung.hebebuehne", "characteristics.hasLiftingPlatform"),
    ("ausstattung.hallenhoehe", "hallHeight"),
    ("ausstattung.sicherheitstechnik.@ALARMANLAGE", "characteristics.hasAlarmSystem"),
    ("ausstattung.abstellraum", "characteristics.hasStoreRoom"),
    ("ausstattung.fahrradraum", "characteristics.hasBicycleRoom"),
    ("ausstattung.dachboden", "characteristics.hasAttic"),
    ("ausstattung.gaestewc", "characteristics.hasGuestToilet"),
    ("zustand_angaben.baujahr", "yearBuilt"),
    ("zustand_angaben.letztemodernisierung", "yearLastRenovated"),
    ("zustand_angaben.bauzone", "buildingZones"),
    ("zustand_angaben.energiepass.gueltig_bis", "energyCertificate.validUntil"),
    (
        "zustand_angaben.energiepass.energieverbrauchkennwert",
        "energyCertificate.thermalCharacteristic",
    ),
    ("zustand_angaben.energiepass.mitwarmwasser", "energyCertificate.isWarmWaterIncluded"),
    ("zustand_angaben.energiepass.endenergiebedarf", "energyCertificate.thermalCharacteristic"),
    ("zustand_angaben.energiepass.stromwert", "energyCertificate.thermalCharacteristicElectricity"),
    ("zustand_angaben.energiepass.waermewert", "energyCertificate.thermalCharacteristicHeating"),
    ("zustand_angaben.energiepass.baujahr", "energyCertificate.constructionYear"),
    ("zustand_angaben.energiepass.ausstelldatum", "energyCertificate.issuedAt"),
    ("verwaltung_objekt.abdatum", "availabilityStartAt"),
    ("verwaltung_objekt.vermietet", "characteristics.isRented"),
    ("verwaltung_objekt.haustiere", "characteristics.arePetsAllowed"),
    ("verwaltung_objekt.denkmalgeschuetzt", "characteristics.isMonumentProtected"),
    ("verwaltung_techn.aktiv_bis", "availabilityExpiresAt"),
    ("verwaltung_techn.gruppen_kennung", "projectReferenceId"),
)

# Texts of the object's language: element to member of `localizations`.
TEXTS = (
    ("freitexte.objekttitel", "title"),
    ("freitexte.dreizeiler", "excerpt"),
    ("freitexte.lage", "location"),
    ("freitexte.ausstatt_beschr", "equipment"),
    ("freitexte.objektbeschreibung", "description"),
)
LANGUAGE = "verwaltung_techn.sprache"

_APPLIES = {"JA": "APPLIES", "NEIN": "DOES_NOT_APPLY"}
_SMOKERS = {"TRUE": "DOES_NOT_APPLY", "FALSE": "APPLIES", "1": "DOES_NOT_APPLY", "0": "APPLIES"}
_ENERGY = "zustand_angaben.energiepass"
_ALPHA_3 = """AE:ARE AD:AND AL:ALB AR:ARG AT:AUT AU:AUS BA:BIH BE:BEL BG:BGR BR:BRA BY:BLR CA:CAN
CH:CHE CL:CHL CN:CHN CR:CRI CY:CYP CZ:CZE DE:DEU DK:DNK DO:DOM EE:EST EG:EGY ES:ESP FI:FIN FR:FRA
GB:GBR GR:GRC HR:HRV HU:HUN ID:IDN IE:IRL IL:ISR IN:IND IS:ISL IT:ITA JP:JPN LI:LIE LT:LTU LU:LUX
LV:LVA MA:MAR MC:MCO MD:MDA ME:MNE MK:MKD MT:MLT MU:MUS MX:MEX NA:NAM NL:NLD NO:NOR NZ:NZL PA:PAN
PH:PHL PL:POL PT:PRT PY:PRY RO:ROU RS:SRB RU:RUS SA:SAU SE:SWE SG:SGP SI:SVN SK:SVK SM:SMR TH:THA
TN:TUN TR:TUR UA:UKR US:USA UY:URY VA:VAT VN:VNM ZA:ZAF"""
COUNTRIES = {alpha3: code for code, alpha3 in (one.split(":") for one in _ALPHA_3.split())}


class Words(NamedTuple):
    """A value that has words of its own; the writer uses the first word of a constant."""

    source: str
    target: str
    words: dict[str, str]


WORDS = (
    Words("geo.land.@iso_land", "address.countryCode", COUNTRIES),
    Words("kontaktperson.anrede", f"{_PERSON}.gender", {"HERR": "male", "FRAU": "female"}),
    Words("kontaktperson.land.@iso_land", f"{_FIRM}.address.countryCode", COUNTRIES),
    Words(
        "preise.preis_zeiteinheit.@zeiteinheit",
        "prices.rent.interval",
        {"TAG": "DAY", "WOCHE": "WEEK", "MONAT": "MONTH", "JAHR": "YEAR"},
    ),
    Words(
        "preise.mieteinnahmen_ist.@periode",
        "rentalIncomeInterval",
        {"MONAT": "MONTH", "JAHR": "YEAR"},
    ),
    Words("ausstattung.moebliert.@moeb", "isFurnished", {"VOLL": "true", "TEIL": "true"}),
    Words("ausstattung.unterkellert.@keller", "characteristics.hasCellar", _APPLIES),
    Words(
        "zustand_angaben.erschliessung.@erschl_attr",
        "developmentState",
        {
            "VOLLERSCHLOSSEN": "FULL",
            "ORTSUEBLICHERSCHLOSSEN": "FULL",
            "TEILERSCHLOSSEN": "PARTIAL",
            "UNERSCHLOSSEN": "UNDEVELOPED",
        },
    ),
    Words(
        f"{_ENERGY}.epart",
        "energyCertificate.type",
        {"BEDARF": "ENERGY_REQUIRED", "VERBRAUCH": "ENERGY_CONSUMPTION"},
    ),
    Words(
        f"{_ENERGY}.wertklasse",
        "energyCertificate.energyEfficiencyClass",
        {"A+": "A_PLUS"} | {letter: letter for letter in "ABCDEFGH"},
    ),
    # One element says when the certificate was made, or that there is none.
    Words(
        f"{_ENERGY}.jahrgang",
        "energyCertificate.creationPeriod",
        {"2008": "BEFORE_01_MAY_2014", "2014": "FROM_01_MAY_2014"},
    ),
    Words(
        f"{_ENERGY}.jahrgang",
        "energyCertificate.availability",
        {
            "BEI_BESICHTIGUNG": "AVAILABLE",
            "OHNE": "NOT_AVAILABLE_YET",
            "NICHT_NOETIG": "NOT_REQUIRED",
        },
    ),
    Words(
        f"{_ENERGY}.gebaeudeart",
        "energyCertificate.buildingUse",
        {"WOHN": "RESIDENTIAL", "NICHTWOHN": "NON_RESIDENTIAL"},
    ),
    Words(
        "zustand_angaben.verkaufstatus.@stand",
        "availabilityState",
        {"OFFEN": "ACTIVE", "RESERVIERT": "RESERVED", "VERKAUFT": "TAKEN"},
    ),
    Words("infrastruktur.ausblick.@blick", "characteristics.hasMountainView", {"BERGE": "APPLIES"}),
    Words("infrastruktur.ausblick.@blick", "characteristics.hasLakeView", {"SEE": "APPLIES"}),
    Words("verwaltung_objekt.nichtraucher", "characteristics.isSmokingAllowed", _SMOKERS),
)
# Words that the format writes in small letters.
SMALL = frozenset(
    {f"{_ENERGY}.jahrgang", f"{_ENERGY}.gebaeudeart", "verwaltung_objekt.nichtraucher"}
)
SPELLED = {"HERR": "Herr", "FRAU": "Frau"}

# The condition of the object, which some words say in another field.
STATE = "zustand_angaben.zustand.@zustand_art"
STATES = {
    "ERSTBEZUG": ("conditions", "FIRST_TIME_USE"),
    "NEUWERTIG": ("conditions", "MINT_CONDITION"),
    "MODERNISIERT": ("conditions", "MODERNIZED"),
    "GEPFLEGT": ("conditions", "WELL_KEPT"),
    "VOLL_SANIERT": ("conditions", "REFURBISHED"),
    "TEIL_SANIERT": ("conditions", "REFURBISHED"),
    "TEIL_VOLLSANIERT": ("conditions", "REFURBISHED"),
    "TEIL_VOLLRENOVIERT": ("conditions", "FULLY_RENOVATED"),
    "SANIERUNGSBEDUERFTIG": ("conditions", "NEED_OF_RENOVATION"),
    "TEIL_VOLLRENOVIERUNGSBED": ("conditions", "NEED_OF_RENOVATION"),
    "NACH_VEREINBARUNG": ("conditions", "NEGOTIABLE"),
    "ABRISSOBJEKT": ("conditions", "RIPE_FOR_DEMOLITION"),
    "BAUFAELLIG": ("conditions", "RIPE_FOR_DEMOLITION"),
    "ROHBAU": ("characteristics.isShellConstruction", "APPLIES"),
    "ENTKERNT": ("characteristics.isGutted", "APPLIES"),
    "PROJEKTIERT": ("characteristics.isProjection", "APPLIES"),
}
AGE = "zustand_angaben.alter.@alter_attr"
AGES = {
    "NEUBAU": ("characteristics.isNewConstruction", "APPLIES"),
    "ALTBAU": ("characteristics.isOldBuilding", "APPLIES"),
}

# Elements whose attributes are flags. The first flag that is set gives the value of the field.
FLAGS = (
    Words("objektkategorie.vermarktungsart", "offerType", {"KAUF": "BUY", "MIETE_PACHT": "RENT"}),
    Words(
        "ausstattung.befeuerung",
        "heatingType",
        {
            "OEL": "OIL",
            "GAS": "GAS",
            "FLUESSIGGAS": "GAS",
            "ELEKTRO": "ELECTRICITY",
            "ERDWAERME": "GEOTHERMAL_PROBE",
            "LUFTWP": "HEATPUMP_AIR_AND_WATER",
            "FERN": "DISTRICT",
            "PELLET": "WOOD_PELLET",
            "HOLZ": "WOOD",
            "KOHLE": "COAL",
            "SOLAR": "SOLAR_THERMAL",
        },
    ),
    Words("ausstattung.heizungsart", "heatingDistribution", {"FUSSBODEN": "FLOOR"}),
    Words("ausstattung.heizungsart", "heatingType", {"FERN": "DISTRICT"}),
    Words(
        "ausstattung.bauweise",
        "constructionMethod",
        {"MASSIV": "SOLID", "FERTIGTEILE": "PREFABRICATED", "HOLZ": "WOOD_PREFABRICATED"},
    ),
)

SOURCES = "zustand_angaben.energiepass.primaerenergietraeger"  # a free text
ENERGY_SOURCES = {
    "OEL": "OIL",
    "HEIZÖL": "OIL",
    "ÖL": "OIL",
    "GAS": "GAS",
    "ERDGAS": "GAS",
    "FLUESSIGGAS": "LIQUID_GAS",
    "FLÜSSIGGAS": "LIQUID_GAS",
    "ELEKTRO": "ELECTRICITY",
    "STROM": "ELECTRICITY",
    "ERDWAERME": "GEOTHERMAL",
    "ERDWÄRME": "GEOTHERMAL",
    "SOLAR": "SOLAR_HEATING",
    "FERN": "DISTRICT_HEATING",
    "FERNWÄRME": "DISTRICT_HEATING",
    "NAHWAERME": "LOCAL_HEATING",
    "NAHWÄRME": "LOCAL_HEATING",
    "PELLET": "PELLET_HEATING",
    "PELLETS": "PELLET_HEATING",
    "HOLZ": "WOOD",
    "HOLZHACKSCHNITZEL": "WOOD_CHIPS",
    "KOHLE": "COAL",
}

# Parking spaces: element to type, with the attributes of each.
PARKING = {
    "stp_carport": "PARKING_CARPORT",
    "stp_duplex": "PARKING_DUPLEX",
    "stp_freiplatz": "PARKING_EXTERIOR_SPACE",
    "stp_garage": "PARKING_GARAGE",
    "stp_parkhaus": "PARKING_HOUSE",
    "stp_tiefgarage": "PARKING_GARAGE_UNDERGROUND",
}
PARKING_MEMBERS = {
    "@stellplatzmiete": "rentPrice",
    "@stellplatzkaufpreis": "buyPrice",
    "@anzahl": "count",
}

# Commissions: element to who pays if the object is sold, and if it is let.
COMMISSIONS = {
    "innen_courtage": {"BUY": "SELLER", "RENT": "LANDLORD"},
    "aussen_courtage": {"BUY": "BUYER", "RENT": "TENANT"},
}

# Links among the attachments, by their group.
LINKS = {"FILMLINK": "videoLinks", "PANORAMA": "virtualTourLinks"}

# Files among the attachments: what they show to their group. The first photo has one of its own.
FILES = {"PHOTO": "BILD", "PLAN": "GRUNDRISS", "FILM": "FILM", "DOCUMENT": "DOKUMENTE"}
FIRST_PHOTO = "TITELBILD"


class ObjectType(NamedTuple):
    """A kind of object: the attribute of its element, its propertyType, and its words."""

    attribute: str
    type: str
    categories: dict[str, str]


KINDS = {
    "zimmer": ObjectType("zimmertyp", "ROOM", {"ZIMMER": "SINGLE_ROOM"}),
    "wohnung": ObjectType(
        "wohnungtyp",
        "APARTMENT",
        {
            "ETAGE": "APARTMENT",
            "APARTMENT": "APARTMENT",
            "ERDGESCHOSS": "APARTMENT",
            "SOUTERRAIN": "APARTMENT",
            "GALERIE": "APARTMENT",
            "FERIENWOHNUNG": "APARTMENT",
            "DACHGESCHOSS": "ROOF_FLAT",
            "MAISONETTE": "MAISONETTE",
            "LOFT-STUDIO-ATELIER": "LOFT",
            "PENTHOUSE": "ATTIC_FLAT",
            "ATTIKAWOHNUNG": "ATTIC_FLAT",
            "TERRASSEN": "STEPPED_FLAT",
        },
    ),
    "haus": ObjectType(
        "haustyp",
        "HOUSE",
        {
            "EINFAMILIENHAUS": "DETACHED_HOUSE",
            "REIHENHAUS": "ROW_HOUSE",
            "REIHENEND": "ROW_HOUSE",
            "REIHENMITTEL": "ROW_HOUSE",
            "REIHENECK": "ROW_HOUSE",
            "DOPPELHAUSHAELFTE": "DUPLEX_HOUSE",
            "VILLA": "VILLA",
            "BAUERNHAUS": "FARM_HOUSE",
            "SCHLOSS": "CASTLE",
            "BURG": "CASTLE",
            "CHALET": "CHALET",
            "RUSTICO": "RUSTICO",
            "MEHRFAMILIENHAUS": "MULTIPLEX_HOUSE",
        },
    ),
    "grundstueck": ObjectType(
        "grundst_typ",
        "PLOT",
        {
            "WOHNEN": "BUILDING_LOT",
            "GEWERBE": "COMMERCIAL_LOT",
            "INDUSTRIE": "INDUSTRIAL_LOT",
            "LAND_FORSTWIRSCHAFT": "AGRICULTURAL_LOT",
        },
    ),
    "buero_praxen": ObjectType(
        "buero_typ",
        "COMMERCIAL",
        {
            "BUEROFLAECHE": "OFFICE",
            "BUEROHAUS": "OFFICE",
            "BUEROZENTRUM": "OFFICE",
            "COWORKING": "OFFICE",
            "SHARED_OFFICE": "OFFICE",
            "PRAXIS": "DOCTORS_OFFICE",
            "PRAXISFLAECHE": "DOCTORS_OFFICE",
            "PRAXISHAUS": "DOCTORS_OFFICE",
            "LOFT_ATELIER": "ATELIER",
            "AUSSTELLUNGSFLAECHE": "COMMERCIAL_SPACE",
        },
    ),
    "einzelhandel": ObjectType(
        "handel_typ",
        "COMMERCIAL",
        {
            "LADENLOKAL": "RETAIL_LOCATION",
            "EINZELHANDELSLADEN": "RETAIL_LOCATION",
            "VERKAUFSFLAECHE": "RETAIL_LOCATION",
            "AUSSTELLUNGSFLAECHE": "COMMERCIAL_SPACE",
            "KAUFHAUS": "DEPARTMENT_STORE",
            "EINKAUFSZENTRUM": "SHOPPING_CENTER",
            "KIOSK": "KIOSK",
        },
    ),
    "gastgewerbe": ObjectType(
        "gastgew_typ",
        "GASTRONOMY",
        {
            "RESTAURANT": "RESTAURANT",
            "GASTRONOMIE": "RESTAURANT",
            "BAR": "BAR",
            "CAFE": "CAFE",
            "DISCOTHEK": "CLUB_DISCO",
            "HOTELS": "HOTEL",
        },
    ),
    "hallen_lager_prod": ObjectType(
        "hallen_typ",
        "INDUSTRIAL",
        {
            "INDUSTRIEHALLE": "INDUSTRIAL_OBJECT",
            "HALLE": "INDUSTRIAL_OBJECT",
            "PRODUKTION": "FACTORY",
            "WERKSTATT": "WORKSHOP",
            "LAGER": "STORAGE_ROOM",
            "LAGERFLAECHEN": "STORAGE_ROOM",
        },
    ),
    "land_und_forstwirtschaft": ObjectType(
        "land_typ",
        "AGRICULTURAL",
        {"ACKERBAU": "AGRICULTURAL_LOT", "GARTENBAU": "MARKET_GARDEN", "BAUERNHOF": "FARM_HOUSE"},
    ),
    "parken": ObjectType(
        "parken_typ",
        "PARKING",
        {
            "STELLPLATZ": "PARKING_SPACE",
            "PARKPLATZ_STROM": "PARKING_SPACE",
            "CARPORT": "COVERED_PARKING_SPACE",
            "EINZELGARAGE": "SINGLE_GARAGE",
            "DOPPELGARAGE": "DOUBLE_GARAGE",
            "PARKHAUS": "MULTISTOREY_CAR_PARK",
            "TIEFGARAGE": "UNDERGROUND_PARKING_SPACE",
            "TIEFGARAGENSTELLPLATZ": "UNDERGROUND_PARKING_SPACE",
            "BOOTSLIEGEPLATZ": "BOAT_MOORING",
        },
    ),
    "sonstige": ObjectType(
        "sonstige_typ",
        "OTHER",
        {
            "KRANKENHAUS": "HOSPITAL",
            "TANKSTELLE": "FUEL_STATION",
            "PARKHAUS": "MULTISTOREY_CAR_PARK",
        },
    ),
    "freizeitimmobilie_gewerblich": ObjectType(
        "freizeit_typ", "OTHER", {"SPORTANLAGEN": "SPORTS_HALL"}
    ),
    "zinshaus_renditeobjekt": ObjectType(
        "zins_typ",
        "INVESTMENT",
        {
            "WOHN_UND_GESCHAEFTSHAUS": "RESIDENTIAL_COMMERCIAL_BUILDING",
            "MEHRFAMILIENHAUS": "MULTIPLEX_HOUSE",
            "EINKAUFSCENTREN": "SHOPPING_CENTER",
            "PFLEGEHEIM": "NURSING_HOME",
            "SENIORENHEIM": "RETIREMENT_HOME",
            "SANATORIUM": "SANATORIUM",
        },
    ),
}
# Words that say more than their category: they are kept with the property, too.
SAYS_MORE = frozenset(
    (
        *("ERDGESCHOSS", "SOUTERRAIN", "GALERIE", "FERIENWOHNUNG", "REIHENEND", "REIHENMITTEL"),
        *("REIHENECK", "BURG", "BUEROHAUS", "COWORKING", "SHARED_OFFICE", "PARKPLATZ_STROM"),
    )
)


def property_type(kind: str, category: str | None) -> str:
    """Return the propertyType of an object. Its category decides, as in every other feed."""
    return PROPERTY_TYPE_OF.get(category or "", KINDS[kind].type)


# The first kind and word of each category, for the writer.
KIND_OF: dict[str, tuple[str, str]] = {}
for _kind, _row in KINDS.items():
    for _word, _category in _row.categories.items():
        KIND_OF.setdefault(_category, (_kind, _word))
# The kind of an object without a category that OpenImmo has; STORAGE has no kind of its own.
KIND_OF_TYPE: dict[str, str] = {"STORAGE": "hallen_lager_prod"}
for _kind, _row in KINDS.items():
    KIND_OF_TYPE.setdefault(_row.type, _kind)
COMMERCIAL_USE = frozenset({"COMMERCIAL", "GASTRONOMY", "INDUSTRIAL", "STORAGE"})

# Our own fields in the format's own extension: they bring back what it has no place for.
OWN = "user_defined_simplefield"
OWN_PREFIX = "crm-sync."

# The order of the elements, where it differs from that of the tables above.
ORDER = {
    "": "objektkategorie geo kontaktperson preise bieterverfahren flaechen ausstattung"
    " zustand_angaben infrastruktur freitexte anhaenge verwaltung_objekt verwaltung_techn"
    f" {OWN}",
    "objektkategorie": "nutzungsart vermarktungsart objektart",
    "geo": "plz ort geokoordinaten strasse hausnummer bundesland land etage anzahl_etagen",
    "kontaktperson": "email_zentrale email_direkt tel_zentrale tel_durchw tel_handy name vorname"
    " anrede position firma strasse hausnummer plz ort postfach land email_feedback url"
    " freitextfeld",
    "preise": "kaufpreis nettokaltmiete warmmiete nebenkosten heizkosten_enthalten heizkosten"
    " preis_zeiteinheit mietpreis_pro_qm kaufpreis_pro_qm innen_courtage aussen_courtage waehrung"
    f" mieteinnahmen_ist kaution {' '.join(PARKING)}",
    "ausstattung": "wg_geeignet kueche kamin heizungsart befeuerung klimatisiert fahrstuhl"
    " stellplatzart gartennutzung moebliert rollstuhlgerecht kabel_sat_tv barrierefrei sauna"
    " swimmingpool wintergarten dv_verkabelung rampe hebebuehne hallenhoehe sicherheitstechnik"
    " unterkellert abstellraum fahrradraum bauweise dachboden gaestewc",
    "zustand_angaben": "baujahr letztemodernisierung zustand alter erschliessung bauzone"
    " energiepass verkaufstatus",
    "energiepass": "epart gueltig_bis energieverbrauchkennwert mitwarmwasser endenergiebedarf"
    " primaerenergietraeger stromwert waermewert wertklasse baujahr ausstelldatum jahrgang"
    " gebaeudeart",
    "verwaltung_objekt": "abdatum vermietet nichtraucher haustiere denkmalgeschuetzt",
    "verwaltung_techn": "objektnr_intern objektnr_extern aktion aktiv_bis openimmo_obid"
    " kennung_ursprung stand_vom gruppen_kennung sprache",
    "freitexte": " ".join(source.rpartition(".")[2] for source, _ in TEXTS),
}

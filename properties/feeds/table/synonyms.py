"""How senders call our columns in German, French, Italian and English.

A name stands here once. `LANGUAGE` is the language of the texts. Columns whose cells are words of
the platform, such as `heatingType`, have no names here: a foreign table has other words in them.
"""

LANGUAGE = "LANGUAGE"

_TABLE = """
objectReferenceId: Objektnummer, Objekt-Nr, Objekt Nr., Objektreferenz, Referenz, Referenznummer,
    Referenz-Nr., Ref., Ref.-Nr., Objekt-ID, Immobilien-Nr., Liegenschaftsnummer, Référence,
    Numéro de référence, No de référence, Réf. objet, Référence objet, Numéro d'objet, No objet,
    Riferimento, Numero di riferimento, N. riferimento, Rif., Codice immobile, Codice oggetto,
    Reference, Reference number, Reference no., Reference ID, Object number, Object ID, Property ID,
    Property reference, Listing ID, Objektnr_extern, Objektnummer extern, Immo-Nr, ImmoNr,
    Immobiliennummer
displayReferenceId: Anzeigenummer, Inseratenummer, Numéro d'annonce, Numero annuncio,
    Display reference
projectReferenceId: Projektnummer, Projekt-Nr., Numéro de projet, Numero progetto, Project number
houseReferenceId: Hausnummer intern, Gebäudenummer, Numéro d'immeuble, Numero edificio,
    Building number
title: Titel, Überschrift, Objekttitel, Bezeichnung, Titre, Titre de l'annonce, Désignation, Titolo,
    Titolo annuncio, Denominazione, Title, Headline
localizations.LANGUAGE.description: Beschreibung, Objektbeschreibung, Beschrieb, Description,
    Descriptif, Description de l'objet, Descrizione, Descrizione immobile, Property description
localizations.LANGUAGE.location: Lage, Lagebeschreibung, Situation, Description de la situation,
    Posizione, Ubicazione, Location description
localizations.LANGUAGE.equipment: Ausstattung, Ausbau, Équipement, Aménagement, Dotazione,
    Equipaggiamento, Equipment
localizations.LANGUAGE.excerpt: Kurzbeschreibung, Kurztext, Description courte, Résumé,
    Descrizione breve, Short description
address.street: Strasse, Straße, Str., Rue, Via, Street, Street name, Strasse und Hausnummer,
    Strasse Hausnummer, Strasse und Nummer, Strasse und Nr., Strasse Nr., Adresse, Rue et numéro,
    Rue et no, Rue et n°, Rue no, Via e numero, Via e numero civico, Indirizzo, Street and number,
    Street and house number, Street address, Address
address.streetNumber: Hausnummer, Haus-Nr., Hausnr., Strassennummer, Numéro de rue, No de rue,
    Numero civico, N. civico, House number, House no., Street number
address.streetAddition: Adresszusatz, Complément d'adresse, Complemento indirizzo,
    Address addition, Address line 2
address.postalCode: PLZ, Postleitzahl, NPA, Code postal, CAP, NAP, Codice postale,
    Codice di avviamento postale, Zip, ZIP code, Postal code, Postcode
address.locality: Ort, Ortschaft, Wohnort, Stadt, Lieu, Localité, Ville, Località, Città, Luogo,
    City, Town, Locality
address.region: Kanton, Region, Bundesland, Canton, Région, Cantone, Regione, State, Province
address.countryCode: Land, Ländercode, Pays, Code pays, Paese, Nazione, Codice paese, Country,
    Country code
address.geo.latitude: Breitengrad, Geografische Breite, Latitude, Latitudine, Lat
address.geo.longitude: Längengrad, Geografische Länge, Longitude, Longitudine, Lon, Lng, Long
swissReferences.egid: EGID
swissReferences.ewid: EWID
swissReferences.egrid: EGRID
prices.currency: Währung, Monnaie, Devise, Valuta, Moneta, Currency
prices.buy.price: Preis, Prix, Prezzo, Price, Kaufpreis, Verkaufspreis, Prix de vente,
    Prix d'achat, Prezzo di vendita, Prezzo d'acquisto, Purchase price, Sale price,
    Selling price, Buying price
prices.rent.gross: Bruttomiete, Miete brutto, Mietzins brutto, Bruttomietzins, Warmmiete,
    Gesamtmiete, Loyer brut, Loyer charges comprises, Loyer CC, Pigione lorda, Affitto lordo,
    Canone lordo, Gross rent, Rent gross, Rent including charges
prices.rent.net: Nettomiete, Miete netto, Mietzins netto, Nettomietzins, Kaltmiete, Loyer net,
    Loyer hors charges, Loyer HC, Pigione netta, Affitto netto, Canone netto, Net rent, Rent net,
    Rent excluding charges
prices.rent.extra: Nebenkosten, NK, Nebenkosten akonto, HK/NK, Charges, Frais accessoires,
    Acompte de charges, Spese accessorie, Spese, Acconto spese, Additional costs, Ancillary costs,
    Utilities, Service charges
heatingCosts: Heizkosten, Frais de chauffage, Spese di riscaldamento, Heating costs
prices.deposit.amount: Kaution, Mietkaution, Depot, Garantie de loyer, Caution, Dépôt de garantie,
    Cauzione, Deposito, Deposit
numberOfRooms: Zimmer, Anzahl Zimmer, Zimmerzahl, Räume, Zi., Pièces, Nombre de pièces,
    Nb de pièces, Nbre de pièces, Locali, Numero di locali, Vani, Rooms, Number of rooms,
    No. of rooms
numberOfBedrooms: Schlafzimmer, Anzahl Schlafzimmer, Chambres à coucher, Chambres,
    Nombre de chambres, Camere da letto, Camere, Numero di camere, Bedrooms, Number of bedrooms
numberOfBathrooms: Badezimmer, Bäder, Anzahl Badezimmer, Salles de bain, Salles de bains,
    Nombre de salles de bains, Bagni, Numero di bagni, Bathrooms, Number of bathrooms
numberOfToilets: Toiletten, WC, Anzahl WC, Toilettes, Nombre de WC, Gabinetti, Toilets
numberOfFloors: Anzahl Stockwerke, Geschosse, Anzahl Etagen, Nombre d'étages, Numero di piani,
    Floors, Number of floors
numberOfApartments: Anzahl Wohnungen, Nombre d'appartements, Numero di appartamenti,
    Number of apartments
floor: Etage, Stock, Stockwerk, Geschoss, Étage, Piano, Floor
areaBwf: Wohnfläche, Wohnfl., WF, Fläche, Surface, Superficie, Surface habitable,
    Surface d'habitation, Superficie abitabile, Superficie abitativa, Living area, Living space
areaNwf: Nettowohnfläche, Surface habitable nette, Superficie abitabile netta, Net living area
areaUsable: Nutzfläche, Nutzfl., Surface utile, Superficie utile, Usable area, Floor space
areaPropertyLand: Grundstückfläche, Grundstücksfläche, Landfläche, Parzellenfläche,
    Surface du terrain, Surface terrain, Surface de la parcelle, Superficie del terreno,
    Superficie terreno, Plot area, Land area, Plot size
areaBalcony: Balkonfläche, Surface du balcon, Superficie balcone, Balcony area
areaTerrace: Terrassenfläche, Surface de la terrasse, Superficie terrazza, Terrace area
areaGarden: Gartenfläche, Surface du jardin, Superficie giardino, Garden area
areaCellar: Kellerfläche, Surface de la cave, Superficie cantina, Cellar area
buildingVolume: Kubatur, Gebäudevolumen, Volumen, Volume, Cubage, Volume du bâtiment, Volumetria,
    Cubatura, Building volume
ceilingHeight: Raumhöhe, Deckenhöhe, Hauteur sous plafond, Altezza del soffitto, Ceiling height
yearBuilt: Baujahr, Jahr der Erstellung, Année de construction, Construit en, Anno di costruzione,
    Year built, Construction year, Year of construction
yearLastRenovated: Renovationsjahr, Letzte Renovation, Jahr der Renovation, Année de rénovation,
    Dernière rénovation, Anno di ristrutturazione, Anno di rinnovo, Year renovated,
    Year of renovation, Last renovated
availabilityStartAt: Verfügbar ab, Bezugstermin, Bezug ab, Frei ab, Disponible dès, Disponible le,
    Libre dès, Date de disponibilité, Disponibile dal, Libero dal, Data disponibilità,
    Available from, Availability date
parcelNumbers: Parzelle, Parzellennummer, Parzellen-Nr., Parcelle, Numéro de parcelle, Particella,
    Mappale, Numero particella, Parcel number
isFurnished: Möbliert, Meublé, Ammobiliato, Arredato, Furnished
seller.contactPerson.familyName: Nachname Kontakt, Kontaktperson, Ansprechpartner,
    Personne de contact, Persona di contatto, Contact person
seller.contactPerson.phone: Telefon Kontakt, Telefon, Téléphone, Telefono, Phone, Phone number
seller.contactPerson.email: E-Mail Kontakt, E-Mail, Mail, Courriel, Adresse e-mail,
    Posta elettronica, Email address
"""


def _names() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for line in _TABLE.replace("\n    ", " ").strip().splitlines():
        column, _, names = line.partition(": ")
        found[column] = tuple(name.strip() for name in names.split(","))
    return found


NAMES = _names()

"""What the objects of an OpenImmo file become, and what is refused or set aside."""

from pathlib import Path

import pytest

from properties.feeds import NotAFeed, Profile, Record, Refusal, Truncated, open_lines
from properties.feeds.openimmo import openimmo_names
from properties.feeds.recognition import full_feed_format, read_feed
from properties.feeds.records import FileWarning, Gone, Partial
from properties.feeds.table.csv_reader import MAX_ROW

EXAMPLE = Path(__file__).parents[3] / "examples" / "openimmo.xml"
REF = "objectReferenceId"


def one(inner="", techn="<objektnr_extern>A</objektnr_extern>"):
    return f"<immobilie>{inner}<verwaltung_techn>{techn}</verwaltung_techn></immobilie>"


def file_of(*objects, head='<uebertragung umfang="VOLL"/>', root="openimmo"):
    return f"<{root}>{head}<anbieter>{''.join(objects)}</anbieter></{root}>"


@pytest.fixture
def read(tmp_path):
    """Return the items of a file with this text."""

    def read_(text, **profile):
        path = tmp_path / "feed"
        path.write_text(text, "utf-8")
        return list(read_feed(path, Profile(**profile)))

    return read_


@pytest.fixture
def document(read):
    """Return what one object becomes, without what every object has."""

    def document_(inner, **profile):
        (record,) = read(file_of(one(inner)), **profile)
        assert isinstance(record, Record), record
        assert record.warnings == ()
        usual = {REF: "A", "availabilityState": "ACTIVE"}
        return {n: v for n, v in record.document.items() if usual.get(n) != v}

    return document_


def test_no_text_behind_a_tag_is_lost(document):
    text = "<objektbeschreibung>Ruhig &amp; hell.<br/>Mit Balkon.<br/> </objektbeschreibung>"
    found = document(f"<freitexte>{text}</freitexte>")
    assert [one["description"] for one in found["localizations"]] == ["Ruhig & hell.\nMit Balkon."]


@pytest.mark.parametrize("zone", ["", "Z", "+01:00", "-05:30"])
def test_a_date_may_have_a_zone_as_in_xml_schema(document, zone):
    found = document(f"<verwaltung_objekt><abdatum>2026-03-01{zone}</abdatum></verwaltung_objekt>")
    assert found["availabilityStartAt"] == "2026-03-01"


def test_our_example_is_read_whole():
    first, second = read_feed(EXAMPLE)
    assert full_feed_format(EXAMPLE) == "OPENIMMO"
    assert (first.reference, second.reference) == ("MH-6001", "MH-6002")
    assert (first.warnings, second.warnings) == ((), ())
    assert first.document["prices"] == {
        "rent": {"net": 1450, "gross": 1730, "extra": 280, "interval": "MONTH"},
        "currency": "EUR",
        "deposit": {"amount": 4350},
    }
    assert first.document["energyCertificate"]["energySources"] == ["DISTRICT_HEATING"]
    assert first.document["address"]["countryCode"] == "DE"
    assert second.document["commissions"] == [
        {"payer": "BUYER", "percentage": 3.57, "isVatIncluded": True}
    ]
    assert (second.document["offerType"], second.document["availabilityState"]) == (
        "BUY",
        "RESERVED",
    )
    # A word that says more than its category, and a picture of the ZIP, stay with the property.
    assert second.leftover["objektkategorie.objektart.haus.@haustyp"] == "REIHENECK"
    assert first.leftover["anhaenge.anhang"][0]["daten"] == {"pfad": "wohnzimmer.jpg"}


@pytest.mark.parametrize(
    ("root", "is_recognised"),
    [
        ("openimmo", True),
        ('openimmo xmlns="http://www.openimmo.de"', True),
        ('oi:openimmo xmlns:oi="http://www.openimmo.de"', True),
        ("export", False),
    ],
)
def test_a_file_is_recognised_by_its_root_with_and_without_a_namespace(
    tmp_path, root, is_recognised
):
    path = tmp_path / "any name"
    path.write_text(f'<?xml version="1.0"?><!-- <export> -->\n<{root}></{root.split()[0]}>')
    assert (full_feed_format(path) == "OPENIMMO") is is_recognised


@pytest.mark.parametrize(
    ("reference", "key", "shown"),
    [
        ("AUTO", "E-1", None),
        ("INTERN", "7", "E-1"),
        ("OBID", "OB7", "E-1"),
        ("TRIPLE", "E-1", None),
    ],
)
def test_the_sender_says_which_number_names_an_object(read, reference, key, shown):
    numbers = (
        "<objektnr_intern>7</objektnr_intern><objektnr_extern>E-1</objektnr_extern>"
        "<openimmo_obid>OB7</openimmo_obid>"
    )
    (record,) = read(file_of(one(techn=numbers)), reference=reference)
    assert (record.reference, record.document[REF]) == (key, key)
    assert record.document.get("displayReferenceId") == shown


def test_an_object_without_its_number_or_with_that_of_another_is_refused(read):
    items = read(file_of(one(techn="<objektnr_intern>7</objektnr_intern>"), one(), one()))
    refused = [(i.reference, i.reasons) for i in items if isinstance(i, Refusal)]
    assert refused == [
        (None, ["objektnr_extern is missing"]),
        ("A", ['objektnr_extern "A" is a duplicate: an earlier record has it']),
    ]


@pytest.mark.parametrize(
    ("action", "becomes"),
    [
        ('<aktion aktionart="CHANGE"/>', Record),
        ("<aktion/>", Record),
        ("", Record),
        ('<aktion aktionart="DELETE"/>', Gone),
        ('<aktion aktionart="delete"/>', Gone),
        ('<aktion aktionart="ARCHIV"/>', Gone),
        ('<aktion aktionart="REFERENZ"/>', Record),
    ],
)
def test_an_action_takes_an_object_away_or_brings_it(read, action, becomes):
    (item,) = read(file_of(one(techn=f"<objektnr_extern>A</objektnr_extern>{action}")))
    assert type(item) is becomes
    if becomes is Record:
        state = "REFERENCE" if "REFERENZ" in action else "ACTIVE"
        assert item.document["availabilityState"] == state


def test_the_action_of_the_transmission_counts_for_an_object_that_names_none(read):
    head = '<uebertragung umfang="TEIL" modus="DELETE"/>'
    named = '<objektnr_extern>B</objektnr_extern><aktion aktionart="CHANGE"/>'
    gone, record, last = read(file_of(one(), one(techn=named), head=head))
    assert (gone, record.reference, last) == (Gone("A"), "B", Partial())


def test_what_a_file_both_takes_away_and_brings_is_refused_the_second_time(read):
    away = '<objektnr_extern>A</objektnr_extern><aktion aktionart="DELETE"/>'
    gone, refused = read(file_of(one(techn=away), one()))
    assert (gone, type(refused), refused.reference) == (Gone("A"), Refusal, "A")


@pytest.mark.parametrize("head", ["", '<uebertragung umfang="?"/>'])
def test_a_file_that_does_not_say_whether_it_is_full_is_a_part(read, head):
    _, part, warning = read(file_of(one(), head=head))
    assert (part, type(warning)) == (Partial(), FileWarning)


@pytest.mark.parametrize(
    ("inner", "found"),
    [
        (
            '<preise><kaufpreis auf_anfrage="true"/></preise>',
            {},
        ),
        (
            "<preise><kaufpreis>1250000,50</kaufpreis></preise>",
            {"prices": {"buy": {"price": 1250000.5}}},
        ),
        (
            "<preise><mietpreis_pro_qm>14,5</mietpreis_pro_qm></preise>",
            {"prices": {"rent": {"net": 14.5, "referring": "M2"}}},
        ),
        ("<flaechen><wohnflaeche>0</wohnflaeche></flaechen>", {}),
        ("<geo><etage>0</etage></geo>", {"floor": 0}),
        (
            '<ausstattung><befeuerung OEL="false" GAS="true" SOLAR="true"/></ausstattung>',
            {"heatingType": "GAS"},
        ),
        (
            '<zustand_angaben><zustand zustand_art="ROHBAU"/></zustand_angaben>',
            {"characteristics": {"isShellConstruction": "APPLIES"}},
        ),
        (
            "<verwaltung_objekt><nichtraucher>true</nichtraucher></verwaltung_objekt>",
            {"characteristics": {"isSmokingAllowed": "DOES_NOT_APPLY"}},
        ),
        (
            "<verwaltung_objekt><verfuegbar_ab>01.09.2026</verfuegbar_ab></verwaltung_objekt>",
            {"availabilityStartAt": "2026-09-01"},
        ),
        ("<verwaltung_objekt><verfuegbar_ab>sofort</verfuegbar_ab></verwaltung_objekt>", {}),
        (
            '<objektkategorie><vermarktungsart KAUF="1" MIETE_PACHT="1"/></objektkategorie>'
            "<preise><kaltmiete>900</kaltmiete></preise>",
            {"offerType": "RENT", "prices": {"rent": {"net": 900}}},
        ),
        (
            "<objektkategorie><objektart><parken/></objektart></objektkategorie>",
            {"propertyType": "PARKING"},
        ),
        (
            '<objektkategorie><objektart><haus haustyp="VILLA"/><haus haustyp="CHALET"/>'
            "</objektart></objektkategorie>",
            {"propertyType": "HOUSE", "propertyCategories": ["VILLA", "CHALET"]},
        ),
        (
            "<freitexte><objekttitel>Loft</objekttitel><sonstige_angaben>x</sonstige_angaben>"
            "</freitexte>",
            {"title": "Loft", "localizations": [{"languageCode": "fr", "title": "Loft"}]},
        ),
    ],
)
def test_values_are_read(document, inner, found):
    assert document(inner, language="fr") == found


def test_a_no_is_ignored_if_the_sender_writes_it_by_default(document):
    inner = "<ausstattung><kamin>false</kamin><sauna>true</sauna></ausstattung>"
    both = {"hasFireplace": "DOES_NOT_APPLY", "hasSauna": "APPLIES"}
    assert document(inner) == {"characteristics": both}
    assert document(inner, flags={"N": ""}) == {"characteristics": {"hasSauna": "APPLIES"}}


BAD = (
    "<flaechen><anzahl_zimmer>viele</anzahl_zimmer></flaechen><zustand_angaben><energiepass>"
    "<gueltig_bis>03-2015</gueltig_bis></energiepass></zustand_angaben>"
)


def test_a_bad_value_is_set_aside_under_its_name_in_the_file_or_refuses_its_object(read):
    (record,) = read(file_of(one(BAD)))
    assert record.leftover == {
        "flaechen.anzahl_zimmer": "viele",
        "zustand_angaben.energiepass.gueltig_bis": "03-2015",
    }
    (refused,) = read(file_of(one(BAD)), lenient=False)
    assert set(refused.reasons) == set(record.warnings)
    assert all(reason.startswith(tuple(record.leftover)) for reason in refused.reasons)


def test_a_picture_within_the_file_is_not_kept_however_large_it_is(read):
    inner = (
        '<anhaenge><anhang location="INTERN"><daten><anhanginhalt>'
        f"{'QUJD' * 2_000_000}</anhanginhalt></daten></anhang></anhaenge>"
    )
    (record,) = read(file_of(one(inner)))
    assert record.document == {REF: "A", "availabilityState": "ACTIVE"}


def test_addresses_of_other_attachments_stay_as_links(read):
    picture = (
        '<anhaenge><anhang location="REMOTE" gruppe="BILD"><anhangtitel>Bad</anhangtitel>'
        "<daten><pfad>https://muster.example/bad.jpg</pfad></daten></anhang></anhaenge>"
    )
    (record,) = read(file_of(one(picture)))
    link = {"url": "https://muster.example/bad.jpg", "title": "Bad", "gruppe": "BILD"}
    assert record.leftover == {"anhaenge.anhang": [link]}


@pytest.mark.parametrize("path", [REF, "id", "prices", "nonsense", "address.street"])
def test_a_field_of_our_own_sets_a_whole_field_only(read, path):
    own = f'<user_defined_simplefield feldname="crm-sync.{path}">"B"</user_defined_simplefield>'
    (record,) = read(file_of(one(own)))
    assert record.document == {REF: "A", "availabilityState": "ACTIVE"}
    assert list(record.leftover) == [
        "user_defined_simplefield.@feldname",
        "user_defined_simplefield.text",
    ]


@pytest.mark.parametrize(
    ("text", "error", "why"),
    [
        ("<openimmo/>", NotAFeed, "feed: OpenImmo, but it has no <anbieter>"),
        (
            f"<openimmo><anbieter>{one()}<immobilie>",
            Truncated,
            "feed: broken XML after 1 records: it ends too early at line 1, column 128",
        ),
        (
            '<!DOCTYPE openimmo [<!ENTITY a "b">]><openimmo><anbieter/></openimmo>',
            NotAFeed,
            "feed: broken XML after 0 records: it declares entities or points outside, which no"
            " feed needs",
        ),
        (
            file_of(one("<a>" * 60 + "</a>" * 60)),
            NotAFeed,
            "feed: line 1: is nested deeper than 40 levels",
        ),
    ],
)
def test_a_file_that_is_no_feed_is_refused(read, text, error, why):
    with pytest.raises(NotAFeed) as caught:
        read(text)
    assert (type(caught.value), str(caught.value)) == (error, why)


def test_a_record_that_is_too_large_refuses_the_file(read):
    with pytest.raises(NotAFeed, match="line 1: is larger than"):
        read(file_of(one("<x>" + "<y>1</y>" * 200_000 + "</x>")))


def test_a_text_that_is_too_long_refuses_its_object(read):
    refused, record = read(
        file_of(
            one(f"<freitexte><lage>{'x' * MAX_ROW}</lage></freitexte>"),
            one(techn="<objektnr_extern>B</objektnr_extern>"),
        )
    )
    assert (type(refused), refused.reference, record.reference) == (Refusal, "A", "B")


def test_all_items_of_a_file_pass_from_the_process_that_reads_it(tmp_path):
    path = tmp_path / "feed"
    away = '<objektnr_extern>B</objektnr_extern><aktion aktionart="DELETE"/>'
    path.write_text(file_of(one(), one(techn=away), head='<uebertragung umfang="TEIL"/>'))
    assert [line.item() for line in open_lines(path)] == list(read_feed(path))


def test_each_category_of_the_tables_is_read_back_as_itself():
    for category, (kind, word) in openimmo_names.KIND_OF.items():
        assert openimmo_names.KINDS[kind].categories[word] == category


def test_a_file_is_read_object_by_object(tmp_path):
    path = tmp_path / "feed"
    numbers = (f"<objektnr_extern>{n}</objektnr_extern>" for n in range(2_000))
    path.write_text(file_of(*(one(techn=number) for number in numbers)).removesuffix("</openimmo>"))
    items = read_feed(path)
    assert next(items).reference == "0"  # before the end of the file, which is missing
    with pytest.raises(Truncated):
        list(items)

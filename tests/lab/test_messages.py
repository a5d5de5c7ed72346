"""The catalogues of the languages: what is extracted, how Swiss German is made, what is refused."""

import gettext as standard
from collections import Counter

import pytest
from babel.messages import Catalog
from django.conf import settings
from django.utils.translation import override, pgettext

from crm_sync import translated
from lab.messages import (
    LANGUAGES,
    catalogue_of,
    faults,
    missing,
    swiss,
    template,
    unseen,
    updated,
    written,
)
from properties.catalog import FIELDS, choice_name, group_name, label
from properties.catalog.field_names import FIELD, GROUP, VALUE


@pytest.fixture(scope="module")
def texts() -> Catalog:
    return template()


@pytest.mark.parametrize(
    ("text", "context"),
    [
        ("number of rooms", "field"),
        ("Attic flat", "value of a field"),
        ("Heating and energy", "group of fields"),
        ("Clear selection", None),  # of a template
    ],
)
def test_each_text_is_extracted_with_its_context(texts, text, context):
    assert texts.get(text, context) is not None


def test_each_language_that_is_offered_has_a_catalogue():
    offered = {code.partition("-")[0] for code, _ in settings.LANGUAGES}
    assert offered == set(translated.LANGUAGES) <= {"en", *LANGUAGES}


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_compiled_file_says_what_the_catalogue_says(texts, language):
    catalogue = updated(language, texts)
    assert faults(catalogue) == []
    with catalogue_of(language).with_suffix(".mo").open("rb") as file:
        compiled = standard.GNUTranslations(file)
    for one in catalogue:
        if one.id and one.string and not one.pluralizable:
            read = (
                compiled.pgettext(one.context, one.id) if one.context else compiled.gettext(one.id)
            )
            assert read == one.string


def a_catalogue(text: str, translation: str) -> Catalog:
    made = Catalog(locale="de")
    made.add(text, translation)
    return made


def test_a_placeholder_that_the_translation_lacks_is_named():
    assert faults(a_catalogue("%(count)s orders", "Aufträge")) != []
    assert faults(a_catalogue("%(count)s orders", "%(count)s Aufträge")) == []


def test_a_text_without_a_translation_is_missing_and_no_fault():
    catalogue = a_catalogue("Orders", "")
    assert (missing(catalogue), faults(catalogue)) == (["Orders"], [])


def test_swiss_german_has_no_sharp_s():
    made = swiss(a_catalogue("Street", "Straße"))
    assert made["Street"].string == "Strasse"
    assert str(made.locale) == "de_CH"


def test_names_of_the_catalog_are_english_unless_the_reader_has_another_language():
    assert (label("numberOfRooms"), choice_name("ATTIC_FLAT")) == ("Number of rooms", "Attic flat")
    assert group_name("Prices") == "Prices"
    with override("de"):
        assert (label("title"), choice_name("APARTMENT")) == ("Titel", "Wohnung")
        assert group_name("Prices") == "Preise"


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_field_value_and_group_has_a_name_in_each_language(texts, language):
    nameless = [
        (one.context, one.id)
        for one in updated(language, texts)
        if one.context in {FIELD, VALUE, GROUP} and not one.string
    ]
    assert nameless == []


@pytest.mark.parametrize(
    ("path", "german", "french", "italian"),
    [
        ("prices.rent.net", "Miete · Nettomiete", "Loyer · loyer net", "Pigione · pigione netta"),
        ("numberOfRooms", "Anzahl Zimmer", "Nombre de pièces", "Numero di locali"),
        ("characteristics.hasElevator", "Lift", "Ascenseur", "Ascensore"),
        ("localizations[0].title", "Texte 1 · Titel", "Textes 1 · titre", "Testi 1 · titolo"),
        ("isFurnished", "Möbliert", "Meublé", "Ammobiliato"),
        ("swissReferences.egid", "EGID", "EGID", "EGID"),
    ],
)
def test_fields_are_named_as_the_swiss_market_names_them(path, german, french, italian):
    for language, name in (("de", german), ("fr", french), ("it", italian)):
        with override(language):
            assert label(path) == name


@pytest.mark.parametrize(
    ("value", "german", "french", "italian"),
    [
        ("ATTIC_FLAT", "Attikawohnung", "Appartement en attique", "Attico"),
        ("ATTIC_COMPARTMENT", "Estrichabteil", "Compartiment de galetas", "Scomparto solaio"),
        ("PARKING_HOUSE", "Parkhaus", "Parking à étages", "Autosilo"),
        ("HEATPUMP", "Wärmepumpe", "Pompe à chaleur", "Termopompa"),
        ("MINERGIE_P", "Minergie-P", "Minergie-P", "Minergie-P"),
    ],
)
def test_values_are_named_as_the_swiss_market_names_them(value, german, french, italian):
    for language, name in (("de", german), ("fr", french), ("it", italian)):
        with override(language):
            assert choice_name(value) == name


def test_swiss_german_names_are_written_with_double_s():
    for language, street in (("de", "Adresse · Straße"), ("de-ch", "Adresse · Strasse")):
        with override(language):
            assert label("address.street") == street


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_two_fields_of_an_object_and_no_two_values_of_a_field_have_one_name(language):
    with override(language):
        fields = Counter((row.parent, label(row.path)) for row in FIELDS.values())
        values = Counter(
            (row.path, choice_name(value)) for row in FIELDS.values() for value in row.enum
        )
    assert [name for name, count in (fields + values).items() if count > 1] == []


def test_the_comment_of_a_translator_stays_beside_its_text(tmp_path, monkeypatch):
    monkeypatch.setattr("lab.messages.LOCALE", tmp_path)
    path = catalogue_of("de")
    path.parent.mkdir(parents=True)
    stored = Catalog(locale="de")
    stored.add("tumble dryer", "Tumbler", context=FIELD, user_comments=["As the portals say."])
    path.write_bytes(written(stored)[".po"])
    again = written(updated("de", template()))[".po"].decode()
    assert '# As the portals say.\nmsgctxt "field"' in again


def test_a_text_in_an_f_string_which_would_never_be_extracted_is_named(tmp_path):
    assert unseen() == []
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "page.py").write_text("a = 1\nb = f\"{gettext('Save')}: {a}\"\n")
    expected = "config/page.py:2: gettext('Save') stands in an f-string"
    assert unseen(tmp_path) == [expected]


@pytest.mark.parametrize(
    ("context", "text", "words"),
    [
        ("assignment", "Created", ("Erstellt", "Créée", "Creato")),
        ("moment", "Created", ("Erstellt am", "Créé le", "Creato il")),
        ("change", "Created", ("Neu angelegt", "Création", "Creazione")),
        ("order", "Placed", ("Erteilt", "Passée", "Inviato")),
        ("moment", "Placed", ("Erteilt am", "Passée le", "Inviato il")),
        ("assignment", "Delivered", ("Geliefert", "Livrée", "Consegnato")),
        ("message", "Delivered", ("Zugestellt", "Remis", "Recapitato")),
        ("materials", "Delivered", ("Geliefert", "Livrés", "Consegnati")),
        ("gap", "Seen", ("Gesehen", "Vue", "Vista")),
        ("check", "Seen", ("Befund", "Constaté", "Riscontro")),
        ("button", "Pause", ("Anhalten", "Suspendre", "Sospendi")),
    ],
)
def test_a_word_with_several_meanings_has_a_translation_for_each(context, text, words):
    for language, word in zip(LANGUAGES, words, strict=True):
        with override(language):
            assert pgettext(context, text) == word

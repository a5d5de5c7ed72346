"""The catalogues of the languages: what is extracted, how Swiss German is made, what is refused."""

import gettext as standard

import pytest
from babel.messages import Catalog
from django.utils.translation import override

from lab.messages import LANGUAGES, catalogue_of, faults, missing, swiss, template, updated
from properties.catalog import choice_name, group_name, label


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

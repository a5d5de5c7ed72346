"""The guide of agents names in each language the words that the pages show in it.

They stand in italics, in bold, or in the first cell of a row. Bold that ends with a full stop
begins a paragraph, and is the guide's own.
"""

import re
from pathlib import Path

import pytest
from babel.messages.catalog import PYTHON_FORMAT
from babel.messages.pofile import read_po

from lab.messages import catalogue_of

DOCS = Path(__file__).parents[1] / "docs"
GUIDES = {"en": "using.md", "de": "using.de.md", "fr": "using.fr.md"}
TRANSLATED = ("de", "fr")
MARKED = re.compile(r"\*\*([^*]+)\*\*|\*([^*]+)\*")
ROW = re.compile(r"^\| ([^|]+) \|.*\n(?!\|---)", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#]*)")


def guide(language: str) -> str:
    return (DOCS / GUIDES[language]).read_text("utf-8")


def words(language: str) -> set[str]:
    """Return the words of the pages that a guide names."""
    marked = ["".join(found) for found in MARKED.findall(guide(language))]
    named = [one for one in marked if not one.endswith(".")]
    return {plain(one) for one in named + ROW.findall(guide(language))}


def plain(text: str) -> str:
    """Return a text with `…` for each value, and with a capital, as a menu shows a name."""
    text = re.sub(r'<span class="cs-unseen">.*?</span>', "", text)
    text = PYTHON_FORMAT.sub("…", re.sub(r"\b\d+\b", "…", text))
    text = re.sub(r"[ \n]+", " ", text)
    return text[:1].upper() + text[1:]


def pairs(language: str) -> set[tuple[str, str]]:
    """Return each text of the pages with its translation, and so for both forms of a plural."""
    with catalogue_of(language).open("rb") as file:
        catalogue = read_po(file)
    return {
        (plain(text), plain(translated))
        for message in catalogue
        for text in _forms(message.id)
        for translated in _forms(message.string)
    }


def _forms(text: str | tuple[str, ...]) -> tuple[str, ...]:
    return text if isinstance(text, tuple) else (text,)


def outline(language: str) -> tuple[list[str], int, list[str]]:
    """Return the levels of the headings, how many rows the tables have, and where links lead."""
    text = guide(language)
    links = [re.sub(r"^images/\w\w/", "images/", one) for one in LINK.findall(text)]
    levels = re.findall(r"^#+(?= )", text, re.MULTILINE)
    return levels, len(ROW.findall(text)), sorted(set(links) - {*GUIDES.values()})


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_guide_names_the_words_that_the_pages_show_in_its_language(language):
    said, here = words("en"), words(language)
    both = {pair for pair in pairs(language) if pair[0] in said and pair[1] in here}
    assert said - {text for text, _ in both} == set()
    assert here - {translated for _, translated in both} == set()
    assert len(said) > 100


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_guide_has_the_headings_the_tables_and_the_links_of_the_english_one(language):
    # That each link leads to a file and a heading is in tests/test_citations.py.
    assert outline(language) == outline("en")


@pytest.mark.parametrize("language", GUIDES)
def test_a_guide_begins_with_links_to_the_others_and_shows_pictures_of_its_language(language):
    first = guide(language).split("\n\n")[1]
    assert LINK.findall(first) == [name for code, name in GUIDES.items() if code != language]
    folders = re.findall(r"^!\[.+\]\((.+)/\w+\.png\)$", guide(language), re.MULTILINE)
    assert folders == ["images" if language == "en" else f"images/{language}"] * 4

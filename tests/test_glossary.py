"""One word for one thing: at most forty terms, no retired word, and the same words in `locale/`."""

import re
import subprocess
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

from lab.messages import LANGUAGES, catalogue_of
from properties.catalog.field_names import FIELD

ROOT = Path(__file__).resolve().parent.parent
_TABLES = [
    [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()[2:]]
    for table in re.findall(r"(?:^\|.*\|\n)+", (ROOT / "docs" / "glossary.md").read_text(), re.M)
]
ROWS, OTHERS = _TABLES
RETIRED = {word.strip() for *_, words in ROWS for word in words.split(",") if word.strip()}
WORDS = {row[0].partition(" (")[0]: dict(zip(LANGUAGES, row[1:4], strict=True)) for row in ROWS}
WORDS |= {row[0].partition(" (")[0]: dict(zip(LANGUAGES, row[1:4], strict=True)) for row in OTHERS}
FORMS = {"hold": "held", "property": "properties"}
# The term means something else where it stands alone: where an event comes from.
HOMONYMS = {"source"}
SHIPPED = ("config", "crm_sync", "examples", "orders", "properties", "sandbox", "docs", "README.md")
# What tells of earlier times may use their words, and the benchmark "drain" has its name by them.
TELLS_OF_THE_PAST = ("/migrations/", "docs/decisions/", "docs/glossary.md", "docs/benchmarks.md")


def shipped() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", *SHIPPED], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\n")
    kept = [name for name in listed if name.endswith((".py", ".md", ".html", ".yaml"))]
    return [ROOT / name for name in kept if not any(part in name for part in TELLS_OF_THE_PAST)]


def test_there_are_at_most_forty_terms_each_once_with_what_it_is():
    terms = [row[0] for row in ROWS]
    assert 0 < len(terms) == len(set(terms)) <= 40
    assert all(len(row) == 6 and row[4] for row in ROWS)


def test_no_retired_word_is_used():
    assert {"drain", "lane"} <= RETIRED
    forms = "|".join(rf"{word}(?:s|ed|ing)?" for word in sorted(RETIRED))
    pattern = re.compile(rf"(?<![a-zA-Z])(?:{forms})(?![a-zA-Z])", re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in shipped()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if pattern.search(line)
    ]
    assert found == []


def texts(language: str) -> list[tuple[str | None, str, str]]:
    """Return the context, the English and the translation of each text, with all their forms."""
    with catalogue_of(language).open("rb") as file:
        catalogue = read_po(file, locale=language)
    return [(one.context, _joined(one.id), _joined(one.string)) for one in catalogue if one.id]


def _joined(text: str | tuple[str, ...]) -> str:
    return text if isinstance(text, str) else "\n".join(text)


def test_a_term_has_a_word_in_each_language_or_in_none():
    counts = {term: sum(word != "—" for word in words.values()) for term, words in WORDS.items()}
    assert len(WORDS) == len(ROWS) + len(OTHERS)
    assert {term: count for term, count in counts.items() if count not in {0, 3}} == {}


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_word_of_a_language_is_used_in_its_catalogue(language):
    every = texts(language)
    unused = []
    for term, words in WORDS.items():
        english = re.compile(rf"\b(?:{term}|{FORMS.get(term, term)})", re.IGNORECASE)
        word = re.compile(rf"\b{re.escape(words[language])}", re.IGNORECASE)
        if words[language] != "—" and not any(
            english.search(text) and word.search(said) for _, text, said in every
        ):
            unused.append((term, words[language]))
    assert unused == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_term_that_stands_alone_is_translated_by_its_word(language):
    wrong = [
        (text, said)
        for context, text, said in texts(language)
        if context in {None, FIELD}
        and text.lower() in WORDS.keys() - HOMONYMS
        and said.lower() != WORDS[text.lower()][language].lower()
    ]
    assert wrong == []

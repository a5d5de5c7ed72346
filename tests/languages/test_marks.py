"""Marks between words are those of the language too: colons, quotation marks, capitals."""

import re
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

from crm_sync.text import capitalized
from lab.messages import PACKAGES, ROOT, catalogue_of

TRANSLATED = re.compile(r"{% blocktranslate.*?{% endblocktranslate %}", re.DOTALL)
# The quotation marks of English and of Germany, in texts whose language has « ».
FOREIGN = re.compile("[“”„]")


def templates() -> list[Path]:
    return sorted(path for name in PACKAGES for path in (ROOT / name).rglob("*.html"))


@pytest.mark.parametrize("path", templates(), ids=lambda path: path.name)
def test_a_colon_after_a_name_is_translated_since_french_sets_it_apart(path):
    plain = TRANSLATED.sub("", path.read_text())
    assert re.findall(r"}}(?:</\w+>)?:(?=[ <]).{0,20}", plain) == []


@pytest.mark.parametrize("language", ["de", "fr", "it"])
def test_a_catalogue_has_one_kind_of_quotation_marks(language):
    with catalogue_of(language).open("rb") as file:
        found = [
            text
            for one in read_po(file)
            if one.id
            for text in ([one.string] if isinstance(one.string, str) else one.string)
            if FOREIGN.search(text)
        ]
    assert found == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("cannot connect", "Cannot connect"),
        ("feeds.example answers 404", "feeds.example answers 404"),
        ("stock.csv: breaks off in line 2", "stock.csv: breaks off in line 2"),
        ("it is damaged. Send it again", "It is damaged. Send it again"),
    ],
)
def test_a_sentence_begins_with_a_capital_unless_a_host_or_a_file_does(text, shown):
    assert capitalized(text) == shown

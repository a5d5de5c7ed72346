"""How a text becomes words, and which queries find a property."""

import unicodedata

import pytest
from hypothesis import given, settings, strategies as st

from properties.search_text import LIMIT, LONGEST, alternatives, folded, search_text

laws = settings(max_examples=300, deadline=None, database=None)
texts = st.text(max_size=40) | st.text(
    "aeouÄöüßÉ\u0308\u0301 -_,.12ŒæøI\u0131İ'\u00a0", max_size=40
)
words = st.text("aeouäöüßéz", min_size=1, max_size=8)
HOUSE = {
    "objectReferenceId": "ZH-2010",
    "displayReferenceId": "B 77/3",
    "title": "Helle Wohnung, Südbalkon",
    "address": {
        "street": "Seestrasse",
        "streetNumber": "12a",
        "postalCode": "8001",
        "locality": "Zürich",
    },
    "owner": {"companyName": "Groß & Söhne AG", "givenName": "Zoë", "familyName": "d\u2019Arçon"},
    "seller": {
        "organization": {"legalName": "Musterhaus AG", "phone": "044 123 45 67"},
        "contactPerson": {"familyName": "Müller", "mobile": "+41 (0)79 765 43 21"},
    },
}


def is_found(query: str, document: dict, *names: str) -> bool:
    """Return what both databases answer: each word begins a word of the property."""
    stored = search_text(document, *names).split()
    return any(
        all(any(one.startswith(word) for one in stored) for word in wanted)
        for wanted in alternatives(query)
    )


@laws
@given(texts)
def test_folded_twice_is_folded_once(text):
    assert folded(folded(text)) == folded(text)


@laws
@given(texts)
def test_neither_case_nor_composition_counts(text):
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert folded(unicodedata.normalize(form, text)) == folded(text)
    assert folded(text.casefold()) == folded(text)


@laws
@given(texts)
def test_a_word_has_only_letters_and_digits(text):
    assert all(one.isalnum() for one in folded(text).replace(" ", ""))


@laws
@given(st.lists(words, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_words_does_not_matter(some, random):
    document = {"title": " ".join(some)}
    mixed = random.sample(some, len(some))
    assert alternatives(" ".join(some))[0] == alternatives(" ".join(mixed))[0]
    assert is_found(" ".join(mixed), document)


@laws
@given(words, words, st.integers(min_value=1, max_value=8))
def test_each_beginning_of_a_word_finds_it(first, second, length):
    assert is_found(f"{second[:length]} {first[:length]}", {"title": f"{first} {second}"})


@laws
@given(st.text(max_size=400), st.text(max_size=400), st.text(max_size=400))
def test_the_words_of_a_property_are_bounded_and_folded(title, street, name):
    document = {"title": title, "address": {"street": street}, "owner": {"familyName": name}}
    text = search_text(document, title)
    assert len(text) <= LIMIT
    found = text.split(" ") if text else []
    assert len(set(found)) == len(found)
    assert all(0 < len(one) <= LONGEST for one in found)


@pytest.mark.parametrize(
    "query",
    [
        *("Zurich Seestrasse 8001", "8001 zürich", "ZUERICH 12", "12a seestr", "Zu\u0308rich"),
        *("ZH-2010", "zh 2010", "zh2010", "2010", "b77/3", "B 77", "südbalkon hell"),
        *("gross sohne", "Groß Soehne", "zoe", "d'arcon", "mueller musterhaus"),
        *("044 123 45 67", "0441234567", "+41 44 123 45 67", "0041441234567", "123 45 67"),
        *("079 765 43 21", "+41 79 765", "Müller 079 765 43 21", "079/7654321 mueller"),
        *("9f1c22d0-77aa", "9F1C22D0"),
    ],
)
def test_a_property_is_found_by(query):
    assert is_found(query, HOUSE, "ZH-2010", "9f1c22d0-77aa-4c1e-8f00-0123456789ab")


@pytest.mark.parametrize(
    "query",
    [
        *("Bern", "Seestrasse 13", "strasse", "ürich", "8002 Zürich", "Q-2010", "77aa"),
        *("044 123 45 68", "44123456789", "43 21", "Meier 044 123 45 67", "--", "'", "", "%", "_"),
    ],
)
def test_a_property_is_not_found_by(query):
    assert not is_found(query, HOUSE, "ZH-2010", "9f1c22d0-77aa-4c1e-8f00-0123456789ab")


def test_a_document_of_any_shape_has_words():
    odd = {"address": "Seestrasse", "owner": [1], "seller": {"organization": None}, "title": 7}
    assert search_text(odd, None, "") == "7"

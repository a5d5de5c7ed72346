"""Names are found in all texts, and nothing else is changed (S23)."""

import json
import unicodedata
from urllib.parse import quote, quote_plus

from hypothesis import given, strategies as st

from crm_sync.naming import FORGOTTEN, NameSearch, fault, folded, text_of

NAMES = ["Müller Jörg", "Anna Weiß", "Łukasz Żak", "İnci Öz", "Иван Петров", "joerg@example.com"]
FORMS = [str, str.upper, str.lower, str.title]
COMPOSED = ["NFC", "NFD"]
BESIDE = st.text(st.sampled_from(" .,:;()<>\n\"'\\é\u0308aÄ9"), max_size=12)


def looked_for(*words: str) -> NameSearch:
    return NameSearch(frozenset(map(folded, words)))


@given(st.text())
def test_a_text_without_the_name_stays_as_it_is(text):
    names = looked_for(*NAMES)
    if not any(word in folded(text) for word in names.words):
        assert names.blanked(text) == (text, [])


@given(st.sampled_from(NAMES), st.sampled_from(FORMS), st.sampled_from(COMPOSED), BESIDE, BESIDE)
def test_a_name_between_signs_is_blanked_and_what_is_beside_it_stays(
    name, form, composed, before, after
):
    written = unicodedata.normalize(composed, form(name))
    text = f"{before}({written}){after}"
    assert looked_for(name).blanked(text) == (f"{before}({FORGOTTEN}){after}", [])


@given(st.sampled_from(NAMES), st.sampled_from(COMPOSED), st.booleans())
def test_a_name_is_found_in_json_however_it_is_written(name, composed, is_ascii):
    written = unicodedata.normalize(composed, name)
    text = json.dumps({"note": f"with {written}."}, ensure_ascii=is_ascii)
    blanked, left = looked_for(name).blanked(text)
    assert (json.loads(blanked), left) == ({"note": f"with {FORGOTTEN}."}, [])


@given(st.sampled_from([*NAMES, 'Jo "Mü" Meier', "+41 44 555 01 01"]), st.sampled_from(COMPOSED))
def test_a_name_is_found_as_a_link_and_json_in_json_have_it(name, composed):
    written = unicodedata.normalize(composed, name)
    inner = json.dumps({"note": f"asked\n{written}\tagain"})
    for text in (
        json.dumps({"in": inner}),
        f"https://a.example/of/{quote(written, safe='')}",
        f"https://a.example/?of={quote_plus(written)}&to=1",
    ):
        blanked, left = looked_for(name).blanked(text)
        assert (blanked.count(FORGOTTEN), left) == (1, [])
        assert not looked_for(name).shown(blanked)
    blanked, _ = looked_for(name).blanked(json.dumps({"in": inner}))
    assert json.loads(json.loads(blanked)["in"]) == {"note": f"asked\n{FORGOTTEN}\tagain"}


def test_a_plus_before_an_address_belongs_to_it_and_between_names_of_a_form_is_a_space():
    assert looked_for("anna@a.example").blanked("x+anna@a.example") == ("x+anna@a.example", [])
    text = "?of=Eva+Anna+Weiss"
    assert looked_for("Anna Weiß").blanked(text) == (text, [text])


def test_bytes_that_are_no_utf_8_are_read_too():
    for encoding in ("utf-8", "latin-1", "utf-16"):
        assert "Müller Jörg" in text_of('{"note": "Müller Jörg"}'.encode(encoding))


@given(st.text(), st.sampled_from(NAMES))
def test_each_name_that_is_in_a_text_is_blanked_or_told(text, name):
    whole = f"{text} {name} {text}"
    blanked, left = looked_for(name).blanked(whole)
    assert FORGOTTEN in blanked or left


def test_each_part_that_the_database_is_asked_for_is_in_each_form():
    for name in NAMES:
        pieces = set(looked_for(name).pieces())
        (piece,) = {one.replace("%40", "@") for one in pieces}  # as a text and as a link have it
        for composed in COMPOSED:
            for form in FORMS:
                written = unicodedata.normalize(composed, form(name))
                for text in (written, json.dumps(written)):
                    assert piece in text.lower()
                    link = text.lower().replace("@", "%40")
                    assert any(one in link for one in pieces)


def test_only_what_tells_who_is_meant_is_looked_for():
    assert [fault(folded(name)) for name in NAMES] == [""] * len(NAMES)
    assert fault("+41 44 555 01 01") == ""
    assert "give an e-mail, a phone or a whole name" in fault("anna")

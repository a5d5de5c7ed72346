"""A sentence that is stored in English and read in each language."""

import copy
import json
import pickle
from datetime import UTC, date, datetime

import pytest
from django.template import Context, Template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext_lazy, override
from hypothesis import given, strategies as st

from crm_sync.models import Subscription
from crm_sync.platform.errors import ErrorKind, Problem, problem_of
from crm_sync.sentence import (
    Sentence,
    counted_sentence,
    lazy_sentence,
    name_in_context,
    sentence,
)
from crm_sync.text import quoted
from tests.crm_sync.admin_pages import make_workspace

WORDS = st.text(max_size=30) | st.sampled_from(["{", '{"say": 1}', '{"text": "a"}', "100 %", "<b>"])
VALUES = st.recursive(
    WORDS | st.integers(-(10**12), 10**12) | st.dates() | st.datetimes(timezones=st.just(UTC)),
    lambda inner: (
        st.lists(inner, max_size=3) | inner.map(lambda one: sentence("Order %(one)s", one=one))
    ),
    max_leaves=6,
)
SENTENCES = WORDS.map(Sentence) | VALUES.map(lambda one: sentence("%(one)s ago", one=one))


def whole(text: Sentence) -> tuple:
    return (format(text), text.message, text.stored)


@given(SENTENCES, st.sampled_from([Sentence, Problem]))
def test_a_sentence_reads_back_from_a_text_and_from_json_as_it_was(text, read_as):
    for again in (
        read_as.loaded(text.dumped),
        read_as.of(json.loads(json.dumps(text.stored))),
        pickle.loads(pickle.dumps(text)),
        copy.deepcopy(text),
        str(text),
        str(ValueError(text)),
        Sentence(text),
        problem_of(ValueError(text)) if text else text,
    ):
        assert whole(again) == whole(text)


@given(st.text(max_size=40))
def test_a_text_that_an_older_version_stored_is_plain_words(text):
    assert Sentence.loaded(text) == Sentence(text)


def test_a_text_that_only_looks_like_a_stored_form_is_plain_words():
    for odd in ('{"message": "odd"}', '{"say": "a"}', "{", "{}"):
        assert (Sentence.loaded(odd), Sentence.loaded(odd).message) == (odd, "")


def test_as_a_text_it_is_english_and_as_html_in_the_language_of_the_reader():
    ago = sentence("%(span)s ago", span=sentence("%(count)s min", count=1250))
    with override("de"):
        assert (format(ago), ago.said()) == ("1,250 min ago", "vor 1.250 min")
        assert format_html("<b>{}</b>", ago) == "<b>vor 1.250 min</b>"
        page = Template("{{ ago }} {{ ago|escape }}").render(Context({"ago": ago}))
        assert page == "vor 1.250 min vor 1.250 min"
    assert format_html("{}", ago) == "1,250 min ago"


def test_a_decimal_is_written_as_the_reader_writes_it():
    told = Sentence.loaded(sentence("%(count)s min", count=1250.5).dumped)
    assert told == "1250.5 min"
    for language, text in (("en", "1250.5 min"), ("de", "1250,5 min"), ("de-ch", "1250.5 min")):
        with override(language):
            assert told.said() == text


def test_what_a_person_or_the_platform_wrote_is_escaped_and_never_translated():
    text = sentence("%(span)s ago", span="<Orders>")
    with override("de"):
        assert format_html("{}", text) == "vor &lt;Orders&gt;"
        assert format_html("{}", Sentence("Orders & <more>")) == "Orders &amp; &lt;more&gt;"


@pytest.mark.parametrize(
    ("count", "english", "german"),
    [(1, "1 hour", "1 Stunde"), (1200, "1,200 hours", "1.200 Stunden")],
)
def test_a_counted_sentence_has_the_plural_of_each_language(count, english, german):
    text = counted_sentence("%(count)s hour", "%(count)s hours", count=count)
    with override("de"):
        assert (text, text.said()) == (english, german)


@pytest.mark.parametrize(
    ("language", "marked"),
    [
        ("en", "“{}”"),
        ("de", "«{}»"),
        ("fr", "«\N{NO-BREAK SPACE}{}\N{NO-BREAK SPACE}»"),
        ("it", "«{}»"),
    ],
)
def test_a_quoted_value_has_the_quotation_marks_of_the_reader(language, marked):
    text = sentence("%(text)s is too large", text=quoted("9e9"))
    names = sentence("%(names)s", names=[quoted("a"), "“b” and “c”"])
    with override(language):
        assert text.said().startswith(marked.format("9e9"))
        assert names.said() == f"{marked.format('a')}, “b” and “c”"


def test_a_name_of_a_field_is_that_of_its_context():
    name = Sentence.loaded(name_in_context("field", "floor").dumped)
    heating = name_in_context("value of a field", "Underfloor heating")
    with override("de"):
        assert (name, name.said(), heating.said()) == ("floor", "Stockwerk", "Bodenheizung")
        assert name_in_context("field", "no such field").said() == "no such field"


def test_a_problem_of_ours_is_said_in_the_language_of_the_reader():
    problem = Problem(sentence("%(span)s ago", span="1 h"))
    assert problem.kind is ErrorKind.OTHER
    with override("it"):
        assert Problem.loaded(problem.dumped).said() == "1 h fa"


def test_a_list_is_joined_and_sentences_in_it_are_apart_by_a_semicolon():
    assert sentence("%(all)s.", all=["a", "b", 1200]) == "a, b, 1,200."
    assert sentence("%(all)s.", all=[sentence("a"), sentence("b")]) == "a; b."


def test_a_value_without_end_is_cut_and_what_no_database_stores_is_removed():
    text = sentence("%(words)s", words="a\0" + "b" * 3000)
    assert text == "a" + "b" * 1999


def test_what_others_wrote_can_be_changed_and_the_message_stays():
    inner = sentence("%(all)s.", all=["a", sentence("a"), 1200])
    text = sentence("%(span)s ago", span=inner).changed(lambda words: words.replace("a", "b"))
    assert (text, text.message) == ("b; a; 1,200. ago", "%(span)s ago")
    assert Sentence("a").changed(str.upper) == "A"


def test_a_lazy_text_of_ours_is_a_sentence_whatever_the_language_of_its_writer():
    with override("it"):
        text = lazy_sentence(gettext_lazy("Platform"))
        with override("de"):
            assert (text, text.said()) == ("Platform", "Plattform")


def test_a_moment_is_said_in_the_zone_of_the_reader():
    text = sentence(
        "%(at)s, %(day)s", at=datetime(2026, 3, 12, 8, 30, tzinfo=UTC), day=date(2026, 3, 12)
    )
    assert text == "Thu 12 Mar 2026, 08:30 UTC, Thu 12 Mar 2026"
    with override("de"), timezone.override("Europe/Zurich"):
        assert text.said() == "Do 12. Mär 2026, 09:30 CET, Do 12. Mär 2026"


@pytest.mark.django_db
def test_a_column_returns_the_sentence_from_each_way_to_read_it():
    text = sentence("%(span)s ago", span="1 h")
    due = {"address": "https://x.test", "due_at": timezone.now()}
    Subscription.objects.create(workspace=make_workspace(), problem=text, **due)
    rows = Subscription.objects.filter(problem=text)
    for found in (rows.get().problem, rows.values_list("problem", flat=True)[0]):
        assert whole(found) == whole(text)
    assert list(rows.filter(problem="")) == []

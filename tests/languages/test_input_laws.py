"""The same edits, typed by people of several places, are the same values and the same call."""

from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal

from django.http import QueryDict
from django.utils.translation import override
from hypothesis import given, settings, strategies as st

from properties.catalog import FIELDS
from properties.catalog.numbers import Unreadable
from properties.forms import input_values
from properties.forms.set_form import SetForm
from properties.models import Property
from tests.languages.test_input import HIGH, NBSP, OFFERED, THIN, speak
from tests.properties.form_page import make, save

# How people write a day, and the marks of thousands and of decimals that they type.
DAYS = dict.fromkeys(OFFERED, "%d.%m.%Y") | {"en": "%Y-%m-%d", "fr": "%d/%m/%Y", "it": "%d/%m/%Y"}
MARKS = {
    "en": [(",", "."), ("", ".")],
    "de": [(".", ","), ("", ",")],
    "de-ch": [("'", "."), (HIGH, "."), ("", ",")],
    "fr": [(" ", ","), (NBSP, ","), (THIN, ","), ("", ",")],
    "it": [(".", ","), ("'", "."), ("", ",")],
}
HANDS = [(language, marks) for language, several in MARKS.items() for marks in several]
HALVES = {"en": " 1/2", "de-ch": "½"}
amounts = st.decimals(1, 10**7, places=2) | st.integers(1, 10**7).map(Decimal)
halves = st.integers(2, 40).map(lambda count: Decimal(count) / 2)
moments = st.datetimes(datetime(1000, 1, 1), datetime(2999, 12, 31))  # noqa: DTZ001


def typed(language: str, marks: tuple[str, str], price, area, rooms, at) -> dict[str, str]:
    """Return the inputs as a person of this language types them."""

    def number(amount: Decimal) -> str:
        text = f"{amount:,.2f}" if amount % 1 else f"{amount:,.0f}"
        return text.translate(str.maketrans({",": marks[0], ".": marks[1]}))

    half = HALVES.get(language, f"{marks[1]}5") if rooms % 1 else ""
    return {
        "prices.rent.gross": number(price),
        "areaBwf": number(area),
        "numberOfRooms": f"{rooms // 1}{half}",
        "energyCertificate.issuedAt": f"{at:{DAYS[language]}}",
        "availabilityStartAt": f"{at:{DAYS[language]} %H:%M}",
    }


def values(price, area, rooms, at) -> dict[str, object]:
    return {
        "prices.rent.gross": float(price),
        "areaBwf": float(area),
        "numberOfRooms": float(rooms),
        "energyCertificate.issuedAt": f"{at:%Y-%m-%d}",
        "availabilityStartAt": f"{at:%Y-%m-%dT%H:%M:00Z}",
    }


NUMBERS = st.from_regex(r"[0-9]{1,3}[.,' ][0-9]{2,3}([.,' ][0-9]{1,3})?", fullmatch=True)
SOME_DAYS = st.from_regex(r"[1-9][./-][1-9][./-](20)?2[0-9]", fullmatch=True)


@settings(max_examples=500)
@given(
    NUMBERS.map(lambda text: ("areaBwf", text))
    | NUMBERS.map(lambda text: ("prices.rent.net", text))
    | SOME_DAYS.map(lambda text: ("energyCertificate.issuedAt", text)),
)
def test_what_two_languages_read_is_the_same_in_both(typed):
    """Whoever changes the language in another tab is asked, and gets no other value."""
    path, text = typed
    found = set()
    for language in OFFERED:
        with override(language), suppress(Unreadable):
            found.add(input_values.read(FIELDS[path], text, UTC))
    assert len(found) <= 1


@settings(max_examples=25)
@given(st.sampled_from(HANDS), amounts, amounts, halves, moments)
def test_what_is_set_for_many_properties_is_the_same_in_each_language(hand, price, area, rooms, at):
    language, marks = hand
    at = at.replace(second=0, microsecond=0, tzinfo=UTC)
    data = QueryDict(mutable=True)
    data.update(typed(language, marks, price, area, rooms, at))
    with override(language):
        form = SetForm(data, entered={})
        assert form.is_valid(), form.errors
    assert form.entered == values(price, area, rooms, at)


def test_the_same_edits_in_each_language_are_the_same_values_and_the_same_patch(
    boss, workspace, box, drain_all, settings
):
    at = datetime(2026, 11, 24, 9, 30, tzinfo=UTC)
    edits = (Decimal("1250.50"), Decimal(1250), Decimal("3.5"), at)
    rows = [make(workspace, f"A-{language}", title="Flat") for language in MARKS]
    drain_all()
    box.calls.clear()
    for row, (language, (marks, *_)) in zip(rows, MARKS.items(), strict=True):
        speak(boss, settings, language)
        row.refresh_from_db()
        assert save(boss, row, **typed(language, marks, *edits)).status_code == 302
    stored = [row.desired for row in Property.objects.order_by("object_reference_id")]
    drain_all()
    sent = [body for method, _, body, _ in box.calls if method == "PATCH"]
    patch = {
        "prices": {"rent": {"gross": 1250.5}},
        "areaBwf": 1250,
        "numberOfRooms": 3.5,
        "energyCertificate": {"issuedAt": "2026-11-24"},
        "availabilityStartAt": "2026-11-24T09:30:00Z",
    }
    assert sent == [patch] * len(MARKS)
    assert [{name: one[name] for name in patch} for one in stored] == [patch] * len(MARKS)

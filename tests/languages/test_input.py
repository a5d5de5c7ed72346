"""What people type is read as they write it at their place; what a page shows, as its value."""

import re
from datetime import UTC, date, datetime, time
from zoneinfo import ZoneInfo

import pytest
from django.contrib.admin.widgets import AdminDateWidget, AdminTimeWidget
from django.core.exceptions import ValidationError
from django.forms import DateField, DateTimeField, DateTimeInput, TimeField
from django.utils.formats import date_format
from django.utils.translation import override
from hypothesis import example, given, strategies as st

from crm_sync.admin.api_token import TokenForm
from crm_sync.admin.workspace.pause_page import PauseForm
from crm_sync.sentence import Sentence
from crm_sync.translated import day_alone, day_in_words
from orders.admin.change_forms import RescheduleForm
from orders.models import PersonSettings
from properties.admin.source.source_form import SourceForm
from properties.admin.words import rooms_in_words, worded
from properties.catalog import FIELDS
from properties.catalog.numbers import Unreadable
from properties.catalog.ranges import range_fault
from properties.forms import input_values
from tests.properties.form_page import errors, make, opened, post, save, state

ZURICH = ZoneInfo("Europe/Zurich")
LANGUAGES = ("en", "de", "de-ch", "fr", "fr-ch", "it", "it-ch")
OFFERED = ("en", "de", "de-ch", "fr", "it")
POINT, COMMA = {"de", "it", "it-ch"}, {"en"}  # where it groups thousands
DAY_FIRST = {"fr", "fr-ch", "it", "it-ch"}  # with slashes
NBSP, THIN = "\N{NO-BREAK SPACE}", "\N{NARROW NO-BREAK SPACE}"
HIGH = "\N{RIGHT SINGLE QUOTATION MARK}"
LIST = "/admin/properties/property/"
PLACES = pytest.mark.parametrize("language", LANGUAGES)
languages = st.sampled_from(LANGUAGES)


def read(language: str, path: str, text: str) -> object:
    """Return what the input of a field reads, or why it refuses the text."""
    with override(language):
        try:
            return input_values.read(FIELDS[path], text, ZURICH)
        except Unreadable as error:
            return str(error)


def shown(language: str, path: str, value: object) -> str:
    with override(language):
        return input_values.shown(FIELDS[path].kind, value, ZURICH)


def speak(client, settings, language: str) -> None:
    """Let the person of a client read this language."""
    settings.LANGUAGES = [(code, code) for code in OFFERED]
    PersonSettings.objects.update_or_create(
        person_id=client.session["_auth_user_id"], defaults={"language": language}
    )


# --- numbers ---
@PLACES
@pytest.mark.parametrize(
    ("path", "text", "value"),
    [
        *(
            ("areaBwf", text, 1250.5)
            for text in (
                *("1250.5", "1250,5", "1'250.50", f"1{HIGH}250.50", "1'250,50", "1.250,50"),
                *("1,250.50", "1 250,50", f"1{NBSP}250,50", f"1{THIN}250,50", "1250,50 m²"),
            )
        ),
        *(("areaBwf", text, 1250) for text in ("1250", "1'250", "1 250", f"1{THIN}250")),
        *(("areaBwf", text, 1250000) for text in ("1.250.000", "1,250,000", "1'250'000")),
        *(
            ("numberOfRooms", text, 3.5)
            for text in ("3.5", "3,5", "3½", "3 ½", "3 1/2", f"3{NBSP}1/2", "3.50", "3½ Zimmer")
        ),
        *(("prices.rent.net", text, 1250) for text in ("CHF 1'250.-", f"1{HIGH}250,00 CHF")),
        ("areaBwf", "0,125", 0.125),
        ("areaBwf", "1250,125", 1250.125),
        # The field can mean only one of the two.
        *(("numberOfRooms", text, 3.5) for text in ("3.500", "3,500")),
        *(("yearBuilt", text, 1985) for text in ("1.985", "1,985")),
        *(("address.geo.latitude", text, 47.123) for text in ("47.123", "47,123")),
    ],
)
def test_a_number_with_clear_marks_is_the_same_everywhere(language, path, text, value):
    assert read(language, path, text) == value


@PLACES
@pytest.mark.parametrize("path", ["areaBwf", "prices.rent.net", "address.geo.elevation"])
@pytest.mark.parametrize(("text", "places"), [("1.250", POINT), ("1,250", COMMA)])
def test_one_mark_before_three_digits_groups_thousands_only_where_people_write_so(
    language, path, text, places
):
    found = read(language, path, text)
    if language in places:
        assert found == 1250
    else:  # nobody's 1.25 becomes 1250, and nobody's 1250 becomes 1.25
        assert text in found
        assert "1250" in found
        assert shown(language, path, 1.25) in found.replace(text, "")


@PLACES
@pytest.mark.parametrize(
    "text", ["1.25.000", "1.250.00", "1,250,00", "12 50", "1'25", "1 250 5", "3 1/20", "-"]
)
def test_a_number_with_contradicting_marks_is_refused_by_its_name(language, text):
    assert text in read(language, "areaBwf", text)


numbers = st.integers(-(10**15), 10**15) | st.floats(allow_nan=False, allow_infinity=False)


@given(
    st.sampled_from(["address.geo.elevation", "areaBwf", "floor"]), numbers, languages, languages
)
@example("areaBwf", 1.125, "de", "en")
@example("areaBwf", 1250.5, "en", "fr")
@example("areaBwf", 1250, "de-ch", "it")
@example("areaBwf", 1.5e-7, "de", "de")
@example("areaBwf", 1e22, "fr", "de-ch")
def test_a_number_that_an_input_shows_is_read_as_this_number_in_each_language(
    path, value, showing, reading
):
    assert repr(float(read(reading, path, shown(showing, path, value)))) == repr(float(value) + 0.0)


@pytest.mark.parametrize(
    ("language", "area", "rooms"),
    [
        *((one, "1250.5", "3.5") for one in ("en", "de-ch")),
        *((one, "1250,5", "3,5") for one in ("de", "fr", "fr-ch", "it", "it-ch")),
    ],
)
def test_an_input_shows_the_decimal_mark_of_the_reader_and_no_groups(language, area, rooms):
    assert shown(language, "areaBwf", 1250.5) == area
    assert shown(language, "numberOfRooms", 3.5) == rooms
    assert shown(language, "prices.buy.price", 1250000.0) == "1250000"


@PLACES
def test_a_number_in_words_has_the_decimal_mark_of_its_input_and_is_read_back(language):
    with override(language):
        assert worded("areaBwf", 125.5) == f"{shown(language, 'areaBwf', 125.5)} m²"
        grouped = worded("areaBwf", 1250.5)
    assert read(language, "areaBwf", grouped) == 1250.5


@PLACES
@pytest.mark.parametrize(
    ("rooms", "text"), [(3.5, "3½"), (0.5, "½"), (4, "4"), (4.0, "4"), (12.5, "12½")]
)
def test_rooms_are_written_as_the_market_writes_them_and_read_back(language, rooms, text):
    with override(language):
        assert rooms_in_words(rooms).split()[0] == text
        assert worded("numberOfRooms", rooms) == text
    assert read(language, "numberOfRooms", text) == rooms
    assert read(language, "numberOfRooms", shown(language, "numberOfRooms", rooms)) == rooms


@pytest.mark.parametrize(("language", "text"), [("de", "3,25"), ("fr", "3,25"), ("en", "3.25")])
def test_another_part_of_a_room_is_a_decimal(language, text):
    with override(language):
        assert worded("numberOfRooms", 3.25) == text


@pytest.mark.parametrize(
    ("language", "latitude", "year"),
    [
        (
            "de",
            "-90 und 90 schreiben, nicht 91,25",
            "1000 und 2999 schreiben, nicht 98",
        ),
        ("fr", "entre -90 et 90, et non 91,25", "entre 1000 et 2999, et non 98"),
        ("it", "tra -90 e 90, non 91,25", "tra 1000 e 2999, non 98"),
        (
            "de-ch",
            "-90 und 90 schreiben, nicht 91.25",
            "1000 und 2999 schreiben, nicht 98",
        ),
    ],
)
def test_a_number_that_a_field_cannot_mean_is_named_as_the_reader_writes_it(
    language, latitude, year
):
    faults = [
        Sentence.loaded(range_fault(FIELDS[path], value).dumped)
        for path, value in (("address.geo.latitude", 91.25), ("yearBuilt", 98.0))
    ]
    with override(language):
        for fault, text in zip(faults, (latitude, year), strict=True):
            assert text in fault.said()


# --- days, times and moments ---
@given(st.dates(), st.times(), languages, languages)
def test_a_day_and_a_moment_that_an_input_shows_are_read_as_they_are(day, at, showing, reading):
    moment = datetime.combine(day, at.replace(microsecond=0), UTC).isoformat()[:19] + "Z"
    for path, value in (
        ("energyCertificate.issuedAt", day.isoformat()),
        ("availabilityStartAt", moment),
    ):
        if moment[:4] not in ("0001", "9999") and not _is_repeated(moment):
            assert read(reading, path, shown(showing, path, value)) == value


def _is_repeated(moment: str) -> bool:
    """Say whether the clock shows the moment twice, or is not exact to the minute."""
    there = datetime.fromisoformat(moment).astimezone(ZURICH)
    again = there.replace(fold=1 - there.fold)
    return again.utcoffset() != there.utcoffset()


@PLACES
@pytest.mark.parametrize(
    "text", ["2026-11-24", "24.11.2026", "24-11-2026", "24/11/2026", "3/4/2026", "11/24/2026"]
)
def test_a_day_of_a_property_is_read_as_the_reader_writes_it(language, text):
    wanted = "2026-04-03" if text == "3/4/2026" else "2026-11-24"
    is_read = "/" not in text or (language in DAY_FIRST and text != "11/24/2026")
    found = read(language, "energyCertificate.issuedAt", text)
    moment = read(language, "availabilityStartAt", f"{text} 09:30")
    if is_read:
        hour = "07" if wanted == "2026-04-03" else "08"
        assert (found, moment) == (wanted, f"{wanted}T{hour}:30:00Z")
    else:
        assert text in found.replace("11.24.", "11/24/")
        assert text in moment.replace("11.24.", "11/24/")


@PLACES
@pytest.mark.parametrize(
    "text",
    [
        *("24. November 2026", "24 novembre 2026", "24 nov. 2026", "24 NOV 2026", "24.Nov.2026"),
        *("Di 24. Nov 2026", "mardi 24 novembre 2026", "mar. 24 nov. 2026", "Tue, 24 November 26"),
        *("24.11.26", "24. 11. 26"),
    ],
)
def test_a_day_with_a_month_in_words_or_a_short_year_is_read_in_each_language(language, text):
    assert read(language, "energyCertificate.issuedAt", text) == "2026-11-24"
    for hour in ("09:30", "09:30:00"):
        found = read(language, "availabilityStartAt", f"{text}, {hour}")
        assert found == "2026-11-24T08:30:00Z"


@pytest.mark.parametrize(
    ("text", "day"),
    [
        *(("1er janv. 2026", "2026-01-01"), ("1º gen. 2026", "2026-01-01")),
        *(("3. Mrz 2026", "2026-03-03"), ("3 fév. 2026", "2026-02-03")),
        *(("3. Jänner 26", "2026-01-03"), ("3 août 26", "2026-08-03")),
        # As strptime: 00 to 68 are years of this century.
        *(("24.11.00", "2000-11-24"), ("24.11.68", "2068-11-24"), ("24.11.69", "1969-11-24")),
        ("3 dec 99", "1999-12-03"),
    ],
)
def test_a_short_or_worded_day_is_this_day(text, day):
    assert read("de", "energyCertificate.issuedAt", text) == day


@pytest.mark.parametrize(
    "text",
    [
        *(
            "24 jui 2026",
            "24 ma 2026",
            "24 foo 2026",
            "foo 24 nov 2026",
            "nov 2026",
            "24. November",
        ),
        *("26-11-24", "24-11-26", "24.11.126", "24.11.6", "about 24 nov 2026", "24 nov 2026 x"),
        *("31. Februar 2026", "31.11.26", "24.13.26"),
    ],
)
def test_a_day_that_is_none_or_may_be_two_is_refused_as_it_was_typed(text):
    assert text in read("de", "energyCertificate.issuedAt", text)


@given(st.dates(date(1000, 1, 1)), languages, languages)
@example(date(2026, 3, 2), "de", "it")
@example(date(2026, 8, 1), "fr", "en")
def test_a_day_as_a_page_shows_it_is_read_as_this_day_in_each_language(day, showing, reading):
    with override(showing):
        texts = [day_in_words(day), day_alone(day), date_format(day, "j. F Y")]
    for text in texts:
        assert read(reading, "energyCertificate.issuedAt", text) == day.isoformat()


DAYS = {
    "2026-11-24": LANGUAGES,
    "24.11.2026": LANGUAGES,
    "24/11/2026": DAY_FIRST,
    "24 Nov 2026": {"en"},
    "24 November 2026": {"en"},
    # A month first is a mistake that nobody sees.
    "11/24/2026": (),
}


@PLACES
@pytest.mark.parametrize(("text", "places"), DAYS.items())
def test_the_inputs_of_our_forms_read_a_day_as_the_reader_writes_it(language, text, places):
    valid_until, until = TokenForm.base_fields["valid_until"], PauseForm.base_fields["until"]
    proposed_at = RescheduleForm.base_fields["proposed_at"]
    with override(language):
        if language not in places:
            for field in (valid_until, until, proposed_at):
                with pytest.raises(ValidationError):
                    field.clean(f"{text} 09:30" if field is not valid_until else text)
            return
        assert valid_until.clean(text) == date(2026, 11, 24)
        for field in (until, proposed_at):
            for hour in ("09:30", "09:30:00"):
                at = field.clean(f"{text} {hour}")
                assert at.replace(tzinfo=None) == datetime(2026, 11, 24, 9, 30)  # noqa: DTZ001
        assert until.clean("2026-11-24T09:30").hour == 9  # of a browser's own input


@PLACES
@pytest.mark.parametrize("text", ["09:30", "9:30", "09:30:00", "09.30", "9h30"])
def test_the_hour_of_a_source_is_read_as_the_reader_writes_it(language, text):
    field = SourceForm.base_fields["daily_at"]
    places = {"09.30": {"de", "de-ch", "it", "it-ch"}, "9h30": {"fr", "fr-ch"}}
    with override(language):
        if language in places.get(text, LANGUAGES):
            assert field.clean(text) == time(9, 30)
        else:
            with pytest.raises(ValidationError):
                field.clean(text)


@given(st.datetimes(datetime(1000, 1, 1)), languages)  # noqa: DTZ001
def test_what_an_input_of_a_day_an_hour_or_a_moment_shows_is_read_as_it_is(at, language):
    at = at.replace(microsecond=0)
    with override(language):
        assert DateField().clean(AdminDateWidget().format_value(at.date())) == at.date()
        assert TimeField().clean(AdminTimeWidget().format_value(at.time())) == at.time()
        moment = DateTimeField().to_python(DateTimeInput().format_value(at))
        assert moment.replace(tzinfo=None) == at


@PLACES
def test_a_thousand_minutes_are_not_one(language):
    for name in ("every_minutes", "expect_hours"):
        field = SourceForm.base_fields[name]
        with override(language):
            assert field.clean("1000") == 1000
            for text in ("1.000", "1,000", "1'000", "1.0"):
                with pytest.raises(ValidationError):
                    field.clean(text)


# --- on the pages ---
DOCUMENT = {
    "areaBwf": 1250.5,
    "areaNwf": 12.125,
    "numberOfRooms": 3.5,
    "yearBuilt": 1985,
    "availabilityStartAt": "2026-11-24T08:30:00Z",
    "energyCertificate__issuedAt": "2026-11-24",
    "prices__rent": {"net": 1250.5, "gross": 1400},
    "prices__currency": "CHF",
    "address": {"geo": {"latitude": 47.123, "longitude": -8.5}},
}


@pytest.mark.parametrize("showing", OFFERED)
@pytest.mark.parametrize("saving", OFFERED)
def test_an_untouched_page_changes_nothing_also_for_who_changes_the_language(
    boss, main, settings, showing, saving
):
    row = make(main, **DOCUMENT)
    before = state(row)
    speak(boss, settings, showing)
    page = opened(boss, row)
    speak(boss, settings, saving)
    assert post(boss, row, page).status_code == 302
    assert state(row) == before


@pytest.mark.parametrize("language", OFFERED)
def test_an_unclear_number_is_refused_at_its_input_and_nothing_is_saved(
    boss, main, settings, language
):
    row = make(main, **DOCUMENT)
    before = state(row)
    speak(boss, settings, language)
    text = "1,250" if language in POINT else "1.250"
    ((name, (refusal,)),) = errors(save(boss, row, areaBwf=text)).items()
    assert (name, text in refusal, "1250" in refusal) == ("areaBwf", True, True)
    assert state(row) == before


@pytest.mark.parametrize("language", OFFERED)
def test_a_filter_of_a_range_has_the_same_address_in_each_language(boss, main, settings, language):
    make(main, **DOCUMENT | {"offerType": "RENT"})
    speak(boss, settings, language)
    page = boss.get(f"{LIST}?number_of_rooms_from=3.5&number_of_rooms_to=3.6").content.decode()
    # The browser's own input of a number shows it as people of that place write it.
    inputs = re.findall(r'<input type="number" name="number_of_rooms_\w+" value="([^"]*)"', page)
    assert inputs == ["3.5", "3.6"]
    found = boss.get(f"{LIST}?number_of_rooms_from=3.5&number_of_rooms_to=3.6")
    assert found.context["cl"].result_count == 1
    assert boss.get(f"{LIST}?number_of_rooms_from=3.6").context["cl"].result_count == 0

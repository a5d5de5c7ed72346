"""IDX 3.01: values as people and programs write them; a bad one is set aside, not its record."""

import pytest

from properties.feeds import NotAFeed, Profile, Record, Refusal
from properties.feeds.recognition import read_feed
from properties.feeds.records import FileWarning
from tests.properties.feeds.idx_lines import line, raw_of
from tests.properties.feeds.tables import table


@pytest.fixture
def read(tmp_path):
    """Read a file with one line of the given columns."""

    def read_one(texts, **profile):
        path = tmp_path / "unload.txt"
        path.write_bytes(raw_of(line(**texts).encode()) + b"\r\n")
        (item,) = read_feed(path, Profile(**profile))
        return item

    return read_one


def value(record, path):
    """Return the value at a path of a record's document."""
    found = record.document
    for name in path.split("."):
        found = found[int(name)] if isinstance(found, list) else found.get(name)
    return found


@table
def test_a_number_is_read_as_people_write_it(read, column, path, text, number):
    record = read({column: text})
    assert (value(record, path), record.leftover, record.warnings) == (number, {}, ())


@pytest.mark.parametrize(
    ("column", "text", "why"),
    [
        ("surface_living", "ca. viel", "“ca. viel” is not a number such as 1200 or 4.5"),
        ("surface_living", "80-90", "“80-90” is not a number in m²"),
        ("surface_living", "3 ha", "“3 ha” is not a number in m²"),
        ("surface_living", "1.200", "“1.200” is unclear: write 1200 or 1.2"),
        ("surface_living", "1,200", "“1,200” is unclear: write 1200 or 1.2"),
        ("surface_living", "1.2.3", "“1.2.3” is not a number such as 1200 or 4.5"),
        ("surface_living", "12 5", "“12 5” is not a number such as 1200 or 4.5"),
        ("surface_living", "-5", "Write a number from 0, not -5"),
        ("surface_living", "9" * 70, f"“{'9' * 40}…” is too large"),
        ("carrying_capacity_elevator", "2 t", "“2 t” is not a number in kg"),
        ("selling_price", "EUR 1200", "“EUR 1200” is not a number in CHF"),
        ("year_built", "98", "Write a number between 1000 and 2999, not 98"),
        ("available_from", "31.02.2026", "“31.02.2026” is no day of the calendar"),
        ("available_from", "Sommer 2026", "“Sommer 2026” is not a date such as 2026-01-31"),
        ("elevator", "vielleicht", "“vielleicht” is neither yes nor no"),
        ("currency", "Rappen", "Use a three-letter code such as CHF"),
        ("object_title", "x" * 256, "Use at most 255 characters, not 256"),
        ("offer_type", "LEASE", "“LEASE” is no offer"),
    ],
)
def test_a_bad_value_is_set_aside_with_its_reason_or_refuses_its_record(read, column, text, why):
    record = read({column: text})
    assert record.leftover[column] == text
    assert record.warnings == (f"column {column}: {why}",)
    refusal = read({column: text}, lenient=False)
    assert refusal == Refusal("line 1", "R-1", [f"{column}: {why}"])


@table
def test_words_for_no_value_are_set_aside_and_are_no_mistake(read, column, text):
    for lenient in (True, False):
        record = read({column: text}, lenient=lenient)
        assert (record.leftover, record.warnings) == ({column: text}, ())


@pytest.mark.parametrize("text", ["1.10.2026", "01-10-2026", "2026-10-01", "01.10.2026 08:00:00"])
def test_a_date_is_read_as_programs_write_it(read, text):
    assert read({"available_from": text}).document["availabilityStartAt"] == "2026-10-01"


@table
def test_html_and_entities_become_text(read, text, plain):
    record = read({"object_description": text})
    expected = plain or "Fläche < 100 m2 und > 50; AT&T &region &uuml;"
    assert value(record, "localizations.0.description") == expected
    assert record.leftover == {}


def test_a_written_line_break_is_a_blank_in_a_short_text(read):
    assert value(read({"object_title": "Ruhig\\nHell"}), "title") == "Ruhig Hell"


def test_a_link_in_a_text_is_kept_beside_it(read):
    text = 'Mehr <a href="https://musterhaus.example">hier</a>'
    record = read({"object_description": text})
    assert value(record, "localizations.0.description") == "Mehr hier"
    assert record.leftover == {"object_description": text}


def test_a_short_text_loses_its_html_too(read):
    texts = {
        "object_title": "<b>Wohnung</b> mit&nbsp;Caf&eacute;<br>im Haus",
        "ref_house": "A&amp;B",
    }
    record = read(texts)
    assert record.document["title"] == "Wohnung mit Café\nim Haus".replace("\n", " ")
    assert record.document["houseReferenceId"] == "A&B"


@table
def test_the_number_of_a_house_has_a_field_of_its_own(read, text, street, number):
    address = read({"object_street": text}).document["address"]
    assert (address["street"], address.get("streetNumber")) == (street, number)


@table
def test_a_name_of_two_words_is_a_given_and_a_family_name(read, text, given, family, is_kept):
    record = read({"agency_reference": text})
    person = record.document["seller"]["contactPerson"]
    assert (person.get("givenName"), person["familyName"]) == (given, family)
    assert record.leftover == ({"agency_reference": text} if is_kept else {})


def test_the_mail_of_the_agency_is_where_inquiries_go(read):
    seller = read({"agency_email": "info@musterhaus.example"}).document["seller"]
    assert seller == {
        "organization": {"email": "info@musterhaus.example"},
        "inquiryEmail": "info@musterhaus.example",
    }


def test_a_mail_of_the_agency_that_is_none_is_kept_and_reported(read):
    record = read({"agency_email": "www.muster.example"})
    assert value(record, "seller.inquiryEmail") == "www.muster.example"
    assert record.leftover == {}
    told = "is no mail address; it is imported all the same"
    assert [warning.partition(": ")[2] for warning in record.warnings] == [
        f"“www.muster.example” {told}"
    ]


def test_addresses_of_a_tour_and_a_film_become_links_and_names_of_files_do_not(read):
    tour, film = "https://tour.example/?a=1&amp;b=2", "https://film.example/1"
    texts = {"sparefield_2": tour, "movie_filename": film, "movie_title": "Rundgang"}
    record = read(texts)
    assert record.document["virtualTourLinks"] == [{"url": "https://tour.example/?a=1&b=2"}]
    assert record.document["videoLinks"] == [{"url": film, "title": "Rundgang"}]
    assert record.leftover == {}
    files = {"sparefield_2": "x", "movie_filename": "film.mp4", "movie_title": "Rundgang"}
    record = read(files)
    assert record.leftover == files
    assert record.document.keys() & {"virtualTourLinks", "videoLinks"} == set()


def test_a_furnished_flat_is_furnished_and_what_is_in_a_feed_is_published(read):
    record = read({"object_type": "7"})
    assert (record.document["isFurnished"], record.document["availabilityState"]) == (
        True,
        "ACTIVE",
    )
    assert "isFurnished" not in read({"object_type": "1"}).document


def test_a_plot_needs_no_offer_type_and_the_unit_of_its_price_tells_it(read):
    plot = {"object_category": "PROP", "offer_type": "", "selling_price": "450000"}
    record = read({**plot, "price_unit": "SELL"})
    assert record.document["offerType"] == "BUY"
    assert record.document["prices"] == {"buy": {"price": 450000, "referring": "ALL"}}
    record = read(plot)
    assert record.document.keys() & {"offerType", "prices"} == set()
    assert record.warnings == ("column selling_price: is no price without an offer_type",)


@pytest.mark.parametrize(("text", "code"), [("Schweiz", "CH"), ("ch", "CH"), ("Suisse", "CH")])
def test_a_country_may_be_written_in_words(read, text, code):
    assert read({"object_country": text}).document["address"]["countryCode"] == code


def test_a_country_that_nobody_knows_is_set_aside(read):
    record = read({"object_country": "Mordor", "object_city": "Bern"})
    assert record.document["address"] == {"locality": "Bern"}
    assert record.leftover == {"object_country": "Mordor"}
    assert len(record.warnings) == 1


def test_the_texts_have_the_language_of_the_sender(read):
    texts = read({"object_description": "Calme."}, language="fr").document["localizations"]
    assert texts == [{"languageCode": "fr", "title": "Wohnung", "description": "Calme."}]


# --- what programs mean by a column


FRENCH = "Bel appartement avec balcon et vue sur le lac, dans une maison au calme."
ITALIAN = "Il luminoso appartamento di 4 locali con balcone."
GERMAN = "Die Wohnung mit Balkon und Sicht auf den See ist ruhig."


@pytest.mark.parametrize(
    ("lines", "language", "warnings"),
    [
        (
            [{"object_description": FRENCH, "object_state": "VD"}] * 2
            + [{"object_description": GERMAN, "object_state": "BE"}],
            "de",
            [
                "the texts of 2 of 3 records seem to be French (VD), and are taken for German: the"
                " language of its sender should be fr"
            ],
        ),
        (
            [{"object_title": "Loft", "object_state": "TI"}],
            "de",
            [
                "the texts of 1 of 1 records seem to be Italian (TI), and are taken for German: the"
                " language of its sender should be it"
            ],
        ),
        (
            [{"object_description": text} for text in (GERMAN, GERMAN, ITALIAN)],
            "de",
            ["the texts of 1 of 3 records seem to be Italian, and are taken for German"],
        ),
        ([{"object_description": FRENCH, "object_state": "VD"}], "fr", []),
        ([{"object_title": "Loft", "object_state": "FR"}], "de", []),
        ([{"object_description": GERMAN, "object_state": "GE"}], "de", []),
    ],
)
def test_texts_in_another_language_than_the_senders_are_told(tmp_path, lines, language, warnings):
    path = tmp_path / "unload.txt"
    rows = [line(ref_object=f"R-{n}", **texts) for n, texts in enumerate(lines)]
    path.write_text("\r\n".join(rows) + "\r\n")
    items = list(read_feed(path, Profile(language=language)))
    assert [item.text for item in items if isinstance(item, FileWarning)] == warnings


@table
def test_the_flags_of_a_sender_say_what_a_column_means(read, flags, texts, path, found):
    record = read({**texts, "balcony": "1"}, flags=flags)
    assert (value(record, f"characteristics.{path}"), record.leftover) == (found, {})


@table
def test_any_column_may_set_a_field_and_a_word_may_be_another_type(read, flags, texts, path, found):
    record = read(texts, flags=flags)
    assert isinstance(record, Record)
    assert value(record, path) == found


def test_a_column_may_be_set_aside(read):
    record = read({"balcony": "Y"}, flags={"balcony": ""})
    assert (record.leftover, "characteristics" in record.document) == ({"balcony": "Y"}, False)


@table
def test_flags_that_name_what_is_not_there_read_no_file(read, flags, reason):
    with pytest.raises(NotAFeed) as caught:
        read({}, flags=flags)
    assert str(caught.value) == f"unload.txt: the flags of its sender are wrong: {reason}"

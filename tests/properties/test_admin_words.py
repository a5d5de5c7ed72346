"""Values in words: labels and units of the catalog, never a code where there is a word."""

import pytest

from properties.admin.words import in_one_line, worded, worded_change


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        ("title", None, "—"),
        ("title", "Flat", "Flat"),
        ("propertyType", "APARTMENT", "Apartment"),
        ("propertyType", "CASTLE_NEW", "CASTLE_NEW"),
        ("characteristics.hasBalcony", "DOES_NOT_APPLY", "Does not apply"),
        ("isFurnished", True, "Yes"),
        ("areaBwf", 84.0, "84 m²"),
        ("numberOfRooms", 3.5, "3½"),
        ("prices.buy.price", 1250000, "1,250,000"),
        ("prices.rent", {"gross": 1250.5}, "Gross: 1,250.50"),
        ("areaPropertyLand", 1125, "1,125 m²"),
        ("yearBuilt", 1962, "1962"),
        ("availabilityStartAt", "2026-08-01T09:30:00Z", "Sat 1 Aug 2026, 09:30 UTC"),
        ("availabilityStartAt", "2026-08-01T00:00:00Z", "Sat 1 Aug 2026"),
        ("availabilityStartAt", "2026-08-01T02:00:00+02:00", "Sat 1 Aug 2026"),
        ("availabilityStartAt", "2026-08-01", "Sat 1 Aug 2026"),
        ("availabilityStartAt", "soon", "soon"),
        ("energyCertificate.issuedAt", "2025-02-28", "Fri 28 Feb 2025"),
        ("conditions", ["REFURBISHED", "NEW_WORD"], "Refurbished, NEW_WORD"),
        ("prices.rent", {"gross": 100, "interval": "MONTH"}, "Gross: 100\nInterval: Month"),
        ("address", {"geo": {"latitude": 47.5}}, "Coordinates · latitude: 47.5 °"),
        ("customFields", {"our key": "x"}, "our key: x"),
        (
            "localizations",
            [{"languageCode": "de", "title": "Haus"}],
            "de · language code: de\nde · title: Haus",
        ),
        ("localizations", [{"title": "Haus"}], "1 · title: Haus"),
        ("newerField", {"a": [1, 2]}, "A: 1, 2"),
    ],
)
def test_a_value_is_told_in_words(path, value, text):
    assert worded(path, value) == text


def test_of_two_objects_only_what_differs_is_told():
    old, new = {"gross": 100, "net": 80}, {"gross": 120, "net": 80}
    assert worded_change("prices.rent", old, new) == ("Gross: 100", "Gross: 120")
    assert worded_change("prices.rent", old, {"gross": 100}) == ("Net: 80", "(not there)")
    assert worded_change("prices.rent", None, new) == ("—", "Gross: 120\nNet: 80")
    assert in_one_line("prices.rent", new) == "Gross: 120, Net: 80"

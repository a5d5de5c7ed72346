"""How each language writes a number and a day."""

from datetime import date

import pytest
from django.utils.formats import number_format
from django.utils.translation import override

from crm_sync.translated import day_alone, day_in_words, number

SPACE = "\N{NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("language", "count", "price", "day"),
    [
        ("en", "1,250", "1,250.50", "Wed 25 Nov 2026"),
        ("de", "1.250", "1.250,50", "Mi 25. Nov 2026"),
        ("de-ch", "1'250", "1'250.50", "Mi 25. Nov 2026"),
        ("fr", f"1{SPACE}250", f"1{SPACE}250,50", "mer 25 nov. 2026"),
        ("it", "1.250", "1.250,50", "mer 25 nov 2026"),
    ],
)
def test_a_number_and_a_day_are_written_as_people_of_that_language_do(language, count, price, day):
    with override(language):
        assert number(1250) == count
        assert number_format("1250.50", 2, force_grouping=True) == price
        assert (day_in_words(date(2026, 11, 25)), day_alone(date(2026, 11, 25))) == (
            day,
            day.split(" ", 1)[1],
        )

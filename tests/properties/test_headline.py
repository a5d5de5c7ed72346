"""The address and the price of a property on one line, whatever its document holds."""

import pytest
from hypothesis import given, strategies as st

from properties.domain.headline import address_lines, grouped, one_line, price

ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["rent", "buy", "gross", "net", "price", "currency", "street"]), inner
        )
    ),
)


@pytest.mark.parametrize(
    ("address", "lines", "line"),
    [
        (
            {
                "street": "Seestrasse",
                "streetNumber": 12,
                "postalCode": "8001",
                "locality": "Zürich",
            },
            ("Seestrasse 12", "8001 Zürich"),
            "Seestrasse 12, 8001 Zürich",
        ),
        ({"locality": "Zürich"}, ("", "Zürich"), "Zürich"),
        ({"street": "Seestrasse"}, ("Seestrasse", ""), "Seestrasse"),
        ({}, ("", ""), ""),
        (None, ("", ""), ""),
        (["Seestrasse"], ("", ""), ""),
    ],
)
def test_an_address_is_two_lines_or_one(address, lines, line):
    assert (address_lines(address), one_line(address)) == (lines, line)


@pytest.mark.parametrize(
    ("prices", "offer_type", "shown"),
    [
        (
            {"currency": "CHF", "rent": {"gross": 2450, "net": 2200, "interval": "MONTH"}},
            "RENT",
            ("CHF 2,450", "a month"),
        ),
        (
            {"currency": "CHF", "rent": {"net": 2200.5, "interval": "MONTH"}},
            "RENT",
            ("CHF 2,200.50", "a month, net"),
        ),
        (
            {"currency": "CHF", "buy": {"price": 1250000}, "rent": {"gross": 1}},
            "BUY",
            ("CHF 1,250,000", ""),
        ),
        (
            {"rent": {"gross": 300, "interval": "YEAR", "referring": "M2"}},
            None,
            ("300", "a year, per m²"),
        ),
        ({"currency": "CHF", "buy": {"price": 1250000.0}}, "BUY", ("CHF 1,250,000", "")),
        ({"currency": "CHF", "buy": {"price": 1250000}}, "RENT", ("", "")),
        ({"currency": "CHF", "rent": {"gross": True}}, "RENT", ("", "")),
        ({"currency": "CHF", "rent": None}, "RENT", ("", "")),
        (None, "BUY", ("", "")),
    ],
)
def test_a_price_is_the_one_of_the_offer(prices, offer_type, shown):
    assert price(prices, offer_type) == shown


@given(ANY, ANY)
def test_no_document_is_too_odd(document, offer_type):
    assert all(isinstance(text, str) for text in (*address_lines(document), one_line(document)))
    assert all(isinstance(text, str) for text in price(document, offer_type))


@given(st.integers(-(10**12), 10**12) | st.decimals(-(10**6), 10**6, places=2).map(float))
def test_a_grouped_number_is_the_same_number(value):
    assert float(grouped(value).replace(",", "")) == float(value)

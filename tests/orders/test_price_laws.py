"""What an order costs: exact, in each currency, whatever the platform names as a price."""

from decimal import Decimal
from fractions import Fraction
from itertools import groupby

import pytest
from hypothesis import given, strategies as st

from orders.placing.session_offer import Money, Total, changed_prices, price_of, total

CENTS = st.integers(-10_000_000, 100_000_000)
CURRENCIES = st.sampled_from(["CHF", "EUR", ""])


@st.composite
def products(draw) -> dict:
    """Return a chosen product as the platform lists it: prices with cents, as JSON numbers."""
    price = {"amount": draw(CENTS) / 100, "currency": draw(CURRENCIES)}
    known = draw(st.sampled_from([price, price, price, None, {}, {"amount": None}]))
    return {"id": draw(st.text("123", min_size=1)), "price": known, "quantity": draw(QUANTITIES)}


QUANTITIES = st.integers(1, 100)
CHOICES = st.lists(products(), max_size=30)


@given(CHOICES)
def test_a_sum_is_exact_to_the_cent_in_each_currency(chosen):
    priced = [(price_of(one), one["quantity"]) for one in chosen]
    known = sorted((p.currency, round(p.amount * 100), n) for p, n in priced if p)
    cents = {
        currency: sum(cent * count for _, cent, count in lines)
        for currency, lines in groupby(known, key=lambda line: line[0])
    }
    found = total(chosen)
    assert {name: Fraction(amount) for name, amount in found.amounts.items()} == {
        name: Fraction(amount, 100) for name, amount in cents.items()
    }
    assert found.unpriced == sum(count for price, count in priced if price is None)


@given(CHOICES, CHOICES, st.randoms(use_true_random=False))
def test_neither_order_nor_grouping_changes_a_sum(some, others, rng):
    shuffled = some + others
    rng.shuffle(shuffled)
    assert total(some) + total(others) == total(shuffled)


@given(products(), QUANTITIES)
def test_a_quantity_is_that_many_single_ones(one, quantity):
    assert total([one | {"quantity": quantity}]) == total([one | {"quantity": 1}] * quantity)


@given(CHOICES)
def test_a_sum_is_shown_with_every_cent_of_it(chosen):
    shown = str(total(chosen))
    for money in total(chosen).moneys:
        assert f"{money.amount:,.2f}" in shown


@pytest.mark.parametrize(
    ("price", "shown"),
    [
        ({"amount": 249.0, "currency": "EUR"}, "249.00 EUR"),
        ({"amount": 1250, "currency": "CHF"}, "1,250.00 CHF"),
        ({"amount": "19.9", "currency": "CHF"}, "19.90 CHF"),
        ({"amount": 0.125, "currency": "EUR"}, "0.125 EUR"),
        ({"amount": 0.1 + 0.2, "currency": "EUR"}, "0.30 EUR"),
        ({"amount": 0, "currency": "EUR"}, "0.00 EUR"),
        ({"amount": 5}, "5.00"),
    ],
)
def test_a_price_is_shown_in_its_currency(price, shown):
    assert str(price_of({"price": price})) == shown


@pytest.mark.parametrize(
    "price",
    [
        *(None, {}, [], "12", {"amount": None}, {"amount": "much"}, {"amount": True}),
        *({"amount": float("inf")}, {"amount": "NaN"}, {"amount": [1]}),
    ],
)
def test_what_is_no_number_is_no_price(price):
    assert price_of({"price": price}) is None
    assert str(total([{"price": price, "quantity": 3}])) == "price unknown"


def test_a_sum_says_what_it_does_not_count():
    priced = {"price": {"amount": 10, "currency": "EUR"}, "quantity": 1}
    assert str(total([priced, {"quantity": 2}])) == "10.00 EUR + 2 without a price"
    assert str(Total()) == "price unknown"
    assert str(Total({"EUR": Decimal(1), "CHF": Decimal(2)})) == "2.00 CHF + 1.00 EUR"


def test_each_price_that_changed_is_named_with_both_values():
    def at(amount: float | None) -> dict:
        price = None if amount is None else {"amount": amount, "currency": "EUR"}
        return {"id": "11", "product": "GROUND_PHOTO", "price": price}

    plan = {"id": "13", "product": "FLOOR_PLAN", "price": {"amount": 89, "currency": "EUR"}}
    assert changed_prices([at(249), plan], [at(249.0), plan]) == []
    assert changed_prices([at(249), plan], [at(259), plan]) == [
        "GROUND_PHOTO: 259.00 EUR instead of 249.00 EUR"
    ]
    assert changed_prices([at(249)], [at(None)]) == [
        "GROUND_PHOTO: price unknown instead of 249.00 EUR"
    ]
    assert Money(Decimal(249), "EUR") == Money(Decimal("249.0"), "EUR")

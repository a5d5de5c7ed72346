"""Pure: what the products of a session cost (A31), and what they cost together."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from crm_sync.text import plain

NO_PRICE = "no price"


@dataclass(frozen=True, slots=True)
class Money:
    """An amount in a currency, "" where the platform names none; shown with 2 to 4 decimals."""

    amount: Decimal
    currency: str

    def __str__(self) -> str:
        rounded = f"{self.amount:,.4f}"
        shown = rounded[:-2] + rounded[-2:].rstrip("0")
        return f"{shown} {self.currency}".rstrip()


@dataclass(frozen=True, slots=True)
class Total:
    """A sum: one amount for each currency, and how many pieces had no price."""

    amounts: Mapping[str, Decimal] = field(default_factory=dict)
    unpriced: int = 0

    def __add__(self, other: "Total") -> "Total":
        amounts = dict(self.amounts)
        for currency, amount in other.amounts.items():
            amounts[currency] = amounts.get(currency, Decimal(0)) + amount
        return Total(amounts, self.unpriced + other.unpriced)

    def __str__(self) -> str:
        shown = " + ".join(str(one) for one in self.moneys)
        if not self.unpriced:
            return shown or NO_PRICE
        return f"{shown} + {self.unpriced} without a price" if shown else NO_PRICE

    @property
    def moneys(self) -> list[Money]:
        """The sum in each currency, by the name of the currency."""
        return [Money(self.amounts[name], name) for name in sorted(self.amounts)]

    @property
    def document(self) -> dict[str, Any]:
        """The sum for `--json`; amounts are texts, since a float would not keep every cent."""
        moneys = [{"amount": f"{one.amount}", "currency": one.currency} for one in self.moneys]
        return {"amounts": moneys, "unpriced": self.unpriced}


def price_of(product: Mapping[str, Any]) -> Money | None:
    """Return the price of one piece; None where the platform names none that is a number."""
    price = product.get("price")
    if not isinstance(price, Mapping) or isinstance(price.get("amount"), bool):
        return None
    try:
        amount = Decimal(str(price.get("amount")))
    except InvalidOperation:
        return None
    return Money(amount, plain(price.get("currency"))) if amount.is_finite() else None


def cost_of(product: Mapping[str, Any]) -> Total:
    """Return what a chosen product costs in its quantity."""
    price, quantity = price_of(product), int(product.get("quantity") or 1)
    if price is None:
        return Total(unpriced=quantity)
    return Total({price.currency: price.amount * quantity})


def total(products: Iterable[Mapping[str, Any]]) -> Total:
    """Return what chosen products cost together."""
    return sum((cost_of(product) for product in products), Total())


def changed_prices(
    before: Iterable[Mapping[str, Any]], after: Iterable[Mapping[str, Any]]
) -> list[str]:
    """Name each product that costs another price now: "FLOOR_PLAN: 95.00 EUR instead of 89.00 EUR".

    Both hold the same products in the same order.
    """
    return [
        f"{name_of(new)}: {price_of(new) or NO_PRICE} instead of {price_of(old) or NO_PRICE}"
        for old, new in zip(before, after, strict=True)
        if price_of(new) != price_of(old)
    ]


def name_of(product: Mapping[str, Any]) -> str:
    """Return the value of a product such as GROUND_PHOTO, its id where it has none."""
    return plain(product.get("product")) or plain(product.get("id")) or "?"

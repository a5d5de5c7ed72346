"""Pure: the offer of a session, the choices in it, their prices, and request bodies (A30-A33)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from django.utils.formats import number_format
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.sentence import Sentence, sentence
from crm_sync.text import plain
from orders.models import Placement
from orders.placing.failures import NoSuchChoice

# The parts of the instructions (A32), as pages name them.
PARTS: dict[str, Sentence] = {
    "billing": sentence("Billing"),
    "organization": sentence("Organization"),
    "delivery": sentence("Delivery"),
}

NO_PRICE = _("price unknown")  # "no price" would read as free

Document = dict[str, Any]


def chosen_products(offered: Sequence[Document], names: Sequence[str]) -> list[Document]:
    """Return the named products of a session, each with its quantity.

    Args:
        offered: as the session lists them (A31).
        names: ids or values such as GROUND_PHOTO. A product that is named twice is ordered twice.

    Raises:
        NoSuchChoice: no product is named, one is not offered, or several have its value.
    """
    if not names:
        raise NoSuchChoice(f"name at least one product; there is: {_offer(offered)}")
    chosen = Counter(_product_id(name, offered) for name in names)
    return [
        {**item, "quantity": chosen[str(item.get("id"))]}
        for item in offered
        if str(item.get("id")) in chosen
    ]


def _product_id(name: str, offered: Sequence[Document]) -> str:
    for key in ("id", "product"):
        found = [plain(item.get("id")) for item in offered if plain(item.get(key)) == name]
        if len(found) == 1:
            return found[0]
        if found:
            raise NoSuchChoice(f"product {name!r} is several: say which of {', '.join(found)}")
    raise NoSuchChoice(f"no product {name!r} in this session; there is: {_offer(offered)}")


def _offer(offered: Sequence[Document]) -> str:
    return ", ".join(f"{item.get('product')} ({item.get('id')})" for item in offered) or "none"


def chosen_instructions(options: Document, chosen: Mapping[str, str | None]) -> dict[str, str]:
    """Return the id of one option for each part, by default the first option.

    Args:
        options: as the platform lists them for the products (A32).

    Raises:
        NoSuchChoice: a chosen option is not offered.
    """
    picked = {part: _option(part, chosen.get(part), options.get(part)) for part in PARTS}
    return {part: key for part, key in picked.items() if key is not None}


def _option(part: str, wanted: str | None, options: Any) -> str | None:
    keys = labels(options)
    if wanted is None:
        return next(iter(keys), None)
    if wanted in keys:
        return wanted
    there = ", ".join(f"{key} ({label})" if label else key for key, label in keys.items())
    raise NoSuchChoice(f"no {part} instruction {wanted!r}; there is: {there or 'none'}")


def kept_products(
    chosen: Sequence[Document], offered: Sequence[Document]
) -> tuple[list[Document], list[str]]:
    """Find chosen products in a session, by id and value, else by a value that only one has.

    Returns:
        the products as the session lists them, in the same order and quantity, and the name of each
        product that it does not offer.
    """
    kept: dict[str, Document] = {}
    missing = []
    kinds = Counter(plain(product.get("product")) for product in chosen)
    for product in chosen:
        is_only_one = kinds[plain(product.get("product"))] == 1
        found = _same(product, offered, by_value=is_only_one)
        if found is None:
            missing.append(name_of(product))
        else:
            one = kept.setdefault(plain(found["id"]), found | {"quantity": 0})
            one["quantity"] += product["quantity"]
    return list(kept.values()), missing


def _same(product: Document, offered: Sequence[Document], *, by_value: bool) -> Document | None:
    key, value = plain(product.get("id")), plain(product.get("product"))
    if key != value:  # else a program has named it, by an id or a value
        # No session says that its ids mean what they meant in another one.
        offered = [one for one in offered if plain(one.get("product")) == value]
    same = [one for one in offered if key and plain(one.get("id")) == key]
    if len(same) != 1 and by_value:
        same = [one for one in offered if value and plain(one.get("product")) == value]
    return same[0] if len(same) == 1 else None


def kept_instructions(
    chosen: Mapping[str, str], before: Document, options: Document
) -> tuple[dict[str, str], list[str]]:
    """Find chosen instructions among options, by the label that was shown, or by id without one.

    No session says that its ids mean what they meant in another one, or for another property.

    Returns:
        an id for each part, and the name of each option that is gone. If no option was chosen, or
        it is gone, the id is that of the first option.
    """
    kept: dict[str, str] = {}
    missing: list[str] = []
    for part, title in PARTS.items():
        there, wanted = labels(options.get(part)), chosen.get(part)
        label = labels(before.get(part)).get(wanted or "")
        same = [
            key
            for key, name in there.items()
            if (name == label if name and label else key == wanted)
        ]
        if wanted is not None and not same:
            missing.append(sentence("%(name)s: %(text)s", name=title, text=label or wanted))
        if there:
            kept[part] = wanted if wanted in same else next(iter(same or there))
    return kept, missing


def labels(options: Any) -> dict[str, str]:
    """Return the labels of one part's options by id, in the order of the platform."""
    listed = options if isinstance(options, list) else []
    return {
        option: plain(one.get("label"))
        for one in listed
        if isinstance(one, dict) and (option := plain(one.get("id")))
    }


def lines(products: Sequence[Document]) -> list[Document]:
    """Return products as request bodies name them: id and quantity."""
    return [{"id": str(item["id"]), "quantity": item["quantity"]} for item in products]


def session_body(placement: Placement) -> Document:
    """Return the body of POST /v1/sessions (A30), with the platform id once we know it (A44)."""
    mine = placement.real_estate_property
    if mine is not None and mine.platform_id:
        return placement.acting | {"realEstatePropertyId": mine.platform_id}
    return placement.acting | {"objectReferenceId": placement.object_reference_id}


def order_body(placement: Placement) -> Document:
    """Return the body of POST /v1/orders (A33)."""
    return {
        "sessionId": placement.session_id,
        "products": lines(placement.products),
        "instructions": placement.instructions,
    }


@dataclass(frozen=True, slots=True)
class Money:
    """An amount in a currency, "" if the platform names none. It is shown with 2 to 4 decimals."""

    amount: Decimal
    currency: str

    def __str__(self) -> str:
        rounded = f"{self.amount:.4f}"
        digits = rounded[:-2] + rounded[-2:].rstrip("0")
        shown = number_format(digits, force_grouping=True)
        return f"{shown} {self.currency}".rstrip()


@dataclass(frozen=True, slots=True)
class Total:
    """A sum: one amount for each currency, and the number of pieces without a price."""

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
            return shown or str(NO_PRICE)
        if not shown:
            return str(NO_PRICE)
        text = gettext("%(sum)s + %(count)s without a price")
        return text % {"sum": shown, "count": self.unpriced}

    @property
    def moneys(self) -> list[Money]:
        """The sum in each currency, sorted by the name of the currency."""
        return [Money(self.amounts[name], name) for name in sorted(self.amounts)]

    @property
    def document(self) -> dict[str, Any]:
        """The sum for `--json`. Amounts are texts, since a float could lose cents."""
        moneys = [{"amount": f"{one.amount}", "currency": one.currency} for one in self.moneys]
        return {"amounts": moneys, "unpriced": self.unpriced}


def price_of(product: Mapping[str, Any]) -> Money | None:
    """Return the price of one piece, or None if the platform gives no number."""
    price = product.get("price")
    if not isinstance(price, Mapping) or isinstance(price.get("amount"), bool):
        return None
    try:
        amount = Decimal(str(price.get("amount")))
    except InvalidOperation:
        return None
    return Money(amount, plain(price.get("currency"))) if amount.is_finite() else None


def cost_of(product: Mapping[str, Any]) -> Total:
    """Return the cost of a chosen product in its quantity."""
    price, quantity = price_of(product), int(product.get("quantity") or 1)
    if price is None:
        return Total(unpriced=quantity)
    return Total({price.currency: price.amount * quantity})


def total(products: Iterable[Mapping[str, Any]]) -> Total:
    """Return the total cost of chosen products."""
    return sum((cost_of(product) for product in products), Total())


def changed_prices(
    before: Iterable[Mapping[str, Any]], after: Iterable[Mapping[str, Any]]
) -> list[Sentence]:
    """Return a sentence for each new price: "FLOOR_PLAN: 95.00 EUR instead of 89.00 EUR".

    Both contain the same products in the same order.
    """
    return [
        sentence(
            "%(product)s: %(new)s instead of %(old)s",
            product=name_of(new),
            new=_price(new),
            old=_price(old),
        )
        for old, new in zip(before, after, strict=True)
        if price_of(new) != price_of(old)
    ]


def _price(product: Mapping[str, Any]) -> str:
    price = price_of(product)
    return str(price) if price else sentence("price unknown")


def name_of(product: Mapping[str, Any]) -> str:
    """Return the value of a product such as GROUND_PHOTO, or its id if it has none."""
    return plain(product.get("product")) or plain(product.get("id")) or "?"

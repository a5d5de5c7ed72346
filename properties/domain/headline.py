"""What a list shows of a property besides its name: its address, its price and its rooms."""

from collections.abc import Mapping
from decimal import Decimal

from django.utils.formats import number_format
from django.utils.translation import gettext_lazy as _, pgettext_lazy

from crm_sync.translated import Text
from properties.catalog.numbers import whole

PER: dict[str, Text] = {
    "DAY": _("a day"),
    "WEEK": _("a week"),
    "MONTH": _("a month"),
    "YEAR": _("a year"),
}
AMOUNTS = {"rent": ("gross", "net"), "buy": ("price",)}  # the first there is
REFERRING: dict[str, Text] = {"M2": _("per m²"), "KM2": _("per km²")}
NET = pgettext_lazy("price", "net")


def address_lines(address: object) -> tuple[str, str]:
    """Return street with number, and postal code with locality, of an address; "" for none."""
    if not isinstance(address, Mapping):
        return "", ""
    return (
        _joined(address.get("street"), address.get("streetNumber")),
        _joined(address.get("postalCode"), address.get("locality")),
    )


def one_line(address: object) -> str:
    """Return the address on one line, or ""."""
    return ", ".join(filter(None, address_lines(address)))


def headline(address: object, title: object) -> str:
    """Return how a person names a property: by its address, else by its title, else ""."""
    return one_line(address) or (title if isinstance(title, str) else "")


def price(prices: object, offer_type: object) -> tuple[str, str]:
    """Return the price of the offer, such as ("CHF 2,450", "a month, net"); ("", "") for none.

    Args:
        prices: the `prices` of a document, of any shape.
        offer_type: BUY or RENT; with any other value the first price there is.
    """
    found = prices if isinstance(prices, Mapping) else {}
    currency = found.get("currency")
    for kind in {"BUY": ("buy",), "RENT": ("rent",)}.get(str(offer_type), ("buy", "rent")):
        part = found.get(kind)
        name = next((one for one in AMOUNTS[kind] if _is_amount(part, one)), None)
        if isinstance(part, Mapping) and name:
            said = (
                PER.get(str(part.get("interval")), ""),
                REFERRING.get(str(part.get("referring")), ""),
                NET if name == "net" else "",
            )
            return _joined(currency, grouped(part[name])), ", ".join(
                str(one) for one in said if one
            )
    return "", ""


def grouped(value: float) -> str:
    """Return an amount with its thousands apart: "1,250,000", "2,450.50"."""
    exact = Decimal(str(whole(value)))
    if exact.as_tuple().exponent == -1:
        exact = exact.quantize(Decimal("0.01"))  # nobody writes one digit for 50 cents
    return number_format(exact, force_grouping=True)


def _is_amount(part: object, name: str) -> bool:
    value = part.get(name) if isinstance(part, Mapping) else None
    return isinstance(value, int | float) and not isinstance(value, bool)


def _joined(*parts: object) -> str:
    return " ".join(str(part) for part in parts if part)

"""The values read from one line of IDX: fields, texts set aside, warnings; offer and prices."""

from typing import Any

from crm_sync.sentence import Sentence, sentence, sentence_of
from crm_sync.text import quoted
from properties import catalog
from properties.catalog.numbers import FRANCS, Unreadable, number
from properties.feeds.idx import idx_text
from properties.feeds.idx.codes import OFFER_TYPES, PRICE_UNITS, PRICES

Texts = dict[str, str]  # the texts of a line that are not blank, by column name
_PRICE = catalog.FIELDS["prices.buy.price"]
_OFFER_OF_UNIT = {unit: offer for offer, units in PRICE_UNITS.items() for unit in units}


class Draft:
    """Values by path of the property model, and texts set aside by the name of their column."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.leftover: dict[str, Any] = {}
        self.warnings: list[Sentence] = []

    def set_aside(self, name: str, text: str, why: str = "") -> None:
        """Store a text under the name of its column, with a warning if `why` is given."""
        self.leftover[name] = text
        if why:
            self.warnings.append(sentence_of(name, why))

    def refuse(self, name: str, text: str, error: Unreadable) -> None:
        """Set aside a text that is no value of its column. Words for "none" get no warning."""
        self.set_aside(name, text, "" if idx_text.says_nothing(text) else error.why)


def set_offer(texts: Texts, draft: Draft) -> None:
    """Set offer and prices; set aside the prices of the other kind of offer.

    Without an amount the price is on request, and the platform has no price. If offer_type is
    blank, as it can be for plots, the unit of the price determines it.
    """
    word, unit = texts.get("offer_type", "").upper(), texts.get("price_unit", "").upper()
    if word and word not in OFFER_TYPES:
        why = sentence("%(word)s is no offer", word=quoted(word))
        draft.set_aside("offer_type", texts["offer_type"], why)
    currency = draft.values.get("prices.currency", FRANCS)
    offer = word if word in OFFER_TYPES else _OFFER_OF_UNIT.get(unit, "")
    if offer:
        draft.values["offerType"] = OFFER_TYPES[offer]
    names = PRICES.get(offer, {})
    price: dict[str, Any] = {}
    for name in PRICES["RENT"]:
        if text := texts.get(name):
            amount = _amount(draft, name, text, currency)
            if amount and name in names:
                price[names[name]] = amount
            elif amount:
                why = sentence("is no price without an offer_type")
                draft.set_aside(name, text, "" if offer else why)
    says = PRICE_UNITS.get(offer, {}).get(unit)
    if price and says:
        price |= says
    elif unit and says is None:
        draft.set_aside("price_unit", texts["price_unit"])
    if price:
        draft.values["prices.rent" if offer == "RENT" else "prices.buy"] = price


def _amount(draft: Draft, name: str, text: str, currency: str) -> int | float | None:
    try:
        return number(_PRICE, text, currency=currency)
    except Unreadable as error:
        draft.refuse(name, text, error)
        return None

"""Pure: what can be chosen for an order, and the bodies that say it (A30-A33)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from crm_sync.text import plain
from orders.models import Placement
from orders.placing.errors import NoSuchChoice
from orders.placing.prices import name_of

PARTS = ("billing", "organization", "delivery")  # of the instructions (A32)

Document = dict[str, Any]


def chosen_products(offered: Sequence[Document], names: Sequence[str]) -> list[Document]:
    """Return the products of a session that are named, each with its quantity.

    Args:
        offered: as the session lists them (A31).
        names: ids or values such as GROUND_PHOTO; one named twice is ordered twice.

    Raises:
        NoSuchChoice: none is named, or one is not offered, or its value is that of several.
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
    """Return the id of one option for each part, the first one where none is chosen.

    Args:
        options: as the platform lists them for the products (A32).

    Raises:
        NoSuchChoice: what is chosen is not offered.
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
    """Find chosen products in a session, by id, else by the value that only one product has.

    Returns:
        them as the session lists them, in the same order and quantity; and in words those that it
        does not offer.
    """
    kept, missing = [], []
    for product in chosen:
        found = _same(product, offered)
        if found is None:
            missing.append(f"{name_of(product)} is not offered any more")
        else:
            kept.append(found | {"quantity": product["quantity"]})
    return kept, missing


def _same(product: Document, offered: Sequence[Document]) -> Document | None:
    for key in ("id", "product"):
        value = plain(product.get(key))
        found = [item for item in offered if value and plain(item.get(key)) == value]
        if len(found) == 1:
            return found[0]
    return None


def kept_instructions(
    chosen: Mapping[str, str], before: Document, options: Document
) -> tuple[dict[str, str], list[str]]:
    """Find chosen instructions among options, by id, else by the label that it had before.

    Returns:
        an id for each part, the first option where none was chosen or it is not there any more;
        and in words those that are not there.
    """
    kept, missing = {}, []
    for part in PARTS:
        there, wanted = labels(options.get(part)), chosen.get(part)
        label = labels(before.get(part)).get(wanted or "")
        same = [key for key, name in there.items() if key == wanted or (label and name == label)]
        if wanted is not None and not same:
            missing.append(f"the {part} {label or wanted!r} is not offered any more")
        if there:
            kept[part] = wanted if wanted in there else next(iter(same or there))
    return kept, missing


def labels(options: Any) -> dict[str, str]:
    """Return id to label of the options of one part, in the order of the platform."""
    listed = options if isinstance(options, list) else []
    return {
        option: plain(one.get("label"))
        for one in listed
        if isinstance(one, dict) and (option := plain(one.get("id")))
    }


def lines(products: Sequence[Document]) -> list[Document]:
    """Return products as the bodies name them: id and quantity."""
    return [{"id": str(item["id"]), "quantity": item["quantity"]} for item in products]


def session_body(placement: Placement) -> Document:
    """The body of POST /v1/sessions (A30); by platform id once we know that (A44)."""
    mine = placement.real_estate_property
    if mine is not None and mine.platform_id:
        return placement.acting | {"realEstatePropertyId": mine.platform_id}
    return placement.acting | {"objectReferenceId": placement.object_reference_id}


def order_body(placement: Placement) -> Document:
    """The body of POST /v1/orders (A33)."""
    return {
        "sessionId": placement.session_id,
        "products": lines(placement.products),
        "instructions": placement.instructions,
    }

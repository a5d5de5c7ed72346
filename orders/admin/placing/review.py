"""The review of an order before it is placed: in words, and exactly as it is sent."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext

from crm_sync.admin.ui.cells import link, page_of
from orders.admin.cells import who_fact, worded
from orders.admin.placing.choice_form import product_name
from orders.models import Placement
from orders.placing.duplicates import AlreadyOrdered, already_ordered
from orders.placing.session_offer import (
    NO_PRICE,
    PARTS,
    cost_of,
    labels,
    order_body,
    price_of,
    session_body,
    total,
)


def review(placement: Placement) -> dict[str, Any]:
    """Return what the template needs to show the order before it is placed."""
    cost, button = total(placement.products), gettext("Place this order")
    found = already_ordered([placement])
    if cost.amounts:
        button = gettext("Place this order for %(cost)s") % {"cost": cost}
    return {
        "facts": _facts(placement),
        "lines": lines(placement),
        "sum": cost,
        "button": button,
        "warnings": [warned(one) for one in found[0]],
        "warned": " ".join(subjects(found)),
        "calls": calls(placement),
    }


def calls(placement: Placement) -> list[tuple[str, str]]:
    """Return the two request bodies as they are sent, once everything is chosen."""
    if not placement.products or not placement.session_id:
        return []
    return [
        ("POST /v1/sessions", _shown(session_body(placement))),
        ("POST /v1/orders", _shown(order_body(placement))),
    ]


def lines(placement: Placement) -> list[dict[str, Any]]:
    """Return the products in words: name, quantity, unit price and cost."""
    return [
        {
            "name": product_name(product),
            "quantity": product.get("quantity") or 1,
            "price": price_of(product) or NO_PRICE,
            "cost": cost_of(product),
        }
        for product in placement.products
    ]


def warned(found: AlreadyOrdered) -> tuple[str, Any]:
    """Return a warning in words, and a link to the order or placement that it names."""
    zone = timezone.get_current_timezone()
    return found.told(worded, zone), link(page_of(found.subject), gettext("Look at it"))


def subjects(found: Iterable[Iterable[AlreadyOrdered]]) -> list[str]:
    """Return a name for each order and placement that a review warns of, for its form."""
    every = {one.subject for some in found for one in some}
    return sorted(f"{one._meta.model_name}-{one.pk}" for one in every)


def warns_of_more(placements: Sequence[Placement], shown: str) -> bool:
    """Return whether the review would warn of more now than the form that was sent has shown.

    Somebody else may have ordered the same since.
    """
    return not set(subjects(already_ordered(placements))) <= set(shown.split())


def instructions_in_words(placement: Placement) -> list[tuple[str, str]]:
    """Return each part of the instructions with the label of the chosen option."""
    chosen = placement.instructions
    return [
        (
            PARTS[part].said(),
            labels(placement.options.get(part)).get(chosen[part]) or chosen[part],
        )
        for part in PARTS
        if part in chosen
    ]


def _facts(placement: Placement) -> list[tuple[str, object]]:
    return [
        (
            gettext("Property"),
            link(page_of(placement.real_estate_property), placement.object_reference_id),
        ),
        (gettext("Ordered by"), who_fact(placement.who)),
        *instructions_in_words(placement),
    ]


def _shown(body: dict[str, Any]) -> str:
    return json.dumps(body, indent=2, ensure_ascii=False)

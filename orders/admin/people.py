"""The users of the platform by their names, wherever a call names one."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import Q

from orders.models import Order, PlatformUser


def acting_key(body: Mapping[str, Any]) -> str:
    """Return the id or the reference by which a body says who acts (A34)."""
    return str(body.get("userId") or body.get("userReferenceId") or "")


def user_names(order: Order, bodies: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the names of those who act in these bodies of an order, by id and reference.

    One query; whom we do not know, or not by name, is not in it.
    """
    keys = set(map(acting_key, bodies)) - {""}
    known = PlatformUser.objects.filter(
        Q(platform_id__in=keys) | Q(user_reference_id__in=keys), workspace=order.workspace_id
    )
    named = [one for one in known if one.name]
    by_reference = {one.user_reference_id: one.name for one in named if one.user_reference_id}
    return by_reference | {one.platform_id: one.name for one in named}

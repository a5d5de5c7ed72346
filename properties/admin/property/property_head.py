"""The head of a property's page: what it is, where it is, its state, and what comes next."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from crm_sync import hooks
from crm_sync.admin.ui.cells import moment
from crm_sync.hooks import HeadFact
from properties.admin.property.match_page import match_address
from properties.admin.property.sync_tab import state_badge
from properties.admin.words import rooms_in_words
from properties.catalog import choice_name
from properties.domain import headline
from properties.models import Property
from properties.models.property import SyncState


def property_head(row: Any, user: Any, now: datetime) -> dict[str, Any]:
    """Return the values for `properties/head.html`, in a few bounded queries."""
    document = row.desired
    amount, how = headline.price(document.get("prices"), document.get("offerType"))
    kind = document.get("propertyType")
    return {
        "picture": pictures([row.pk], user).get(row.pk, ""),
        "title": row.title or "",
        "address": headline.one_line(document.get("address")),
        "price": amount,
        "price_note": how,
        "parts": [
            part
            for part in (
                rooms_in_words(document.get("numberOfRooms")),
                choice_name(kind) if isinstance(kind, str) else "",
            )
            if part
        ],
        "state": state_badge(row.sync_state),
        "since": moment(row.read_at, now) if row.read_at else "",
        "match": match_address(row.workspace_id) if row.sync_state == SyncState.TO_MATCH else "",
        "is_in_sync": row.sync_state == SyncState.IN_SYNC,
        "facts": _facts(row, user, now),
    }


def pictures(keys: Collection[int], user: Any) -> dict[int, str]:
    """Return the addresses of the pictures of properties by key, as far as this person may see.

    A constant number of queries (S17).
    """
    found: dict[int, str] = {}
    for one in hooks.plugged().property_pictures:
        if user.has_perm(one.permission):
            found |= one.find(keys)
    return found


def _facts(row: Property, user: Any, now: datetime) -> list[HeadFact]:
    """Return the facts of the other apps that this person may see (S17)."""
    found = [one for tell in hooks.plugged().property_facts for one in tell(row, now)]
    return [one for one in found if user.has_perm(one.permission)]

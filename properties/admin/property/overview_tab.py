"""The tab "Overview": what waits for a person, what differs, and the most important facts."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.admin.ui.cells import EMPTY, badge, moment, shortened
from crm_sync.platform.problems import explain
from properties.admin.property.match_page import match_address
from properties.admin.property.sync_tab import state_badge
from properties.admin.words import and_more, in_one_line, problem_in_words
from properties.catalog import label, value_at
from properties.forms.form_tree import tab_of
from properties.models import Property
from properties.models.property import SyncState

MOST = 8  # lines of what waits; the tabs show the rest at its field
NAMED = 4  # fields that differ
LONGEST = 120  # characters of a fact
TO_MATCH_TEXT = _("The platform may have it already")
FACTS = (
    *("propertyType", "offerType", "numberOfRooms", "areaUsable", "areaRentable"),
    *("areaPropertyLand", "floor", "yearBuilt", "availabilityState", "availabilityStartAt"),
    *("displayReferenceId", "seller.contactPerson.givenName", "seller.contactPerson.familyName"),
    "seller.contactPerson.phone",
)


def overview_tab(row: Property, sync: dict[str, Any], now: datetime) -> dict[str, Any]:
    """Return the values of the tab; no query.

    Args:
        sync: those of the tab with the sync facts.
    """
    waiting = _to_match(row) + [_waiting(*one) for one in row.problems]
    found = sync["differences"] if row.observed else []
    differing = [(one["name"], tab_of(one["path"])) for one in found if not one["is_kept"]]
    kept = [one["name"] for one in found if one["is_kept"]]
    return {
        "waiting": waiting[:MOST],
        "waiting_count": len(waiting),
        "waiting_more": len(waiting) - MOST,
        "is_confirmed": bool(row.observed),
        "differing": _first([_to_tab(name, tab) for name, tab in differing]),
        "differing_count": len(differing),
        "kept": _first(kept),
        "facts": [
            (label(path), shortened(in_one_line(path, value), LONGEST))
            for path in FACTS
            if (value := value_at(row.desired, path)) not in (None, "", [], {})
        ],
        "identity": _identity(row, now),
        "last_change": sync["changes"][0] if sync["changes"] else None,
    }


def _to_tab(name: str, tab: str) -> SafeString | str:
    """Return the name of a field, as a link to the tab that has it."""
    return format_html('<a class="cs-link" href="#{}">{}</a>', tab, name) if tab else name


def _first(names: Sequence[SafeString | str]) -> SafeString:
    """Return the first names, and how many more there are; "" for none."""
    first = format_html_join(", ", "{}", ((name,) for name in names[:NAMED]))
    return SafeString(and_more(first, len(names) - NAMED))


def _to_match(row: Property) -> list[dict[str, Any]]:
    """Return what waits if the platform may have the property already (I36)."""
    if row.sync_state != SyncState.TO_MATCH:  # type: ignore[attr-defined] # annotated
        return []
    return [
        {
            "badge": state_badge(SyncState.TO_MATCH),
            "name": gettext("Match it"),
            "link": match_address(row.workspace_id),
            "text": TO_MATCH_TEXT,
        }
    ]


def _waiting(kind: str, path: str, problem: Any) -> dict[str, Any]:
    """Return one field that waits for a person, with the tab in which it is settled."""
    is_known = kind in SyncState.values  # a newer version may have stored another one
    tab = tab_of(path) if path else ""
    return {
        "badge": state_badge(kind) if is_known else badge(kind, "warning"),
        "name": label(path) if path else gettext("The property"),
        "link": f"#{tab}" if tab else "",
        "text": problem_in_words(kind, problem) if path else explain(problem).sentence,
    }


def _identity(row: Property, now: datetime) -> list[tuple[str, SafeString | str]]:
    """Return what names the property on both sides, and when they were last compared."""
    is_in_sync = row.sync_state == SyncState.IN_SYNC  # type: ignore[attr-defined] # annotated
    return [
        (gettext("Reference"), row.object_reference_id or EMPTY),
        (gettext("Platform ID"), row.platform_id or EMPTY),
        (gettext("Workspace"), row.workspace_slug),  # type: ignore[attr-defined] # annotated
        (
            gettext("In sync as of") if is_in_sync else gettext("Last read"),
            moment(row.read_at, now),
        ),
    ]

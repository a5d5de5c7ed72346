"""What a source can have, and what follows from a change: for the page and for the file."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from django.utils.translation import gettext

from properties.models.source import Delivery, SignIn
from properties.sources.address import parsed
from properties.sources.fetch import FOLDERS

_HEADER = re.compile("[A-Za-z0-9][A-Za-z0-9_-]*")
# Headers of the request itself: another value would change its content or its target.
_OURS = frozenset(
    {
        *("host", "connection", "content-length", "transfer-encoding", "accept-encoding"),
        *("range", "user-agent", "if-none-match", "if-modified-since"),
    }
)


def sign_in_faults(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield field and message for each value that cannot be sent."""
    way, secret, name = data.get("sign_in"), data.get("new_secret") or "", data.get("header") or ""
    if way in (None, SignIn.PASSWORD):
        return
    if "address" in data and parsed(data["address"]).scheme not in ("https", "http"):
        yield "sign_in", gettext("Only an address with https:// or http:// knows this way.")
    if way == SignIn.HEADER and not _HEADER.fullmatch(name):
        yield "header", gettext("Enter a name such as X-Api-Key: letters, digits and hyphens.")
    if name.lower() in _OURS:
        yield "header", gettext("This header is set by ourselves.")
    is_sent = way in (SignIn.BEARER, SignIn.HEADER)
    if is_sent and not (secret.isascii() and secret.isprintable()):
        yield "new_secret", gettext("A header takes one line of letters, digits and marks.")


def delivery_faults(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield field and message if the address has no folder in which files lie one by one."""
    if data.get("delivery") != Delivery.IN_TURN or "address" not in data:
        return
    if parsed(data["address"]).scheme not in FOLDERS:
        yield "delivery", gettext("Only SFTP, FTP and a folder of the server know this way.")


def with_effects(columns: Mapping[str, Any], *, is_enabled: bool, now: datetime) -> dict[str, Any]:
    """Return the columns that a change writes: what was changed, and what starts anew with it.

    The first import after a change of address, sender or delivery waits for a person.
    """
    found = dict(columns)
    if not {"sender", "address", "delivery"}.isdisjoint(found):
        found |= {"set_at": now, "etag": "", "modified": "", "size": None}
        found |= {"digest": "", "read_as": "", "away_since": None, "host_key": ""}
        found |= {"skips_before": None, "goes_on": False}
    if found:
        found |= {"due_at": now if is_enabled else None, "attempts": 0, "problem": ""}
    return found

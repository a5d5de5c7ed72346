"""What a target can have, and what follows from a change: for the page and for the file."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from crm_sync.outgoing.sending import fault
from crm_sync.sentence import Sentence, sentence
from orders.targets import put
from properties.sources.address import parsed

WEB = ("https", "http")
_PRODUCT = re.compile(r"[A-Z0-9_]{1,100}")


def place_faults(kind: str, address: str) -> Iterator[Sentence]:
    """Yield why an address is none of a kind of target: at most one sentence."""
    try:
        scheme = parsed(address).scheme
    except ValueError as error:
        yield Sentence(str(error))
        return
    if scheme not in put.SCHEMES.get(kind, ()):
        yield sentence("the address is none of this kind of target")
    elif scheme in WEB and (found := fault(address)):
        yield found


def product_faults(names: list[str]) -> Iterator[Sentence]:
    """Yield a sentence for each name that is none of a product on the platform (§4.2)."""
    for one in names:
        if not _PRODUCT.fullmatch(one):
            yield sentence("%(name)s is not the name of a product", name=one)


def with_effects(columns: Mapping[str, Any], *, now: datetime) -> dict[str, Any]:
    """Return the columns that a change writes: what was changed, and what starts anew with it."""
    found = dict(columns)
    if not {"kind", "address"}.isdisjoint(found):
        found |= {"host_key": "", "tested_at": None}
    if found:
        found |= {"due_at": now, "attempts": 0, "failing_since": None, "problem": ""}
    return found

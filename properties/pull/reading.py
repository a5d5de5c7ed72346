"""A full read of one property: by reference, by id, or by the list where it has neither."""

import logging
from dataclasses import dataclass
from typing import Any

from crm_sync.platform import references
from crm_sync.platform.client import Client
from crm_sync.platform.errors import NOT_TAKEN, NotFoundError, RejectedError, TransientError
from crm_sync.platform.responses import Answer
from crm_sync.text import clean, plain
from properties.catalog import UNKNOWN_NAMES, within_limit
from properties.domain.editing import REFERENCE
from properties.models import Property

Document = dict[str, Any]
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ReadResult:
    """What a read found.

    Attributes:
        document: cleaned text; None when the platform has no such property (A2).
        by_id: calls go to the id, since the reference names no property or another one (A44), or
            cannot travel (A14).
    """

    document: Document | None
    by_id: bool


def goes_by_id(row: Property) -> bool:
    """Tell whether the property has an id, and no reference that names it in a path.

    Its reference is still to be given or changed (A44), or cannot travel (A14).
    """
    reference = row.object_reference_id
    if row.platform_id is None:
        return False
    unnamed = reference is None or row.observed.get(REFERENCE) != reference
    return unnamed or references.path_fault(str(reference)) is not None


def read(client: Client, row: Property) -> ReadResult:
    """Return what the platform holds of a property now.

    Raises:
        SyncError: no answer, or one that is no property.
    """
    try:
        return _read(client, row)
    except RejectedError as error:
        if error.status not in NOT_TAKEN:
            raise
        raise TransientError(str(error), unclear=False, pauses=True) from error  # not of this one


def _read(client: Client, row: Property) -> ReadResult:
    if goes_by_id(row):
        return ReadResult(_by_id(client, row), by_id=True)
    if references.path_fault(str(row.object_reference_id)):
        listed = _in_list(client, row)
        return ReadResult(listed, by_id=listed is not None)
    try:
        named = _document(client.get_property_by_reference(str(row.object_reference_id)))
    except NotFoundError:
        named = None
    if row.platform_id is None or (named and str(named.get("id")) == row.platform_id):
        return ReadResult(named, by_id=False)
    # Another one has the reference. Ours may be there beside it, or was created anew.
    ours = _by_id(client, row)
    return ReadResult(ours or named, by_id=ours is not None)


def _by_id(client: Client, row: Property) -> Document | None:
    try:
        return _document(client.get_property(str(row.platform_id)))
    except NotFoundError:
        return None


def _in_list(client: Client, row: Property) -> Document | None:
    """Find a property that has no id here and no reference for a path (A14).

    Nothing was sent of most of them: the creation says by 409 if it is there (A45), and the next
    attempt looks for it. So an import of many costs no walk for each.
    """
    if row.create_sent_at is None and not row.attempts:
        return None
    page, before, is_last = 0, None, False
    while not is_last:
        items, is_last, *_ = client.property_page(page)
        if items and items == before:
            raise TransientError(f"page {page} of the list repeats the one before", unclear=False)
        for item in clean(items)[0]:
            if plain(item.get(REFERENCE)) == row.object_reference_id and plain(item.get("id")):
                return _document(client.get_property(plain(item["id"])))
        page, before = page + 1, items
    return None


def _document(answer: Answer) -> Document:
    if not answer.document or not isinstance(answer.document, dict):
        raise TransientError("the platform's answer is no property", unclear=False)
    return kept(answer)


def kept(answer: Answer) -> Document:
    """Return the property that an answer holds, without more unknown names than are kept."""
    document, left_out = within_limit(answer.cleaned)
    if left_out:
        log.warning(
            "property %s: %s unknown names were left out, at most %s are kept",
            document.get("id"),
            left_out,
            UNKNOWN_NAMES,
        )
    return document

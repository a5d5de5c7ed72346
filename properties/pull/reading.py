"""A full read of one property: by reference, by id, or from the list if it has neither."""

import logging
from dataclasses import dataclass
from typing import Any

from crm_sync.platform import references
from crm_sync.platform.client import Client
from crm_sync.platform.errors import NOT_TAKEN, NotFoundError, RejectedError, TransientError
from crm_sync.platform.responses import Answer
from crm_sync.sentence import sentence
from crm_sync.text import clean, plain
from properties.catalog import UNKNOWN_NAMES, within_limit
from properties.domain.editing import REFERENCE
from properties.models import Property

Document = dict[str, Any]
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ReadResult:
    """The result of a read.

    Attributes:
        document: the property, with its texts cleaned; None if the platform has none (A2).
        by_id: calls must use the id, because the reference names no property or another one (A44),
            or cannot be part of a path (A14).
    """

    document: Document | None
    by_id: bool


def goes_by_id(row: Property) -> bool:
    """Return whether calls must use the id, because no reference names the property in a path.

    The platform does not have its reference yet (A44), or a path cannot contain it (A14).
    """
    reference = row.object_reference_id
    if row.platform_id is None:
        return False
    unnamed = reference is None or row.observed.get(REFERENCE) != reference
    return unnamed or references.path_fault(str(reference)) is not None


def read(client: Client, row: Property) -> ReadResult:
    """Return what the platform holds of a property now.

    Raises:
        SyncError: there was no answer, or the answer is no property.
    """
    try:
        return _read(client, row)
    except RejectedError as error:
        if error.status not in NOT_TAKEN:
            raise
        # It concerns the workspace, not this property.
        raise TransientError(str(error), unclear=False, pauses=True) from error


def _read(client: Client, row: Property) -> ReadResult:
    if goes_by_id(row):
        return ReadResult(_by_id(client, row), by_id=True)
    if row.object_reference_id is None:  # nothing names what is gone and never had one (A44)
        return ReadResult(None, by_id=False)
    if references.path_fault(str(row.object_reference_id)):
        listed = _in_list(client, row)
        return ReadResult(listed, by_id=listed is not None)
    try:
        named = _document(client.get_property_by_reference(str(row.object_reference_id)))
    except NotFoundError:
        named = None
    if row.platform_id is None or (named and str(named.get("id")) == row.platform_id):
        return ReadResult(named, by_id=False)
    # Another property has the reference. Ours may exist beside it, or was created again.
    ours = _by_id(client, row)
    return ReadResult(ours or named, by_id=ours is not None)


def _by_id(client: Client, row: Property) -> Document | None:
    try:
        return _document(client.get_property(str(row.platform_id)))
    except NotFoundError:
        return None


def _in_list(client: Client, row: Property) -> Document | None:
    """Find a property that has no id here and no reference that a path can contain (A14).

    Most of these properties were not sent yet. If the platform has one, its creation answers 409
    (A45), and the next attempt searches the list. So an import of many needs no walk for each.
    """
    if row.create_sent_at is None and not row.attempts:
        return None
    page, before, is_last = 0, None, False
    while not is_last:
        items, is_last, *_ = client.property_page(page)
        if items and items == before:
            text = sentence("page %(page)s of the list repeats the one before", page=page)
            raise TransientError(text, unclear=False)
        for item in clean(items)[0]:
            if plain(item.get(REFERENCE)) == row.object_reference_id and plain(item.get("id")):
                return _document(client.get_property(plain(item["id"])))
        page, before = page + 1, items
    return None


def _document(answer: Answer) -> Document:
    if not answer.document or not isinstance(answer.document, dict):
        raise TransientError(sentence("the platform's answer is no property"), unclear=False)
    return kept(answer)


def kept(answer: Answer) -> Document:
    """Return the property of an answer, its id as text, with a limited number of unknown names."""
    document, left_out = within_limit(answer.cleaned)
    if left_out:
        log.warning(
            "property %s: %s unknown names were left out, at most %s are kept",
            document.get("id"),
            left_out,
            UNKNOWN_NAMES,
        )
    told = plain(document.get("id"))  # A7
    return document | {"id": told} if told else document

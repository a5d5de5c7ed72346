"""Pure: the lists in the platform's answers, with or without an envelope around them (§2.6, A1)."""

from typing import Any, NamedTuple

from crm_sync.platform.errors import TransientError
from crm_sync.sentence import sentence
from crm_sync.text import plain

Document = dict[str, Any]


class Page(NamedTuple):
    """One page of a list.

    Attributes:
        items: its entries.
        is_last: whether no page follows.
        total: the number of entries of all pages, or None if the platform does not send it.
        dropped: the number of entries that were dropped because they are not JSON objects.
    """

    items: list[Document]
    is_last: bool
    total: int | None
    dropped: int


def page(document: Any) -> Page:
    """Return the page in a document. The list may be missing if `totalElements` is 0.

    Raises:
        TransientError: there is no list.
    """
    listed = _named(document, "content")
    if listed is None and isinstance(document, dict) and document.get("totalElements") == 0:
        listed = []
    items = documents(listed)
    envelope = document if isinstance(document, dict) else {}
    total = envelope.get("totalElements")
    # `last` may be missing. An empty page is always the last one.
    is_last = envelope.get("last") is True or not items
    return Page(items, is_last, total if type(total) is int else None, len(listed) - len(items))


def items(document: Any, name: str) -> list[Document]:
    """Return the list under `name`, or the document's only list under another name.

    Raises:
        TransientError: there is none.
    """
    return documents(_named(document, name))


def identified(document: Any, name: str) -> list[Document]:
    """Return the list as `items` does, and turn a list of plain ids into objects with an `id`."""
    return documents(with_ids(_named(document, name)))


def with_ids(value: Any) -> Any:
    """Turn a list of plain ids, texts or numbers (A7), into objects with an `id`.

    A list with objects, or a value that is not a list, is returned unchanged.
    """
    if not isinstance(value, list) or any(isinstance(one, dict) for one in value):
        return value
    return [{"id": one} if plain(one) and type(one) is not bool else one for one in value]


def items_or_none(document: Any, name: str) -> list[Document]:
    """Return the list under `name`; empty for 204, null and an object without any list.

    Use it only if nothing final follows from an empty list.

    Raises:
        TransientError: there is a value that is not a list.
    """
    if document is None or (isinstance(document, dict) and _leaves_out(document, name)):
        return []
    return items(document, name)


def _leaves_out(document: Document, name: str) -> bool:
    """Return whether the list is missing or null, which an empty member may be (§2)."""
    has_list = any(isinstance(value, list) for value in document.values())
    return document.get(name) is None and not has_list


def documents(value: Any) -> list[Document]:
    """Return the JSON objects of a list.

    Raises:
        TransientError: the value is not a list.
    """
    if not isinstance(value, list):
        raise TransientError(sentence("the answer holds no list where one belongs"), unclear=False)
    return [item for item in value if isinstance(item, dict)]


def _named(document: Any, name: str) -> Any:
    if not isinstance(document, dict):
        return document
    lists = [value for value in document.values() if isinstance(value, list)]
    named = document.get(name)
    return named if isinstance(named, list) else lists[0] if len(lists) == 1 else None

"""Pure: converts the body of a request to the changes for `editing.edit`."""

from collections.abc import Callable, Mapping
from typing import Any

from rest_framework.exceptions import ValidationError
from rest_framework.fields import CharField

from crm_sync.text import clean, holds_nothing_unstorable
from properties import merge
from properties.catalog import MERGED, READ_ONLY, FieldFault, find, leaf_of, text_faults
from properties.domain.editing import REFERENCE, Invalid
from properties.merge import Document, Leaves

_TEXT = CharField(allow_blank=True)  # what every other body checks a text with


def patched(body: Mapping[str, Any], reference: str, before: Document) -> Leaves:
    """Return the changes of a PATCH: what is named is set, null clears, the rest stays.

    The four merged objects are merged member by member (§4.6 rule 3), and null clears each member
    that they have; every other field is replaced as a whole.

    Raises:
        Invalid: a name is a path, a merged object is not an object, the reference another one, or
            a text cannot be stored.
    """
    faults = _unstorable(body)
    faults += [fault for name in body if (fault := _fault(name, body[name], reference))]
    if faults:
        raise Invalid(faults)
    changes: Leaves = {}
    for name, value in body.items():
        if name not in MERGED:
            changes[name] = value
            continue
        members = before.get(name) or {}
        given = dict.fromkeys(members) if value is None else value
        changes |= {f"{name}.{member}": inner for member, inner in given.items()}
    return changes


def replaced(
    body: Mapping[str, Any],
    reference: str,
    before: Document,
    is_locked: Callable[[str], bool] = lambda path: False,
) -> Leaves:
    """Return the changes of a PUT: as of a PATCH, and what the body leaves out is cleared.

    Four kinds of fields stay: the reference, what the platform sets itself, fields that the
    catalog does not know, since the caller cannot know them either, and fields that a rule of the
    workspace gives to the platform.

    Args:
        is_locked: whether a rule keeps a leaf from being changed here.

    Raises:
        Invalid: as `patched` does.
    """
    changes = patched(body, reference, before)
    left_out = [path for path in merge.leaves(before) if path not in changes and _is_ours(path)]
    left_out = [path for path in left_out if not is_locked(path)]
    return dict.fromkeys(left_out) | changes


def _is_ours(path: str) -> bool:
    field = find(path)
    return field is not None and path != REFERENCE and leaf_of(path) not in READ_ONLY


def _unstorable(body: Mapping[str, Any]) -> list[FieldFault]:
    """Return the texts and names that no database keeps."""
    if holds_nothing_unstorable(body):
        return []
    return [
        FieldFault(clean(fault.path)[0], fault.message)
        for name, value in body.items()
        for text in (name, value)
        for fault in text_faults(name, text, _text_fault)
    ]


def _text_fault(text: str) -> str | None:
    try:
        _TEXT.run_validation(text)
    except ValidationError as error:
        return " ".join(str(said) for said in error.detail)
    return None


def _fault(name: str, value: object, reference: str) -> FieldFault | None:
    if "." in name or "[" in name:
        return FieldFault(name, "Write a name, not a path: put the value into its object")
    if name in MERGED and not isinstance(value, dict | None):
        return FieldFault(name, "Write an object")
    if name == REFERENCE and value != reference:
        return FieldFault(name, f"Write {reference}, as in the address, or leave it out")
    return None

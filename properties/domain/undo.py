"""Undoing a change is an edit like any other: recorded, sent, and undone in turn."""

from datetime import datetime
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from properties import merge
from properties.catalog import equal
from properties.domain.editing import REFERENCE, edit
from properties.models import Change, Property

FIXED = frozenset({REFERENCE})  # the key of the property: chosen once, with its creation


class ChangedSince(Exception):
    """The field has another value, `current`, than the one that the person saw."""

    def __init__(self, current: Any) -> None:
        super().__init__("the field was changed since")
        self.current = current


def can_undo(change: Change) -> bool:
    """Tell whether the field of a change may be set back at all."""
    return change.path not in FIXED


def undo(change: Change, *, seen: Any, actor: AbstractBaseUser, now: datetime) -> bool:
    """Set the field back to its value before the change; None clears it.

    Args:
        change: the change of one leaf, or one part of a creation.
        seen: the value that the person has seen as the present one.

    Returns:
        False when the field has the old value already, and nothing was changed.

    Raises:
        ChangedSince: the field has another value than `seen`; nothing was changed.
        Invalid: the old value may not be set, such as UNKNOWN.
    """
    while True:
        row = Property.objects.get(pk=change.real_estate_property_id)
        current = merge.leaves(row.desired).get(change.path)
        if equal(change.path, current, change.old):
            return False
        if not equal(change.path, current, seen):
            raise ChangedSince(current)
        with transaction.atomic():
            # This locks the row until the commit, so that nobody edits it in between.
            same = Property.objects.filter(pk=row.pk, revision=row.revision)
            if same.update(revision=row.revision):
                note = f"undo of change {change.pk}"
                edit(
                    row,
                    {change.path: change.old},
                    origin=Change.Origin.ADMIN,
                    actor=actor,
                    now=now,
                    note=note,
                )
                return True

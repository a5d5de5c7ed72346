"""The undo of a change: a normal edit, which is recorded, sent, and can itself be undone."""

from datetime import datetime
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from properties import merge
from properties.catalog import equal
from properties.domain.editing import REFERENCE, edit
from properties.models import Change, Property

FIXED = frozenset({REFERENCE})  # the key of the property, chosen when it is created


class ChangedSince(Exception):
    """The field now has the value `current`, which is not the one that the person saw."""

    def __init__(self, current: Any) -> None:
        super().__init__("the field was changed since")
        self.current = current


def can_undo(change: Change) -> bool:
    """Return whether the change can be undone at all."""
    return change.path not in FIXED


def undo(change: Change, *, seen: Any, actor: AbstractBaseUser, now: datetime) -> bool:
    """Set the field back to its value before the change; None clears it.

    Args:
        change: the change of one leaf, or one leaf of a creation.
        seen: the value that the page showed as the current one.

    Returns:
        False if the field had the old value already and nothing was changed.

    Raises:
        ChangedSince: the field has another value than `seen`; nothing was changed.
        Invalid: the old value cannot be set, such as UNKNOWN.
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

"""The undo of changes: normal edits, which are recorded, sent, and can themselves be undone.

One change is undone as its page shows it. Many changes are undone as one: each field that nobody
has changed since gets the value that it had before them, and the others are kept and named.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from crm_sync.sentence import sentence
from properties import merge
from properties.catalog import equal
from properties.domain import owners
from properties.domain.editing import REFERENCE, Outdated, edit, faults, without_theirs
from properties.merge import Leaves, Owner
from properties.models import Change, Property

FIXED = frozenset({REFERENCE})  # the key of the property, chosen when it is created


class ChangedSince(Exception):
    """The field now has the value `current`, which is not the one that the person saw."""

    def __init__(self, current: Any) -> None:
        super().__init__("the field was changed since")
        self.current = current


class Kept(TextChoices):
    """Why the undo of many changes does not restore something."""

    SINCE = "SINCE", _("Changed since")
    INVALID = "INVALID", _("The old value cannot be set any more")
    OWNED = "OWNED", _("The platform owns it, by a rule of the workspace")
    FILLED = (
        "FILLED",
        _("A rule of the workspace only fills it if empty, and the platform has a value"),
    )
    THERE = (
        "THERE",
        _("Created, and the platform may have it: nothing deletes a property there"),
    )
    NEEDED = "NEEDED", _("Created, and an order or a placement is for it")


@dataclass(frozen=True)
class KeptPart:
    """A leaf that is not restored, or "" for a property that was created.

    Attributes:
        change: the newer change, if it is known.
    """

    path: str
    reason: Kept
    change: Change | None = None


@dataclass
class RowUndo:
    """What the undo of many changes means for one property.

    Attributes:
        values: the leaves to restore, with the value from before; None clears.
        same: the leaves that have this value already.
        removes: whether the property is removed, because they created it and nobody else has it.
    """

    values: Leaves = field(default_factory=dict)
    same: list[str] = field(default_factory=list)
    kept: list[KeptPart] = field(default_factory=list)
    removes: bool = False


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
    row = Property.objects.get(pk=change.real_estate_property_id)
    by: dict[str, Any] = {"origin": Change.Origin.ADMIN, "actor": actor, "now": now}
    while True:
        current = merge.leaves(row.desired).get(change.path)
        if equal(change.path, current, change.old):
            return False
        if not equal(change.path, current, seen):
            raise ChangedSince(current)
        back = {change.path: change.old}
        note = sentence("undo of change %(id)s", id=str(change.pk))
        try:
            edit(row, back, note=note, revision=row.revision, **by)
        except Outdated:
            continue  # the row has been read again
        return True


def row_undo(row: Property, history: Sequence[Change], selected: Collection[int]) -> RowUndo:
    """Return what the undo of the selected changes means for a property, as it was read.

    Args:
        history: its changes, from the first selected one on, and read after the row.
        selected: the keys of the changes to undo.
    """
    found = RowUndo()
    newest_first = sorted(history, key=lambda change: (-change.revision, -change.pk))
    if any(change.is_creation and change.pk in selected for change in newest_first):
        other = next((one for one in newest_first if one.pk not in selected), None)
        if other is None and not may_be_there(row):
            return RowUndo(removes=True)
        reason = Kept.THERE if may_be_there(row) else Kept.SINCE
        found.kept.append(KeptPart("", reason, other if reason == Kept.SINCE else None))
    here = merge.leaves(row.desired)
    paths = {one.path for one in newest_first if one.pk in selected}
    for path in sorted(paths - FIXED - {Change.CREATION}):
        changes = [one for one in newest_first if one.path == path]
        _add(found, changes, selected, here.get(path))
    _keep_refused(found, row, here)
    return found


def _keep_refused(found: RowUndo, row: Property, here: Leaves) -> None:
    """Keep the leaves whose old value `edit` would refuse, so that a plan promises none of them."""
    ownership = owners.of(row)
    for path, old in list(found.values.items()):
        if owners.refused(row, {path: old}, ownership):
            reason = Kept.FILLED if ownership(path) is Owner.FILL else Kept.OWNED
        elif without_theirs(row, {path: old}, faults({path: old}, here)):
            reason = Kept.INVALID
        else:
            continue
        del found.values[path]
        found.kept.append(KeptPart(path, reason))


def _add(found: RowUndo, changes: list[Change], selected: Collection[int], current: Any) -> None:
    """Add what becomes of one leaf, by its changes with the newest first."""
    newest = changes[0]
    ours = [change for change in changes if change.pk in selected]
    run = changes[changes.index(ours[0]) :]
    # Before an older change of somebody else, the value is theirs.
    end = next((n for n, one in enumerate(run) if one.pk not in selected), len(run))
    path, old = newest.path, run[end - 1].old
    if equal(path, current, old):
        found.same.append(path)
    elif newest.pk not in selected:
        found.kept.append(KeptPart(path, Kept.SINCE, newest))
    elif not equal(path, current, newest.new):
        found.kept.append(KeptPart(path, Kept.SINCE))
    else:
        found.values[path] = old


def may_be_there(row: Property) -> bool:
    """Return whether the platform has the property, or may have it by a call under way."""
    under_way = row.create_sent_at or row.lease_token or row.inflight
    return row.platform_id is not None or bool(under_way)

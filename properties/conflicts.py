"""A person says whose value stands where both sides changed a field (design §5, "Three ways")."""

from datetime import datetime

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from crm_sync.dispatch import doorbell
from properties.models import Conflict, Property
from properties.models.change import Origin
from properties.models.property import without_problems
from properties.sync import QUEUE, edit

Decision = Conflict.Decision


def keep_ours(conflict: Conflict, *, actor: AbstractBaseUser, now: datetime) -> bool:
    """Let our value stand: it is sent with the next push.

    Returns:
        False when it was decided already.
    """
    if not _decide(conflict, Decision.OURS, actor=actor, now=now):
        return False
    while True:
        row = Property.objects.get(pk=conflict.real_estate_property_id)
        unchanged = Property.objects.filter(pk=row.pk, revision=row.revision)
        if unchanged.update(
            problem=without_problems(row.problem, {conflict.path}),
            revision=row.revision + 1,
            due_at=now,
        ):
            doorbell.ring(QUEUE, row.workspace_id)
            return True


def take_theirs(conflict: Conflict, *, actor: AbstractBaseUser, now: datetime) -> bool:
    """Take the platform's value over: an edit like any other, so it can be undone by one.

    Returns:
        False when it was decided already.

    Raises:
        Invalid: their value is one that we could not send back; nothing was changed.
    """
    with transaction.atomic():
        if not _decide(conflict, Decision.THEIRS, actor=actor, now=now):
            return False
        row = Property.objects.get(pk=conflict.real_estate_property_id)
        note = f"conflict {conflict.pk}: theirs"
        edit(
            row,
            {conflict.path: conflict.theirs},
            origin=Origin.ADMIN,
            actor=actor,
            now=now,
            note=note,
        )
    return True


def _decide(
    conflict: Conflict, decision: Decision, *, actor: AbstractBaseUser, now: datetime
) -> bool:
    open_one = Conflict.objects.filter(pk=conflict.pk, decision=Decision.OPEN)
    return open_one.update(decision=decision, decided_by=actor, decided_at=now) == 1

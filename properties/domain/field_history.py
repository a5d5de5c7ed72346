"""The permanent history of a property: its changes, and its conflicts (I4)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import AbstractBaseUser

from crm_sync.models import Workspace
from crm_sync.sentence import sentence
from properties import merge
from properties.catalog import equal
from properties.merge import Clash, Leaves, Owner
from properties.models import Change, Conflict, Property
from properties.models.change import Origin

DECISIONS = {
    Workspace.ConflictPolicy.CRM_WINS: Conflict.Decision.OURS,
    Workspace.ConflictPolicy.PLATFORM_WINS: Conflict.Decision.THEIRS,
    Workspace.ConflictPolicy.ASK: Conflict.Decision.OPEN,
}
PUT_BACKS, FIGHT = 3, timedelta(days=1)  # after so many a person is asked
SOMEBODY, FEED = sentence("Somebody"), sentence("A feed")
_PROGRAMS = {Origin.FEED: FEED, Origin.MISSING: FEED, Origin.PLATFORM: sentence("The platform")}


def record(
    property_: Property,
    before: Leaves,
    changes: Leaves,
    *,
    origin: Origin,
    now: datetime,
    actor: AbstractBaseUser | None = None,
    note: str = "",
    cause: str = "",
) -> None:
    """Write a Change for each leaf of `changes`, with the revision after the current one.

    The first changes of a property, which had no values before, become one Change: its creation.
    """
    by: dict[str, Any] = {"origin": origin, "actor_id": actor and actor.pk, "at": now}
    found = entries(property_, before, changes, note=note, cause=cause, **by)
    Change.objects.bulk_create(Change(**one) for one in found)


def entries(
    property_: Property, before: Leaves, changes: Leaves, **columns: Any
) -> list[dict[str, Any]]:
    """Return the columns of the rows that `record` writes.

    Args:
        columns: those that all of them share.
    """
    begins = not property_.revision and not before
    parts = {Change.CREATION: merge.document(changes)} if begins and changes else changes
    shared = {"real_estate_property_id": property_.pk, "revision": property_.revision + 1}
    return [
        {**shared, **columns, "path": path, "old": before.get(path), "new": value}
        for path, value in parts.items()
    ]


def note_conflicts(
    row: Property, clashes: Iterable[Clash], policy: str, *, now: datetime, rule: str = ""
) -> None:
    """Write a Conflict for each clash: decided by the policy or a rule, or open for a person."""
    decision = DECISIONS[Workspace.ConflictPolicy(policy)]
    for clash in clashes:
        # A field has at most one open conflict: a newer value of theirs replaces the older one.
        open_one = Conflict.objects.filter(real_estate_property=row, path=clash.path, decision="")
        columns = {"theirs": clash.theirs, "ours": clash.ours, "decision": decision}
        columns |= {"decided_at": now if decision else None, "rule": rule}
        if not open_one.update(**columns):
            Conflict.objects.create(
                real_estate_property=row,
                path=clash.path,
                base=clash.base,
                created_at=now,
                **columns,
            )


def was_fought_over(row: Property, path: str, *, now: datetime) -> bool:
    """Return whether the rule "ours" put our value back so often of late that it does not hold."""
    ended = Conflict.objects.filter(real_estate_property=row, path=path, rule=Owner.OURS.value)
    return ended.filter(decided_at__gt=now - FIGHT).count() >= PUT_BACKS


def close_conflicts(
    property_: Property,
    values: Leaves,
    *,
    origin: Origin,
    now: datetime,
    actor: AbstractBaseUser | None = None,
) -> None:
    """Close open conflicts at fields that somebody edited, or in which both sides now agree.

    Args:
        values: what we want now, by leaf. If it is their value, both sides agree.
        origin: what caused it. PLATFORM is passed only if the platform holds these values.
    """
    open_ones = Conflict.objects.filter(real_estate_property=property_, decision="")
    for conflict in open_ones.filter(path__in=values) if values else ():
        is_theirs = equal(conflict.path, values[conflict.path], conflict.theirs)
        agree = is_theirs or origin == Origin.PLATFORM
        decision = Conflict.Decision.AGREED if agree else Conflict.Decision.OURS
        open_ones.filter(pk=conflict.pk).update(
            decision=decision, origin=origin, decided_by=actor, decided_at=now
        )


@dataclass(frozen=True)
class Newer:
    """Who changed a leaf last, and when; the time is None if it is not known."""

    who: str = SOMEBODY
    at: datetime | None = None


def newer(property_: Property, leaf: str) -> Newer:
    """Return who gave a leaf the value that it has now."""
    changes = Change.objects.filter(real_estate_property=property_, path=leaf)
    change = changes.select_related("actor").order_by("-revision", "-pk").first()
    if change is None:
        return Newer()
    return Newer(change.who or _PROGRAMS.get(Origin(change.origin), SOMEBODY), change.at)

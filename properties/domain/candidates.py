"""What could be the same property: the rows that are only here, and those only the platform made.

A property of the platform is a candidate until the CRM knows it: no feed, no person and no program
of ours has given it its reference, by a creation, an edit or a link (`properties.pull.linking`).
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from crm_sync.work.doorbell import doorbell
from properties.domain.editing import QUEUE, REFERENCE
from properties.domain.matching import Keyed, Matching, match
from properties.match_keys import Criterion, reference_key
from properties.models import Change, Property
from properties.models.change import Origin
from properties.models.match_columns import COLUMNS
from properties.models.property import TO_READ, UNFED, WaitReason

_NAMING = (Change.CREATION, REFERENCE)  # fields of a change that gives a property its reference
# Strongest first: the first criterion that names a double is the reason that people read.
STRENGTH = (Criterion.UNIT, Criterion.IS24, Criterion.ADDRESS)


def only_here(workspace_id: int) -> QuerySet[Property]:
    """Return the properties that the platform does not have, or has no longer."""
    mine = Property.objects.filter(workspace=workspace_id, platform_id__isnull=True)
    return mine.filter(object_reference_id__isnull=False)


def only_there(workspace_id: int) -> QuerySet[Property]:
    """Return the properties of the platform that the CRM does not know yet."""
    named = Change.objects.filter(real_estate_property=OuterRef("pk"), path__in=_NAMING)
    mine = Property.objects.filter(UNFED, workspace=workspace_id)
    return mine.filter(~Exists(named.exclude(origin=Origin.PLATFORM)))


def unread(workspace_id: int) -> QuerySet[Property]:
    """Return the properties of the platform whose values are not known yet, so they have no key."""
    without = dict.fromkeys(COLUMNS.values())
    return Property.objects.filter(UNFED, workspace=workspace_id, read_at=None, **without)


def matching(workspace_id: int, criterion: Criterion) -> Matching:
    """Return the pairs by a criterion. A row that a person has set apart matches nothing."""
    column = COLUMNS.get(criterion, "object_reference_id")
    ours = only_here(workspace_id).values_list("pk", column, "none_there")
    theirs = only_there(workspace_id).values_list("pk", column)
    if criterion in COLUMNS:
        return match(((pk, None if apart else key) for pk, key, apart in ours), theirs)
    named = ((pk, None if apart else reference_key(name)) for pk, name, apart in ours)
    return match(named, _by_reference(theirs))


def _by_reference(rows: Iterable[tuple[int, str | None]]) -> Keyed:
    return ((pk, reference_key(name)) for pk, name in rows)


def double_of(row: Property) -> Property | None:
    """Return a property of the platform that may be this one, which is not created there yet.

    At most one query for each key that the row has; None if a person has set it apart.
    """
    if row.none_there:
        return None
    for criterion in STRENGTH:
        column = COLUMNS[criterion]
        if (key := getattr(row, column)) is not None:
            # In the order of the keys, SQLite would read the whole workspace.
            found = only_there(row.workspace_id).filter(**{column: key}).order_by()[:1]
            for double in found:
                return double
    return None


def may_be_unread(row: Property) -> bool:
    """Return whether a property of the platform is still to be read that may be this one.

    It can be any row that a pull has found but not read, since a list has few fields.
    """
    if row.none_there or not any(getattr(row, column) for column in COLUMNS.values()):
        return False
    return Property.objects.filter(TO_READ, workspace=row.workspace_id).exists()


def doubles(workspace_id: int) -> QuerySet[Property]:
    """Return the properties to be created that the platform may have already."""
    there = only_there(workspace_id)
    same = Q()
    for column in COLUMNS.values():
        same |= Q(Exists(there.filter(**{column: OuterRef(column)})))
    return only_here(workspace_id).filter(same, none_there=False)


def known_there(
    workspace_id: int, keys: Iterable[Mapping[str, str | None]]
) -> dict[tuple[str, str | None], str]:
    """Return the name of a candidate by column and key.

    Args:
        keys: of some new records, by column (`match_columns.keys_of`); at most three queries.
    """
    wanted = [*keys]
    found: dict[tuple[str, str | None], str] = {}
    for column in COLUMNS.values():
        values = {one[column] for one in wanted} - {None}
        if values:
            rows = only_there(workspace_id).filter(**{f"{column}__in": values})
            for row in rows.only("object_reference_id", "platform_id", column):
                found.setdefault((column, getattr(row, column)), str(row))
    return found


def apart(workspace_id: int, keys: Iterable[int], *, now: datetime) -> int:
    """Note that a person has seen that none of the platform's properties is one of these rows.

    Returns:
        the number of rows; they are due for their creation.
    """
    rows = only_here(workspace_id).filter(pk__in=[*keys], none_there=False)
    # With the revision, a worker that has just found a double does not put the row off again.
    count = rows.update(none_there=True, revision=F("revision") + 1, due_at=now, is_urgent=True)
    if count:
        doorbell.ring(QUEUE, workspace_id)
    return count


def compared_again(workspace_id: int, key: int) -> bool:
    """Take back that a row is none of the platform's properties, if it was not created since."""
    rows = only_here(workspace_id).filter(pk=key, none_there=True)
    return bool(rows.update(none_there=False, revision=F("revision") + 1))


def wake(workspace_id: int, *, now: datetime) -> None:
    """Let a worker look again at what waits to be matched: its double may be linked by now."""
    only_here(workspace_id).filter(wait_reason=WaitReason.MATCH).update(due_at=now)
    doorbell.ring(QUEUE, workspace_id)

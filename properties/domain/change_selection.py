"""Which changes of the history are meant: a person's, an import's, a field's, those of an hour."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Self

from django.db.models import Exists, OuterRef, Q, QuerySet

from properties.models import Change, Property

NEWEST = ("-at", "-pk")
# A page looks at no more changes than this, so it takes the same time however rare the wanted ones
# are.
LOOKED_AT = 20_000
CREATED = "created"  # the field of a creation, for a person

Place = tuple[datetime, int]  # time and key of a change


@dataclass(frozen=True)
class ChangeSelection:
    """A selection of changes; an empty value selects all.

    Attributes:
        workspace, person: the keys.
        cause: see `Change.cause`.
        field: the path of a leaf, or CREATED.
        since, until: from the first moment on, and before the second.
    """

    workspace: int | None = None
    person: int | None = None
    cause: str = ""
    origin: str = ""
    field: str = ""
    since: datetime | None = None
    until: datetime | None = None

    @property
    def can_be_undone(self) -> bool:
        """Whether it is narrow enough for an undo: of one person, one cause, or since a moment."""
        return bool(self.person or self.cause or self.since)

    def changes(self) -> QuerySet[Change]:
        """Return the selected changes."""
        rows = self._by_index()
        if self.workspace is not None:
            rows = of_workspaces(rows, [self.workspace])
        if self.origin:
            rows = rows.filter(origin=self.origin)
        if self.field:
            rows = rows.filter(path=Change.CREATION if self.field == CREATED else self.field)
        return rows

    def near(self, place: Place | None) -> tuple[QuerySet[Change], Place | None]:
        """Return the selected changes older than a place, and where to go on looking.

        Only the next LOOKED_AT changes are looked at; the place is None if there are no more.
        """
        rows = older(self._by_index(), place).order_by(*NEWEST)
        end = rows.values_list("at", "pk")[LOOKED_AT - 1 : LOOKED_AT].first()
        found = older(self.changes(), place)
        if end is not None:
            found = found.filter(Q(at__gt=end[0]) | Q(at=end[0], pk__gte=end[1]), at__gte=end[0])
        return found.order_by(*NEWEST), end

    def _by_index(self) -> QuerySet[Change]:
        """Return the changes of the person, the cause and the time, which an index finds."""
        rows = Change.objects.all()
        if self.person is not None:
            rows = rows.filter(actor=self.person)
        if self.cause:
            rows = rows.filter(cause=self.cause)
        if self.since is not None:
            rows = rows.filter(at__gte=self.since)
        if self.until is not None:
            rows = rows.filter(at__lt=self.until)
        return rows

    def to_json(self) -> dict[str, Any]:
        """Return it as stored in a row; `of_json` reads it."""
        times = {name: at.isoformat() for name in ("since", "until") if (at := getattr(self, name))}
        return {name: value for name, value in asdict(self).items() if value} | times

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return the selection that `to_json` stored."""
        times = {
            name: datetime.fromisoformat(stored[name])
            for name in ("since", "until")
            if name in stored
        }
        return cls(**{**stored, **times})

    def within(self, workspace: int) -> Self:
        """Return the part of it in one workspace."""
        return replace(self, workspace=workspace)


def of_workspaces(rows: QuerySet[Change], keys: Collection[int]) -> QuerySet[Change]:
    """Return the changes of properties of these workspaces.

    This is no join, because SQLite would then begin with all properties and sort their changes.
    """
    mine = Property.objects.filter(pk=OuterRef("real_estate_property"), workspace__in=keys)
    return rows.filter(Exists(mine))


def older(rows: QuerySet[Change], place: Place | None) -> QuerySet[Change]:
    """Return the changes before a place in the order of NEWEST; all if it is None."""
    if place is None:
        return rows
    at, pk = place
    return rows.filter(Q(at__lt=at) | Q(at=at, pk__lt=pk), at__lte=at)

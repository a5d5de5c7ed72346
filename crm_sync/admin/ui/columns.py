"""Columns of a list that show one expression of a row, each in one line of code."""

from collections.abc import Callable
from typing import Any

from django.db.models import OuterRef, Subquery
from django.utils import timezone

from crm_sync.admin.ui.base import display
from crm_sync.admin.ui.cells import moment
from crm_sync.models import Workspace
from crm_sync.translated import Text


def column(title: Text, show: Callable[[Any], object], ordering: str | None = None) -> Any:
    """Return a column: its title, what it shows of a row, and the field that sorts it."""

    @display(description=title, ordering=ordering)
    def cell(_: Any, row: Any) -> object:
        return show(row)

    return cell


def moment_column(title: Text, field: str) -> Any:
    """Return a column that shows the moment in a field, and is sorted by it."""
    return column(title, lambda row: moment(getattr(row, field), timezone.now()), field)


def of_workspace(name: str, path: str = "workspace") -> Subquery:
    """Return a column of the workspace of a row, without a join, which each count would repeat."""
    return Subquery(Workspace.objects.filter(pk=OuterRef(path)).values(name)[:1])

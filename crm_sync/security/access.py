"""Which workspaces a person sees: the one place that decides it (S12, S17).

All code that shows or changes rows of workspaces for a person filters them with `within`.
"""

from typing import Any, TypeVar, cast

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from crm_sync.account_names import name_of
from crm_sync.hooks import Person
from crm_sync.models import Workspace

ALL = "crm_sync.all_workspaces"
MOST_NAMED = 3  # people that a page names

Rows = TypeVar("Rows", bound=QuerySet[Any])


def within(person: Person, rows: Rows, path: str = "workspace") -> Rows:
    """Return the rows that belong to workspaces of the person.

    Args:
        path: the lookup from a row to its workspace; "pk" if the rows are workspaces.
    """
    keys = workspace_keys(person)
    return rows if keys is None else rows.filter(**{f"{path}__in": keys})


def own_workspaces(person: Person) -> QuerySet[Workspace]:
    """Return the workspaces of a person for a choice, sorted by slug. No secret is loaded (S5)."""
    return within(person, Workspace.objects.only("pk", "slug").order_by("slug"), "pk")


def workspace_keys(person: Person) -> list[int] | None:
    """Return the keys of the workspaces of a person, or None for all workspaces.

    They are read once for each person object, which lives for one request.
    """
    if cast("Any", person).has_perm(ALL):
        return None
    if not hasattr(person, "_workspace_keys"):
        mine = Workspace.people.through.objects.filter(user=person.pk)
        keys = sorted(mine.values_list("workspace", flat=True)) if person.pk else []
        cast("Any", person)._workspace_keys = keys
    return cast("list[int]", cast("Any", person)._workspace_keys)


def sees_several(person: Person) -> bool:
    """Return whether this person sees two or more workspaces."""
    keys = workspace_keys(person)
    if keys is not None:
        return len(keys) > 1
    if not hasattr(person, "_sees_several"):
        cast("Any", person)._sees_several = len(Workspace.objects.values("pk")[:2]) > 1
    return cast("bool", cast("Any", person)._sees_several)


def whom_to_ask(
    permission: str = "crm_sync.change_workspace", workspace_id: int | None = None
) -> list[str]:
    """Return the names of the first few people with a permission, for a page that names them.

    Args:
        permission: by default that of adding somebody to a workspace.
        workspace_id: only people who see this workspace, by default all.
    """
    able = _with(permission).filter(is_staff=True)
    if workspace_id is not None:
        able = able.filter(Q(pk__in=_with(ALL).values("pk")) | Q(workspaces=workspace_id))
    names = able.distinct().order_by("username")[:MOST_NAMED]
    return [name_of(one) for one in names]


def _with(permission: str) -> QuerySet[User]:
    backend = "django.contrib.auth.backends.ModelBackend"
    return User.objects.with_perm(permission, backend=backend)

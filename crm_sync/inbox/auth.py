"""Who may call a workspace, remembered in each process and checked by the INSERT (§5.2, S1).

A callback needs the workspace only to authenticate, and its columns hardly ever change. So each
process remembers them, and the INSERT stores nothing if they have changed since (decision 9).
"""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import TextField
from django.db.models.functions import Cast
from django.http import HttpRequest

from crm_sync.models import Workspace
from crm_sync.work import fast_sql

NOT_NEEDED = ("fixed_token", "client_secret")  # to decrypt them would only take time
# All columns that decide who may call and what is masked; secrets as the database holds them.
SECRETS = ("auth_secret", "previous_auth_secret")
PLAIN = (
    *("auth_type", "auth_header_name", "auth_parameter_name", "previous_auth_secret_until"),
    *("previous_auth_names", "previous_auth_names_until", "callback_sources"),
)
REMEMBERED = 100  # workspaces


@dataclass(frozen=True)
class WorkspaceSnapshot:
    """A workspace as it was read.

    Attributes:
        unchanged: a FROM clause that yields one row as long as it is still so, and its values.
    """

    workspace: Workspace
    unchanged: tuple[str, list[Any]]


remembered: dict[UUID, WorkspaceSnapshot] = {}


def read(uuid: UUID) -> Workspace | None:
    """Read and remember the workspace with this callback address; None if there is none.

    Raises:
        SecretUnreadable: no key decrypts its secrets.
        DatabaseError: it cannot be read.
    """
    raw = {f"raw_{name}": Cast(name, TextField()) for name in SECRETS}
    found = Workspace.objects.filter(uuid=uuid).annotate(**raw).defer(*NOT_NEEDED)
    workspace = next(iter(found), None)
    remembered.pop(uuid, None)
    if workspace is None:
        return None
    columns = {"id": workspace.pk, **{name: getattr(workspace, f"raw_{name}") for name in SECRETS}}
    fields = [one for one in Workspace._meta.concrete_fields if one.name in PLAIN]
    columns |= {
        one.name: one.get_db_prep_value(getattr(workspace, one.name), connection) for one in fields
    }
    if len(remembered) >= REMEMBERED:
        remembered.clear()
    remembered[uuid] = WorkspaceSnapshot(workspace, _unchanged(columns))
    return workspace


def _unchanged(columns: Mapping[str, Any]) -> tuple[str, list[Any]]:
    quoted = connection.ops.quote_name
    conditions = [
        f"{quoted(name)} IS NULL" if value is None else f"{quoted(name)} = %s"
        for name, value in columns.items()
    ]
    values = [value for value in columns.values() if value is not None]
    return f"FROM {fast_sql.table(Workspace)} WHERE {' AND '.join(conditions)}", values


def lets_in(workspace: Workspace, request: HttpRequest, now: datetime) -> bool:
    """Compare on bytes in constant time, never against an empty secret (§5.2, S1).

    The secret is accepted in each of the three places (decision 5): while another authType is
    being set, nobody knows which one the platform uses, and a refused event never comes again.
    """
    if workspace.auth_type == Workspace.AuthType.NONE and settings.CALLBACK_ALLOW_NONE:
        return True
    scheme, _, bearer = request.headers.get("Authorization", "").partition(" ")
    names = workspace.valid_auth_names(now)
    given = (
        *(request.headers.get(name, "").encode("latin-1", "replace") for name in names),
        *(_in_query(request, name).encode("utf-8", "replace") for name in names),
        # Blanks of HTTP alone: bytes of UTF-8 may look like others in Latin-1.
        bearer.strip(" \t").encode("latin-1", "replace") if scheme.lower() == "bearer" else b"",
    )
    valid = [secret.encode() for secret in workspace.valid_auth_secrets(now)]
    # Each is compared with each, so that the time says nothing about which one was near.
    return sum(hmac.compare_digest(one, secret) for one in given for secret in valid) > 0


def _in_query(request: HttpRequest, name: str) -> str:
    # Reading a query that is not there takes as long as all the rest of the comparison.
    return str(request.GET.get(name, "")) if request.META.get("QUERY_STRING") else ""

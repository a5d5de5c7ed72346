"""Authenticates callbacks with data cached in each process and checked by the INSERT (§5.2, S1).

A callback needs the workspace only for authentication, and its columns rarely change. So each
process caches them, and the INSERT stores nothing if they have changed since (decision 9).
"""

import hmac
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models.expressions import RawSQL
from django.http import HttpRequest

from crm_sync.models import Workspace
from crm_sync.work import fast_sql

NOT_NEEDED = ("fixed_token", "client_secret")  # decrypting them would only take time
# All columns that decide who may call and what is masked. Secrets are still encrypted.
DECIDING = (
    *("auth_type", "auth_header_name", "auth_parameter_name", "callback_sources"),
    *("auth_secret", "previous_auth_secret", "previous_auth_secret_until"),
    *("previous_auth_names", "previous_auth_names_until"),
)
REMEMBERED = 100  # workspaces


@dataclass(frozen=True)
class WorkspaceSnapshot:
    """A cached workspace.

    Attributes:
        unchanged: a FROM clause that yields one row if the workspace has not changed.
    """

    workspace: Workspace
    unchanged: fast_sql.Expression


remembered: dict[UUID, WorkspaceSnapshot] = {}


def read(uuid: UUID) -> Workspace | None:
    """Read and cache the workspace with this callback address; return None if there is none.

    Raises:
        SecretUnreadable: no key decrypts its secrets.
        DatabaseError: the workspace cannot be read.
    """
    deciding = RawSQL(_deciding(), [])  # noqa: S611 - names of our own columns
    found = Workspace.objects.filter(uuid=uuid).annotate(deciding=deciding).defer(*NOT_NEEDED)
    workspace = next(iter(found), None)
    remembered.pop(uuid, None)
    if workspace is None:
        return None
    if len(remembered) >= REMEMBERED:
        remembered.clear()
    clause = f"FROM {fast_sql.table(Workspace)} WHERE id = %s AND {_deciding()} = %s"
    remembered[uuid] = WorkspaceSnapshot(workspace, (clause, [workspace.pk, workspace.deciding]))
    return workspace


def _deciding() -> str:
    """Return SQL for the values of `DECIDING` as one text."""
    columns = ", ".join(DECIDING)
    if connection.vendor == "postgresql":
        return f"json_build_array({columns})::text"
    return f"json_array({columns})"


def lets_in(workspace: Workspace, request: HttpRequest, now: datetime) -> bool:
    """Return whether a request has a valid secret, compared as bytes in constant time (§5.2, S1).

    An empty secret is never valid. The secret is accepted in each of the three places (decision 5):
    while the authType is changed, nobody knows which one the platform uses, and a refused event is
    not sent again.
    """
    if workspace.auth_type == Workspace.AuthType.NONE and settings.CALLBACK_ALLOW_NONE:
        return True
    scheme, _, bearer = request.headers.get("Authorization", "").partition(" ")
    names = workspace.valid_auth_names(now)
    given = (
        *(request.headers.get(name, "").encode("latin-1", "replace") for name in names),
        *(_in_query(request, name).encode("utf-8", "replace") for name in names),
        # Strip only the blanks of HTTP: read as Latin-1, some bytes of UTF-8 are blanks too.
        bearer.strip(" \t").encode("latin-1", "replace") if scheme.lower() == "bearer" else b"",
    )
    valid = [secret.encode() for secret in workspace.valid_auth_secrets(now)]
    # Compare every pair, so that the time does not reveal which one nearly matched.
    return sum(hmac.compare_digest(one, secret) for one in given for secret in valid) > 0


def _in_query(request: HttpRequest, name: str) -> str:
    # Parsing an empty query takes as long as the rest of the comparison.
    return str(request.GET.get(name, "")) if request.META.get("QUERY_STRING") else ""

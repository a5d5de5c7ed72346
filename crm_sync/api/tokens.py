"""Creates, finds and revokes tokens of the API. Only a digest is stored (S5)."""

import hashlib
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from crm_sync.models import ApiToken, Workspace

BEGINNING = "crm_"  # secret scanners and our log recognise a token by it
SHOWN = 10  # characters of a token that people see
PACE = timedelta(minutes=1)  # between two writes of `last_used_at`


def issue(
    workspace: Workspace,
    *,
    name: str,
    scopes: Sequence[str],
    now: datetime,
    expires_at: datetime | None = None,
    created_by: User | None = None,
) -> tuple[ApiToken, str]:
    """Create a token and return its row, and the token, which cannot be read again.

    Raises:
        IntegrityError: the workspace already has a token of this name, perhaps a revoked one.
    """
    token = BEGINNING + secrets.token_urlsafe(32)
    row = ApiToken.objects.create(
        workspace=workspace,
        name=name,
        scopes=sorted(scopes),
        prefix=token[:SHOWN],
        token_digest=_digest(token),
        expires_at=expires_at,
        created_at=now,
        created_by=created_by,
    )
    return row, token


def find(token: str, *, now: datetime) -> ApiToken | None:
    """Return a valid token and store its use, or None if it is unknown or invalid.

    The query searches for the digest, so its time reveals nothing about a token.
    """
    mine = ApiToken.objects.filter(token_digest=_digest(token))
    row = mine.select_related("created_by").first()
    if row is None or not row.is_valid(now):
        return None
    if row.last_used_at is None or row.last_used_at < now - PACE:
        not_yet = Q(last_used_at=None) | Q(last_used_at__lt=now - PACE)
        ApiToken.objects.filter(not_yet, pk=row.pk).update(last_used_at=now)
    return row


def revoke(tokens: QuerySet[ApiToken], *, now: datetime) -> int:
    """Revoke these tokens and return how many were not revoked already."""
    return tokens.filter(revoked_at=None).update(revoked_at=now)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()

"""The webhook configuration on the platform, set from ours (§4.1)."""

import secrets
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from crm_sync.answers import Answer
from crm_sync.errors import Passing, SyncError
from crm_sync.models import Workspace

ROTATION_OVERLAP = timedelta(minutes=10)  # S6: callbacks under way still carry the old secret
ROTATED = ("auth_secret", "previous_auth_secret", "previous_auth_secret_until")


class NoneNotAllowed(Exception):
    """authType NONE is refused unless the setting allows it (S2)."""


def configure(workspace: Workspace, *, auth_type: str, now: datetime) -> Answer:
    """Set POST, our address, `auth_type` and a secret, and make the webhook deliver.

    A secret that the platform holds already stays; a new one is generated where there is none.
    POST is always said, because the platform's default is GET (A22).

    Raises:
        NoneNotAllowed: see above.
        SyncError: the platform did not take it; what we accept still fits what it may hold.
    """
    if auth_type == Workspace.AuthType.NONE and not settings.CALLBACK_ALLOW_NONE:
        raise NoneNotAllowed(
            "authType NONE lets anybody who learns the address inject events:"
            " set CALLBACK_ALLOW_NONE=true if that is what you want"
        )
    before = workspace.auth_type
    _keep(workspace, auth_type=auth_type)
    try:
        has_secret = workspace.auth_secret and not _is_unfinished(workspace)
        if has_secret or auth_type == Workspace.AuthType.NONE:
            return _put(workspace)
        return rotate_secret(workspace, now=now)
    except SyncError as error:
        if not _may_have_worked(error):
            _keep(workspace, auth_type=before)
        raise


def rotate_secret(workspace: Workspace, *, now: datetime) -> Answer:
    """Replace the secret; the old one stays valid for ten minutes (S6).

    Both are accepted before the platform hears of the new one, so no callback in between is
    refused. After an unclear answer both stay valid until the next rotation that succeeds, which
    sends the same new secret again: a third one would push out the one that the platform holds.
    """
    before = {name: getattr(workspace, name) for name in ROTATED}
    if not _is_unfinished(workspace):
        _keep(
            workspace,
            auth_secret=secrets.token_urlsafe(32),
            previous_auth_secret=workspace.auth_secret,
            previous_auth_secret_until=None,
        )
    try:
        answer = _put(workspace)
    except SyncError as error:
        if not _may_have_worked(error):
            _keep(workspace, **before)
        raise
    _keep(workspace, previous_auth_secret_until=now + ROTATION_OVERLAP)
    return answer


def _is_unfinished(workspace: Workspace) -> bool:
    """Tell whether nobody knows which of the two secrets the platform holds."""
    return bool(workspace.previous_auth_secret) and workspace.previous_auth_secret_until is None


def _may_have_worked(error: SyncError) -> bool:
    return isinstance(error, Passing) and error.unclear


def _keep(workspace: Workspace, **columns: Any) -> None:
    for name, value in columns.items():
        setattr(workspace, name, value)
    workspace.save(update_fields=list(columns))


def _put(workspace: Workspace) -> Answer:
    return workspace.client().put_webhook(_configuration(workspace))


def _configuration(workspace: Workspace) -> dict[str, Any]:
    body: dict[str, Any] = {
        "url": workspace.callback_url,
        "method": "POST",
        "enabled": True,
        "authType": workspace.auth_type,
    }
    if workspace.auth_type != Workspace.AuthType.NONE:
        body["authSecret"] = workspace.auth_secret
    if workspace.auth_type == Workspace.AuthType.HEADER:
        body["authHeaderName"] = workspace.auth_header_name
    if workspace.auth_type == Workspace.AuthType.QUERY_PARAMETER:
        body["authParameterName"] = workspace.auth_parameter_name
    return body

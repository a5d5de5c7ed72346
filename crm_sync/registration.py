"""The webhook configuration on the platform, set from ours (§4.1)."""

import secrets
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from crm_sync.answers import Answer
from crm_sync.errors import NotAllowed, NotThere, Passing, Refused
from crm_sync.models import Workspace

ROTATION_OVERLAP = timedelta(minutes=10)  # S6: callbacks under way still carry the old secret


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
    workspace.auth_type = auth_type
    workspace.save(update_fields=["auth_type"])
    if workspace.auth_secret or auth_type == Workspace.AuthType.NONE:
        return workspace.client().put_webhook(
            _configuration(workspace, secret=workspace.auth_secret)
        )
    return rotate_secret(workspace, now=now)


def rotate_secret(workspace: Workspace, *, now: datetime) -> Answer:
    """Replace the secret; the old one stays valid for ten minutes (S6).

    Both are accepted before the platform hears of the new one, so no callback in between is
    refused. After an unclear answer both stay valid until the next rotation that succeeds.
    """
    old, new = workspace.auth_secret, secrets.token_urlsafe(32)
    _keep(workspace, secret=new, previous=old, until=None)
    try:
        answer = workspace.client().put_webhook(_configuration(workspace, secret=new))
    except Passing as error:
        if not error.unclear:
            _keep(workspace, secret=old, previous="", until=None)
        raise
    except (Refused, NotAllowed, NotThere):
        _keep(workspace, secret=old, previous="", until=None)
        raise
    _keep(workspace, secret=new, previous=old, until=now + ROTATION_OVERLAP)
    return answer


def _keep(workspace: Workspace, *, secret: str, previous: str, until: datetime | None) -> None:
    workspace.auth_secret = secret
    workspace.previous_auth_secret = previous
    workspace.previous_auth_secret_until = until
    workspace.save(
        update_fields=["auth_secret", "previous_auth_secret", "previous_auth_secret_until"]
    )


def _configuration(workspace: Workspace, *, secret: str) -> dict[str, Any]:
    body: dict[str, Any] = {
        "url": workspace.callback_url,
        "method": "POST",
        "enabled": True,
        "authType": workspace.auth_type,
    }
    if workspace.auth_type != Workspace.AuthType.NONE:
        body["authSecret"] = secret
    if workspace.auth_type == Workspace.AuthType.HEADER:
        body["authHeaderName"] = workspace.auth_header_name
    if workspace.auth_type == Workspace.AuthType.QUERY_PARAMETER:
        body["authParameterName"] = workspace.auth_parameter_name
    return body

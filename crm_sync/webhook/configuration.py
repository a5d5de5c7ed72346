"""The webhook configuration on the platform, set from ours (§4.1)."""

import secrets
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from crm_sync.models import WebhookMonitor, Workspace
from crm_sync.platform.addresses import leads_here
from crm_sync.platform.errors import SyncError, TransientError
from crm_sync.platform.responses import Answer
from crm_sync.webhook import authentication, schedule

ROTATION_OVERLAP = timedelta(minutes=10)  # S6: callbacks under way still carry the old secret
# Names under which a drift says that the platform holds no secret, or none of ours.
GONE, NO_SECRET, OTHER_SECRET = "webhook", "hasAuthSecret", "authSecret"
LOST_SECRET = {GONE, NO_SECRET, OTHER_SECRET}
CONFIGURED = (
    *("auth_type", "auth_header_name", "auth_parameter_name"),
    *("previous_auth_names", "previous_auth_names_until"),
)
ROTATED = ("auth_secret", "previous_auth_secret", "previous_auth_secret_until")


class NoneNotAllowed(Exception):
    """authType NONE is refused unless the setting allows it (S2)."""


class OnlyHere(Exception):
    """Our own address can be reached from this machine only: every callback would be lost."""


def configure(
    workspace: Workspace,
    *,
    auth_type: str,
    header_name: str = "",
    parameter_name: str = "",
    now: datetime,
    deadline: float | None = None,
) -> Answer:
    """Set POST, our address, `auth_type` and a secret, and make the webhook deliver.

    A secret that the platform has already stays; if it has none, a new one is generated. POST is
    always sent, because the platform's default is GET (A22).

    Args:
        header_name, parameter_name: under which the secret travels (§2.1); "" leaves them. The old
            names stay valid as long as the old secret does in a rotation (S6).
        deadline: seconds for the call, if somebody waits for its answer.

    Raises:
        NoneNotAllowed, OnlyHere, BadName: nothing was sent.
        SyncError: the platform did not accept it. We still accept the secret that it may have, and
            under each name that it may use.
    """
    _check(workspace, auth_type)
    names = (
        header_name or workspace.auth_header_name,
        parameter_name or workspace.auth_parameter_name,
    )
    authentication.check_names(*names)
    before = {name: getattr(workspace, name) for name in CONFIGURED}
    _keep(workspace, auth_type=auth_type, **_renamed(workspace, *names, now=now))
    try:
        has_secret = workspace.auth_secret and not _is_unfinished(workspace)
        if has_secret or auth_type == Workspace.AuthType.NONE:
            return _put(workspace, now=now, deadline=deadline)
        return rotate_secret(workspace, now=now, deadline=deadline)
    except SyncError as error:
        if not _may_have_worked(error):
            _keep(workspace, **before)
        raise


def _renamed(workspace: Workspace, header: str, parameter: str, *, now: datetime) -> dict[str, Any]:
    """Return the columns that set the names and keep valid what the platform may use until then."""
    old = [workspace.auth_header_name, workspace.auth_parameter_name]
    if old == [header, parameter]:
        return {}
    kept = [name for name in workspace.valid_auth_names(now) if name not in (header, parameter)]
    return {
        "auth_header_name": header,
        "auth_parameter_name": parameter,
        "previous_auth_names": " ".join(dict.fromkeys(kept)),
        "previous_auth_names_until": None,
    }


def repair(workspace: Workspace, *, now: datetime) -> Answer:
    """Undo what somebody else changed: one PUT, never a DELETE, which erases the history (I26).

    The platform keeps its secret (§4.1: it stays if it is left out), unless it has none or we have
    refused its last call because of it. No endpoint returns the secret. So if somebody changed it
    too, only the first callback that we refuse shows it; its event comes through the history, and
    the next repair sends our secret (decision 7).

    Raises:
        NoneNotAllowed, OnlyHere, SyncError: as `configure`.
    """
    known = WebhookMonitor.objects.filter(workspace=workspace).first()
    if known is None or LOST_SECRET & known.drift.keys():
        return configure(workspace, auth_type=workspace.auth_type, now=now)
    _check(workspace, workspace.auth_type)
    return _put(workspace, now=now, with_secret=False)


def rotate_secret(workspace: Workspace, *, now: datetime, deadline: float | None = None) -> Answer:
    """Replace the secret; the old one stays valid for ten minutes (S6).

    Both are accepted before the platform gets the new one, so no callback in between is refused.
    After an unclear answer both stay valid until a rotation succeeds. That one sends the same new
    secret again: with a third one, the secret that the platform has would no longer be accepted.
    """
    _check(workspace, workspace.auth_type)
    before = {name: getattr(workspace, name) for name in ROTATED}
    if not _is_unfinished(workspace):
        _keep(
            workspace,
            auth_secret=secrets.token_urlsafe(32),
            previous_auth_secret=workspace.auth_secret,
            previous_auth_secret_until=None,
        )
    try:
        answer = _put(workspace, now=now, deadline=deadline)
    except SyncError as error:
        if not _may_have_worked(error):
            _keep(workspace, **before)
        raise
    _keep(workspace, previous_auth_secret_until=now + ROTATION_OVERLAP)
    return answer


def _is_unfinished(workspace: Workspace) -> bool:
    """Tell whether it is unknown which of the two secrets the platform has."""
    return bool(workspace.previous_auth_secret) and workspace.previous_auth_secret_until is None


def _may_have_worked(error: SyncError) -> bool:
    return isinstance(error, TransientError) and error.unclear


def _keep(workspace: Workspace, **columns: Any) -> None:
    for name, value in columns.items():
        setattr(workspace, name, value)
    workspace.save(update_fields=list(columns))


def _put(
    workspace: Workspace,
    *,
    now: datetime,
    with_secret: bool = True,
    deadline: float | None = None,
) -> Answer:
    """Set the webhook, and have it polled at once."""
    body = expected(workspace)
    if with_secret and workspace.auth_type != Workspace.AuthType.NONE:
        body["authSecret"] = workspace.auth_secret
    answer = workspace.client(deadline=deadline).put_webhook(body)
    if workspace.previous_auth_names and workspace.previous_auth_names_until is None:
        _keep(workspace, previous_auth_names_until=now + ROTATION_OVERLAP)
    WebhookMonitor.objects.filter(workspace=workspace).update(drift={}, drift_since=None)
    schedule.begin(workspace.pk, now=now)
    return answer


def expected(workspace: Workspace) -> dict[str, Any]:
    """The configuration that the platform should hold (§2.1), as far as it can be read back."""
    body: dict[str, Any] = {
        "url": workspace.callback_url,
        "method": "POST",
        "enabled": True,
        "authType": workspace.auth_type,
    }
    if workspace.auth_type == Workspace.AuthType.HEADER:
        body["authHeaderName"] = workspace.auth_header_name
    if workspace.auth_type == Workspace.AuthType.QUERY_PARAMETER:
        body["authParameterName"] = workspace.auth_parameter_name
    return body


def _check(workspace: Workspace, auth_type: str) -> None:
    if auth_type == Workspace.AuthType.NONE and not settings.CALLBACK_ALLOW_NONE:
        raise NoneNotAllowed(
            "authType NONE lets anybody who learns the address inject events:"
            " set CALLBACK_ALLOW_NONE=true if that is what you want"
        )
    if _leads_here(settings.PUBLIC_BASE_URL) and not _leads_here(workspace.base_url):
        raise OnlyHere(
            f"PUBLIC_BASE_URL is {settings.PUBLIC_BASE_URL}, which only this machine reaches:"
            " set it to the https address that the platform can call"
        )


def _leads_here(address: str) -> bool:
    return leads_here(urlsplit(address).hostname or "")

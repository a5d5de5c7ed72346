"""Sets the webhook configuration on the platform (§4.1)."""

import hmac
import math
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction

from crm_sync import row_locks
from crm_sync.models import WebhookMonitor, Workspace
from crm_sync.platform.addresses import leads_here
from crm_sync.platform.errors import SyncError, TransientError
from crm_sync.platform.responses import Answer
from crm_sync.secrets import several
from crm_sync.sentence import counted_sentence, sentence
from crm_sync.webhook import authentication, schedule
from crm_sync.work import leases

ROTATION_OVERLAP = timedelta(minutes=10)  # S6: callbacks under way still carry the old secret
# Names in a drift for a missing webhook, a missing secret, and another secret.
GONE, NO_SECRET, OTHER_SECRET = "webhook", "hasAuthSecret", "authSecret"
LOST_SECRET = {GONE, NO_SECRET, OTHER_SECRET}
CONFIGURED = (
    *("auth_type", "auth_header_name", "auth_parameter_name"),
    *("previous_auth_names", "previous_auth_names_until"),
)
ROTATED = ("auth_secret", "previous_auth_secret", "previous_auth_secret_until")
SENT = "auth_secret_sent_at"


class NoneNotAllowed(Exception):
    """The setting does not allow authType NONE (S2)."""


class OnlyHere(Exception):
    """Only this machine can reach our own address: every callback would be lost."""


def configure(
    workspace: Workspace,
    *,
    auth_type: str,
    header_name: str = "",
    parameter_name: str = "",
    now: datetime,
    deadline: float | None = None,
) -> Answer:
    """Set POST, our address, `auth_type` and a secret, and enable the webhook.

    A stored secret is kept and sent again; without one, a new secret is generated. POST is always
    sent, because the platform's default is GET (A22).

    Args:
        header_name, parameter_name: the names that carry the secret (§2.1); "" does not change
            them. The old names stay valid for as long as an old secret after a rotation (S6).
        deadline: seconds for the call, if a person waits for the answer.

    Raises:
        NoneNotAllowed, OnlyHere, BadName: nothing was sent.
        SyncError: the platform did not accept it. We still accept each secret and each name that
            the platform may use.
    """
    _check(workspace, auth_type)
    with transaction.atomic():
        # Read again: another call at this moment keeps the names that this one may give.
        row_locks.lock(Workspace.objects.filter(pk=workspace.pk))
        workspace.refresh_from_db(fields=[*CONFIGURED, *ROTATED, SENT])
        names = (
            header_name or workspace.auth_header_name,
            parameter_name or workspace.auth_parameter_name,
        )
        authentication.check_names(*names)
        before = {name: getattr(workspace, name) for name in CONFIGURED}
        _keep(workspace, auth_type=auth_type, **_renamed(workspace, *names, now=now))
        kept = {name: getattr(workspace, name) for name in CONFIGURED}
        has_secret = workspace.auth_secret and not _is_unfinished(workspace)
        is_kept = has_secret or auth_type == Workspace.AuthType.NONE
        is_alone = is_kept and _begin(workspace, now=now)
    try:
        if not is_kept:
            return rotate_secret(workspace, now=now, deadline=deadline)
        answer = _send(workspace, now=now, is_alone=is_alone, deadline=deadline)
    except SyncError as error:
        if not _may_have_worked(error):  # what another call has set since stays
            Workspace.objects.filter(pk=workspace.pk, **kept).update(**before)
            workspace.refresh_from_db(fields=CONFIGURED)
        raise
    _keep_valid(workspace)
    return answer


def _renamed(workspace: Workspace, header: str, parameter: str, *, now: datetime) -> dict[str, Any]:
    """Return the columns with the new names, and the old names that the platform may still use."""
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
    """Undo foreign changes with one PUT, never with a DELETE, which erases the history (I26).

    The platform keeps its secret (§4.1: it is unchanged if the PUT has none), unless it has none or
    we have refused its last call because of it. No endpoint returns the secret. So if it was
    changed too, only the first refused callback shows that. Its event comes through the history,
    and the next repair sends our secret (decision 7).

    Raises:
        NoneNotAllowed, OnlyHere, SyncError: as `configure`.
    """
    known = WebhookMonitor.objects.filter(workspace=workspace).first()
    if known is None or LOST_SECRET & known.drift.keys():
        return configure(workspace, auth_type=workspace.auth_type, now=now)
    _check(workspace, workspace.auth_type)
    return _put(workspace, now=now, with_secret=False)


def rotate_secret(workspace: Workspace, *, now: datetime, deadline: float | None = None) -> Answer:
    """Replace the secret. All that were valid until now stay so for ten minutes (S6).

    Both are accepted before the platform gets the new one, so no callback in between is refused.
    After an unclear answer, both stay valid until a rotation succeeds. The next rotation sends the
    same new secret again: with a third secret, the one that the platform has might no longer be
    accepted. So there is no third one either while a call with another one may still arrive (I3).

    Raises:
        OnlyHere, NoneNotAllowed: nothing was sent.
        SyncError: it is too soon, or the platform did not accept it.
    """
    _check(workspace, workspace.auth_type)
    with transaction.atomic():
        # Read again: another rotation at this moment goes on with the same new secret.
        row_locks.lock(Workspace.objects.filter(pk=workspace.pk))
        workspace.refresh_from_db(fields=[*ROTATED, SENT])
        before = {name: getattr(workspace, name) for name in ROTATED}
        if not _is_unfinished(workspace):
            if left := _may_arrive(workspace, now=now):
                raise _too_soon(left)
            new = secrets.token_urlsafe(32)
            valid = workspace.valid_auth_secrets(now)
            _keep(
                workspace,
                auth_secret=new,
                previous_auth_secret="\n".join(valid) or new,  # of a first one: unfinished
                previous_auth_secret_until=None,
            )
        is_alone = _begin(workspace, now=now)
    try:
        answer = _send(workspace, now=now, is_alone=is_alone, deadline=deadline)
    except SyncError as error:
        if not _may_have_worked(error):
            _undo(workspace, before)
        raise
    _end_rotation(workspace, now=now)
    return answer


def _too_soon(left: float) -> TransientError:
    text = counted_sentence(
        "another call that sets the webhook may still arrive at the platform: try again in"
        " %(count)s second",
        "another call that sets the webhook may still arrive at the platform: try again in"
        " %(count)s seconds",
        count=math.ceil(left),
    )
    return TransientError(text, unclear=False)


def _begin(workspace: Workspace, *, now: datetime) -> bool:
    """Record that a call with the secret begins; return whether no other may still arrive (I3)."""
    is_alone = not _may_arrive(workspace, now=now)
    _keep(workspace, auth_secret_sent_at=now)
    return is_alone


def _may_arrive(workspace: Workspace, *, now: datetime) -> float:
    """Return the seconds in which the platform may still get an earlier call without an answer."""
    sent_at = workspace.auth_secret_sent_at
    return max(0.0, (sent_at + leases.LEASE - now).total_seconds()) if sent_at else 0.0


def _send(workspace: Workspace, *, now: datetime, is_alone: bool, deadline: float | None) -> Answer:
    """Set the webhook with its secret; a call that was alone is forgotten once it is answered."""
    try:
        answer = _put(workspace, now=now, deadline=deadline)
    except SyncError as error:
        if _may_have_worked(error):
            _keep_valid(workspace)
        elif is_alone:
            _forget_call(workspace, now)
        raise
    if is_alone:
        _forget_call(workspace, now)
    return answer


def _forget_call(workspace: Workspace, began_at: datetime) -> None:
    mine = Workspace.objects.filter(pk=workspace.pk, auth_secret_sent_at=began_at)
    if mine.update(auth_secret_sent_at=None):
        workspace.auth_secret_sent_at = None


def _end_rotation(workspace: Workspace, *, now: datetime) -> None:
    """Let the old secrets end in ten minutes, unless a later rotation has begun meanwhile (S6)."""
    new, old = workspace.auth_secret, workspace.previous_auth_secret
    with transaction.atomic():
        stored = Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
        if not _is_one_of(stored.auth_secret, [new, *several(old)]):
            _keep_valid(workspace)
            return
        # All three: another rotation to the same secret may have been refused meanwhile.
        _keep(
            workspace,
            auth_secret=new,
            previous_auth_secret="" if _is_one_of(new, [old]) else old,
            previous_auth_secret_until=now + ROTATION_OVERLAP,
        )


def _keep_valid(workspace: Workspace) -> None:
    """Keep the secret that was sent valid without end, if a later one has taken its place.

    Nobody knows which of the two calls reached the platform last (S6).
    """
    sent = workspace.auth_secret
    with transaction.atomic():
        row_locks.lock(Workspace.objects.filter(pk=workspace.pk))
        workspace.refresh_from_db(fields=ROTATED)
        if sent and not _is_one_of(sent, [workspace.auth_secret]):
            kept = dict.fromkeys([sent, *several(workspace.previous_auth_secret)])
            _keep(workspace, previous_auth_secret="\n".join(kept), previous_auth_secret_until=None)


def _undo(workspace: Workspace, before: dict[str, Any]) -> None:
    """Restore the secrets, unless another rotation to the same secret has ended meanwhile."""
    with transaction.atomic():
        stored = Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
        is_same = _is_one_of(stored.auth_secret, [workspace.auth_secret])
        if is_same and stored.previous_auth_secret_until is None:
            _keep(workspace, **before)
        else:
            workspace.refresh_from_db(fields=ROTATED)


def _is_one_of(secret: str, some: Sequence[str]) -> bool:
    return sum(hmac.compare_digest(secret.encode(), one.encode()) for one in some) > 0


def _is_unfinished(workspace: Workspace) -> bool:
    """Return whether it is unknown which of the secrets the platform has."""
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
    """Set the webhook, and let a worker poll it at once."""
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
    """Return the configuration that the platform should have (§2.1), without the secret."""
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
        text = sentence(
            "authType NONE lets anybody who learns the address inject events: set"
            " CALLBACK_ALLOW_NONE=true if that is what you want"
        )
        raise NoneNotAllowed(text)
    if _leads_here(settings.PUBLIC_BASE_URL) and not _leads_here(workspace.base_url):
        text = sentence(
            "PUBLIC_BASE_URL is %(address)s, which only this machine reaches: set it to the https"
            " address that the platform can call",
            address=settings.PUBLIC_BASE_URL,
        )
        raise OnlyHere(text)


def _leads_here(address: str) -> bool:
    return leads_here(urlsplit(address).hostname or "")

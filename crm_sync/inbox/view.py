"""The callback endpoint: authenticate, bound, store, answer; nothing is parsed (§6.1, I15-I17)."""

import functools
import json
import logging
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, connection
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from crm_sync import registry
from crm_sync.inbox import auth, patience, store
from crm_sync.inbox.auth import CachedAuth
from crm_sync.inbox.masking import masked_headers
from crm_sync.inbox.test_mark import TEST_HEADER, is_ours
from crm_sync.inbox.wrong_secrets import WrongSecrets
from crm_sync.models import ReceivedEvent, Workspace
from crm_sync.platform import callers
from crm_sync.secrets import SecretUnreadable
from crm_sync.text import clean

log = logging.getLogger(__name__)

STORED = b'{"status":"stored"}'
AUTH_READS = 4  # of who may call, for one callback; it would have to change after each

# Where a callback could not be stored. The database that did not take it takes no note of it
# either, so this process remembers until it stores the next one; the regular poll comes anyway.
_missed: set[UUID] = set()
wrong = WrongSecrets()
NOT_FROM_HERE = 403


class Refusal(Exception):
    """Why a callback is not stored; the platform keeps the text, so it is short and fixed (S16)."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


WRONG_SECRET = Refusal(401, "not authenticated")
TOO_MANY = Refusal(429, "too many wrong secrets")


class AlwaysJson(BaseContentNegotiation):
    """An `Accept` header that we cannot meet is no reason to lose an event (I17)."""

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """Take the first renderer, whatever was asked for."""
        return renderers[0], renderers[0].media_type


class WebhookView(APIView):
    """Takes the platform's callbacks for one workspace, by any method that carries a body (A23)."""

    authentication_classes = ()
    permission_classes = ()
    parser_classes = ()
    renderer_classes = (JSONRenderer,)
    content_negotiation_class = AlwaysJson
    schema = None  # described by the platform, not by our API
    metadata_class = None  # OPTIONS would be a 2xx for what is not stored

    def perform_authentication(self, request: Request) -> None:
        """Leave out the user that nobody asks for: the secret is compared in `CachedAuth`."""

    def post(self, request: Request, workspace_uuid: UUID) -> HttpResponse:
        """Store it; it gets here only without `inbox.middleware`, which serves these methods."""
        return take(request._request, workspace_uuid)

    get = put = post


def take(request: HttpRequest, workspace_uuid: UUID) -> HttpResponse:
    """Store a callback: 200, or a refusal that the platform records."""
    try:
        answer = _take_with_retry(Call(request, workspace_uuid, timezone.now()))
    except Exception as error:
        # I15: never a 2xx for what is not stored; the trigger history still has it.
        _missed.add(workspace_uuid)
        if not isinstance(error, DatabaseError | SecretUnreadable):
            raise  # a bug of ours: Django answers 500
        log.exception("a callback could not be stored")
        return _error(503, "cannot store it now")
    if _missed:
        _ask_for_missed()
    return answer


@dataclass
class Call:
    """One request to one callback address."""

    request: HttpRequest
    uuid: UUID
    now: datetime

    @functools.cached_property
    def body(self) -> bytes:
        """The raw bytes, read once.

        Raises:
            Refusal: there are none, or too many.
        """
        return _read_body(self.request)

    @functools.cached_property
    def source(self) -> str:
        """The address from which it comes."""
        return callers.source(self.request)


def _take_with_retry(call: Call) -> HttpResponse:
    """Store it; if the database connection is lost, connect again and try once more.

    Asking the database first whether it is there would take as long as the INSERT. The INSERT may
    be repeated: its digest is stored once (I16).
    """
    connection.health_check_done = True  # type: ignore[attr-defined]
    try:
        return _take(call)
    except (OperationalError, InterfaceError):
        if connection.is_usable():
            raise
        connection.close()
        return _take(call)


@patience.short()
def _take(call: Call) -> HttpResponse:
    find = auth.remembered  # it may be out of date, so nobody is refused because of it alone
    for _ in range(AUTH_READS):
        known = find(call.uuid)
        if known is None:
            if find is auth.read:
                return _error(404, "unknown callback address")
        elif (refusal := _refusal(known, call)) is None:
            with suppress(store.AuthChanged):
                return _store(call, known)
        elif find is auth.read or known.is_unchanged():
            return _refuse(call, known.workspace, refusal)
        find = auth.read
    raise DatabaseError("who may call changes all the time")


def _refusal(known: CachedAuth, call: Call) -> Refusal | None:
    """Say why the caller is not let in; None: it is."""
    if not known.lets_in(call.request, call.now):
        return WRONG_SECRET
    allowed = known.workspace.callback_networks
    if allowed and not callers.is_among(call.source, allowed):
        return Refusal(NOT_FROM_HERE, "address not allowed")
    return None


def _store(call: Call, known: CachedAuth) -> HttpResponse:
    try:
        body = call.body
    except Refusal as refusal:
        return _refuse(call, known.workspace, refusal)
    store.store(
        known.workspace.pk,
        body,
        headers=masked_headers(call.request.headers, known.workspace),
        method=str(call.request.method),
        source=ReceivedEvent.Source.CALLBACK,
        now=call.now,
        auth=known,
    )
    return HttpResponse(STORED, content_type="application/json")


def _refuse(call: Call, workspace: Workspace, refusal: Refusal) -> HttpResponse:
    if is_ours(call.request.headers.get(TEST_HEADER, "")):
        return _error(refusal.status, refusal.text)
    number = 1
    if refusal is WRONG_SECRET:
        most, now = settings.CALLBACK_WRONG_A_MINUTE, time.monotonic()
        if wrong.are_too_many(workspace.pk, call.source, most=most, now=now):
            refusal, number = TOO_MANY, wrong.to_note(workspace.pk, now=now)
    if number:
        _note(call, workspace, refusal, number)
    answer = _error(refusal.status, refusal.text)
    # Django would write a line of log about each.
    answer._has_been_logged = True  # type: ignore[attr-defined]
    return answer


def _error(status: int, text: str) -> HttpResponse:
    body = json.dumps({"error": text}, separators=(",", ":"))
    return HttpResponse(body, status=status, content_type="application/json")


def _read_body(request: HttpRequest) -> bytes:
    """Read the raw bytes, bounded, or say why there are none.

    A chunked body is whole when it gets here: `config.wsgi` gave it its length. Where the server
    does not decode chunks (Django's development server) the body would read as empty.
    """
    limit = settings.CALLBACK_BODY_LIMIT
    try:
        length = int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        raise Refusal(400, "bad content length") from None
    if length > limit:
        raise Refusal(413, "body too large")
    body = request.read(length) if length > 0 else b""
    if len(body) < length:
        raise Refusal(400, "body cut off")
    if not body.strip():
        if request.method == "GET":
            raise Refusal(405, "a body is needed")
        raise Refusal(400, "empty body")
    return body


def _ask_for_missed() -> None:
    missed = _missed.copy()
    try:
        with patience.short():
            for hook in registry.hooks().after_missed:
                hook(missed, timezone.now())
    except DatabaseError:
        log.exception("the history could not be asked for")
    else:
        _missed.difference_update(missed)


def _note(call: Call, workspace: Workspace, refusal: Refusal, number: int) -> None:
    """Count what was refused, so that a person sees it in the admin, and from where it came."""
    text = f"{refusal.status} {refusal.text}"
    where = f" (from {clean(call.source)[0]})" if refusal.status == NOT_FROM_HERE else ""
    log.warning("callback for %s refused: %s%s", workspace.slug, text, where)
    try:
        Workspace.objects.filter(pk=workspace.pk).update(
            refused_callbacks=F("refused_callbacks") + number,
            last_refusal=f"{call.request.method}: {text}{where}",
            last_refusal_at=call.now,
        )
    except DatabaseError:
        log.exception("the refusal could not be counted")

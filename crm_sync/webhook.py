"""The callback endpoint: authenticate, bound, store, answer; nothing is parsed (§6.1, I15-I17)."""

import hmac
import logging
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError
from django.db.models import F
from django.http import HttpRequest
from django.utils import timezone
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from crm_sync import inbox, watch
from crm_sync.marks import TEST_HEADER, is_ours
from crm_sync.masking import masked_headers
from crm_sync.models import Delivery, Watch, Workspace
from crm_sync.secrets import SecretUnreadable

log = logging.getLogger(__name__)

NOT_NEEDED = ("fixed_token", "client_secret")  # to decrypt them would only take time

# Where a callback could not be stored. The database that did not take it takes no note of it
# either, so this process remembers until it stores the next one; the regular look comes anyway.
_missed: set[UUID] = set()


class Refusal(Exception):
    """Why a callback is not stored; the platform keeps the text, so it is short and fixed (S16)."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


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
    content_negotiation_class = AlwaysJson
    metadata_class = None  # OPTIONS would be a 2xx for what is not stored

    def post(self, request: Request, workspace_uuid: UUID) -> Response:
        """Store the callback: 200, or a refusal that the platform records."""
        try:
            found = Workspace.objects.filter(uuid=workspace_uuid).defer(*NOT_NEEDED)
            workspace = next(iter(found), None)
            if workspace is None:
                return Response({"error": "unknown callback address"}, status=404)
            answer = _take(request._request, workspace)
        except Exception as error:
            # I15: never a 2xx for what is not stored; the trigger history still has it.
            _missed.add(workspace_uuid)
            if not isinstance(error, DatabaseError | SecretUnreadable):
                raise  # a bug of ours: Django answers 500
            log.exception("a callback could not be stored")
            return Response({"error": "cannot store it now"}, status=503)
        if _missed:
            _ask_for_missed()
        return answer

    get = put = post


def _take(request: HttpRequest, workspace: Workspace) -> Response:
    now = timezone.now()
    try:
        _authenticate(request, workspace, now)
        body = _read_body(request)
    except Refusal as refusal:
        if not is_ours(request.headers.get(TEST_HEADER, "")):
            _note(workspace, request, refusal, now)
        return Response({"error": refusal.text}, status=refusal.status)
    inbox.store(
        workspace.pk,
        body,
        headers=masked_headers(request.headers, workspace),
        method=str(request.method),
        source=Delivery.Source.CALLBACK,
        now=now,
    )
    return Response({"status": "stored"})


def _authenticate(request: HttpRequest, workspace: Workspace, now: datetime) -> None:
    """Compare on bytes in constant time, never against an empty secret (§5.2, S1).

    The secret counts in each of the three places: while another authType is being set, nobody
    knows which one the platform uses, and what is refused never comes again.
    """
    if workspace.auth_type == Workspace.AuthType.NONE and settings.CALLBACK_ALLOW_NONE:
        return
    scheme, _, bearer = request.headers.get("Authorization", "").partition(" ")
    given = (
        request.headers.get(workspace.auth_header_name, "").encode("latin-1", "replace"),
        bearer.strip().encode("latin-1", "replace") if scheme.lower() == "bearer" else b"",
        request.GET.get(workspace.auth_parameter_name, "").encode("utf-8", "replace"),
    )
    valid = [secret.encode() for secret in workspace.valid_auth_secrets(now)]
    # Each is compared with each, so that the time says nothing about which one was near.
    if sum(hmac.compare_digest(one, secret) for one in given for secret in valid) == 0:
        raise Refusal(401, "not authenticated")


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
        watch.ask(Watch.objects.filter(workspace__uuid__in=missed), now=timezone.now())
    except DatabaseError:
        log.exception("the history could not be asked for")
    else:
        _missed.difference_update(missed)


def _note(workspace: Workspace, request: HttpRequest, refusal: Refusal, now: datetime) -> None:
    """Count what was refused, so that a person sees it in the admin."""
    log.warning("callback for %s refused: %s %s", workspace.slug, refusal.status, refusal.text)
    try:
        Workspace.objects.filter(pk=workspace.pk).update(
            refused_callbacks=F("refused_callbacks") + 1,
            last_refusal=f"{request.method}: {refusal.status} {refusal.text}",
            last_refusal_at=now,
        )
    except DatabaseError:
        log.exception("the refusal could not be counted")

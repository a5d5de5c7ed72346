"""The callback endpoint: authenticate, limit, store, answer. Nothing is parsed (§6.1, I15-I17)."""

import logging
import time
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError
from django.db.models import F
from django.utils import timezone
from django.utils.functional import cached_property
from rest_framework.exceptions import APIException
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from crm_sync import hooks
from crm_sync.inbox import auth, lock_timeout, store
from crm_sync.inbox.masking import masked_body, masked_headers
from crm_sync.inbox.test_mark import TEST_HEADER, is_ours
from crm_sync.inbox.wrong_secrets import WrongSecrets
from crm_sync.models import ReceivedEvent, Workspace
from crm_sync.platform import callers
from crm_sync.secrets import SecretUnreadable
from crm_sync.text import clean

log = logging.getLogger(__name__)

# The addresses whose callbacks could not be stored. The database cannot record that either, so this
# process remembers them until it stores the next callback. The regular poll runs in any case.
_missed: set[UUID] = set()
wrong = WrongSecrets()
WRONG_SECRET, NOT_FROM_HERE = 401, 403


class CallbackRefusal(APIException):
    """A refusal of a callback. The platform stores the text, so it is short and fixed (S16)."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status_code = status


class AlwaysJson(BaseContentNegotiation):
    """Answers in JSON for any `Accept` header, so that none can lose an event (I17)."""

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """Return the first renderer in all cases."""
        return renderers[0], renderers[0].media_type


class WebhookView(APIView):
    """The endpoint for callbacks of one workspace, for any method with a body (A23)."""

    authentication_classes = ()  # `inbox.auth` compares the secret of the workspace
    permission_classes = ()
    parser_classes = ()
    renderer_classes = (JSONRenderer,)
    content_negotiation_class = AlwaysJson
    schema = None  # the platform documents it, not our API
    # OPTIONS would answer 2xx and store nothing.
    http_method_names = [name for name in APIView.http_method_names if name != "options"]

    def post(self, request: Request, workspace_uuid: UUID) -> Response:
        """Store a callback; answer 200, or a refusal that the platform records."""
        now = timezone.now()
        with lock_timeout.short():
            known = auth.remembered.get(workspace_uuid)
            if known is None or not self._is_stored(known, now):
                self._store(workspace_uuid, now)
        if _missed:
            _ask_for_missed()
        return Response({"status": "stored"})

    get = put = post

    def http_method_not_allowed(self, request: Any, *_: Any, **named: Any) -> Response:
        """Refuse another method, and count that, since the platform may use it one day (A22)."""
        refusal = CallbackRefusal(405, f"the method {request.method} is not taken")
        workspace = auth.read(named["workspace_uuid"])
        if workspace is not None:
            now = timezone.now()
            is_wrong = not auth.lets_in(workspace, request, now)
            refusal = _noted(refusal, workspace, request, now, is_wrong=is_wrong)
        raise refusal

    def handle_exception(self, exc: Exception) -> Response:
        """Answer with one fixed line, and never with 2xx if nothing was stored (I15, S16)."""
        if not isinstance(exc, APIException):
            _missed.add(self.kwargs["workspace_uuid"])  # the trigger history still has it
            if not isinstance(exc, DatabaseError | SecretUnreadable):
                raise exc  # a bug of ours: Django answers 500
            log.exception("a callback could not be stored")
            exc = CallbackRefusal(503, "cannot store it now")
        answer = Response({"error": str(exc.detail)}, status=exc.status_code)
        # Django would write a log line about each refusal.
        answer._has_been_logged = True  # type: ignore[attr-defined]
        return answer

    def _is_stored(self, known: auth.WorkspaceSnapshot, now: datetime) -> bool:
        """Store the callback with one statement, with the cached workspace.

        Return False if the database must be read first: nobody is refused because of the cache
        alone.
        """
        try:
            received = self._received(known.workspace, now)
        except CallbackRefusal:
            return False
        return store.store(known.workspace.pk, **received, given=known.unchanged)

    def _store(self, uuid: UUID, now: datetime) -> None:
        """Read the workspace, and store the callback or raise CallbackRefusal."""
        workspace = auth.read(uuid)
        if workspace is None:
            raise CallbackRefusal(404, "unknown callback address")
        try:
            received = self._received(workspace, now)
        except CallbackRefusal as refusal:
            raise _noted(refusal, workspace, self.request, now) from None
        store.store(workspace.pk, **received)

    def _received(self, workspace: Workspace, now: datetime) -> dict[str, Any]:
        """Return the arguments of `store`; raise CallbackRefusal for a wrong caller or body."""
        request = self.request
        if not auth.lets_in(workspace, request, now):
            raise CallbackRefusal(WRONG_SECRET, "not authenticated")
        allowed = workspace.callback_networks
        if allowed and not callers.is_among(callers.source(request), allowed):
            raise CallbackRefusal(NOT_FROM_HERE, "address not allowed")
        if not self._body.strip():
            if request.method == "GET":
                raise CallbackRefusal(405, "a body is needed")
            raise CallbackRefusal(400, "empty body")
        return {
            "body": masked_body(self._body, workspace),
            "headers": masked_headers(request.headers, workspace),
            "method": str(request.method),
            "source": ReceivedEvent.Source.CALLBACK,
            "now": now,
        }

    @cached_property
    def _body(self) -> bytes:
        """The raw bytes, up to the limit. A wrong length raises CallbackRefusal.

        A chunked body is complete here: `config.wsgi` has set its length. If the server does not
        decode chunks (Django's development server), the body is empty.
        """
        try:
            length = int(self.request.META.get("CONTENT_LENGTH") or 0)
        except ValueError:
            raise CallbackRefusal(400, "bad content length") from None
        if length > settings.CALLBACK_BODY_LIMIT:
            raise CallbackRefusal(413, "body too large")
        body = self.request.read(length) if length > 0 else b""
        if len(body) < length:
            raise CallbackRefusal(400, "body cut off")
        return body


def _ask_for_missed() -> None:
    missed = _missed.copy()
    try:
        with lock_timeout.short():
            for hook in hooks.plugged().after_missed:
                hook(missed, timezone.now())
    except DatabaseError:
        log.exception("the history could not be asked for")
    else:
        _missed.difference_update(missed)


def _noted(
    refusal: CallbackRefusal,
    workspace: Workspace,
    request: Request,
    now: datetime,
    *,
    is_wrong: bool = False,
) -> CallbackRefusal:
    """Count a refusal, so that a person sees it in the admin; return the refusal to send (S22).

    Our own test calls are not counted. Wrong secrets over the limit are counted once a second.
    """
    if is_ours(request.headers.get(TEST_HEADER, "")):
        return refusal
    source, number = callers.source(request), 1
    if is_wrong or refusal.status_code == WRONG_SECRET:
        most, at = settings.CALLBACK_WRONG_A_MINUTE, time.monotonic()
        if wrong.are_too_many(workspace.pk, source, most=most, now=at):
            refusal = CallbackRefusal(429, "too many wrong secrets")
            number = wrong.to_note(workspace.pk, now=at)
            if not number:
                return refusal
    where = f" (from {clean(source)[0]})" if refusal.status_code == NOT_FROM_HERE else ""
    text = f"{refusal.status_code} {refusal.detail}{where}"
    log.warning("callback for %s refused: %s", workspace.slug, text)
    try:
        Workspace.objects.filter(pk=workspace.pk).update(
            refused_callbacks=F("refused_callbacks") + number,
            last_refusal=f"{request.method}: {text}",
            last_refusal_at=now,
        )
    except DatabaseError:
        log.exception("the refusal could not be counted")
    return refusal

"""The format of all errors of the API: `code`, `message`, and a list of `fields`."""

import logging
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from django.core.exceptions import DisallowedHost
from django.db import InterfaceError, InternalError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.template import loader
from django.utils import translation
from django.views import defaults
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import exception_handler

from crm_sync.platform.errors import (
    NotFoundError,
    OnHold,
    RejectedError,
    SyncError,
    TransientError,
)
from crm_sync.platform.problems import explain

log = logging.getLogger(__name__)

PREFIX = "/api/"
PAUSE = 30  # seconds of `Retry-After` if the platform sends none, or if our database fails
LATER = {"Retry-After": str(PAUSE)}
# The database is down, locked or full. PostgreSQL reports a write to a standby as an internal
# error.
DATABASE_AWAY = (OperationalError, InterfaceError, InternalError)
Fields = Iterable[tuple[str, str]]  # path and message


class Refused(exceptions.APIException):
    """A refused call: status, code, message, the invalid fields, a `Retry-After`."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        fields: Fields = (),
        *,
        wait: int | None = None,
    ) -> None:
        super().__init__(message, code)
        self.status_code, self.fields, self.wait = status, tuple(fields), wait


class TooLarge(exceptions.APIException):
    """A body over API_BODY_LIMIT (S7)."""

    status_code = 413
    default_code = "too_large"


def document(code: str, message: str, fields: Fields = ()) -> dict[str, Any]:
    """Return the body of an error."""
    named = [{"path": path, "message": text} for path, text in fields]
    return {"code": code, "message": message, "fields": named}


def handle(error: Exception, context: dict[str, Any]) -> Response | None:
    """Return the response for an error in a view, None for an error of ours."""
    if isinstance(error, SyncError):
        error = _of_platform(error)
    elif isinstance(error, DATABASE_AWAY):
        error = _of_database(error)
    response = exception_handler(error, context)
    if response is None:
        return None
    if isinstance(error, exceptions.ValidationError):
        response.data = document("invalid", "Some fields are not valid.", _flat(error.detail))
    elif isinstance(error, Http404):
        response.data = document("not_found", "There is no such object in this workspace.")
    elif isinstance(error, exceptions.APIException):
        code = str(error.get_codes())
        fields = error.fields if isinstance(error, Refused) else ()
        response.data = document(code, str(error.detail), fields)
    return response


def _of_platform(error: SyncError) -> Refused:
    """Return what the caller can do after an error of the platform."""
    text = str(explain(error, is_repeated=False))
    if isinstance(error, RejectedError):
        fields = [(field.path, field.message) for field in error.fields]
        status = 409 if error.status == 409 else 422
        return Refused(status, "refused_by_platform", text, fields)
    if isinstance(error, OnHold):
        return Refused(409, "on_hold", text)
    if isinstance(error, NotFoundError):  # to wait and repeat it would not help
        return Refused(409, "not_on_platform", text)
    pause = error.retry_after if isinstance(error, TransientError) else None
    wait = PAUSE if pause is None else round(pause)
    return Refused(503, "platform_unavailable", text, wait=wait)


def _of_database(error: BaseException) -> Refused:
    """Return what the caller can do while our database fails. The log has the reason."""
    log.error("the database did not take a call of the API: %s", str(error).strip())
    text = "The database does not answer now: repeat the call, with its key if it has one."
    return Refused(503, "database_unavailable", text, wait=PAUSE)


def _flat(detail: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield path and message of each error of a serializer."""
    if isinstance(detail, dict):
        for name, inner in detail.items():
            # The keys of a list are the numbers of its wrong items.
            inside = f"[{name}]" if isinstance(name, int) else f".{name}"
            is_whole = name == "non_field_errors"
            yield from _flat(inner, path if is_whole else f"{path}{inside}".lstrip("."))
    elif isinstance(detail, list):
        for index, inner in enumerate(detail):
            is_inside = isinstance(inner, dict | list)
            yield from _flat(inner, f"{path}[{index}]" if is_inside else path)
    else:
        yield path, str(detail)


def language_of_reader(request: HttpRequest) -> translation.override:
    """Return the language of an error page: of the person, else of the browser.

    An error may come before it is known who asks, or at an address that is not of the admin.
    """
    known = getattr(request, "LANGUAGE_CODE", None)
    return translation.override(known or translation.get_language_from_request(request))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a request for a page that is not there."""
    with language_of_reader(request):
        return defaults.page_not_found(request, exception)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a request that Django refuses before a view, in the same format."""
    if not request.path_info.startswith(PREFIX):
        with language_of_reader(request):
            return defaults.bad_request(request, exception)
    text = "This request cannot be read. Nothing was changed."
    if isinstance(exception, DisallowedHost):
        text = "The header Host has an address that is not served here."
    return JsonResponse(document("bad_request", text), status=400)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer an error: 503 if our database does not answer, else 500. The log has its traceback.

    An address of the API is answered in the format of the API, any other with a page.
    """
    error, is_api = sys.exception(), request.path_info.startswith(PREFIX)
    if isinstance(error, DATABASE_AWAY):
        if is_api:  # before the call reached a view
            body = document("database_unavailable", str(_of_database(error).detail))
            return JsonResponse(body, status=503, headers=LATER)
        with language_of_reader(request):
            # As `defaults.server_error`, it runs no context processor: these need the database.
            return HttpResponse(loader.get_template("503.html").render(), status=503, headers=LATER)
    if is_api:
        text = "This is an error of ours. Read the object to see whether anything was changed."
        return JsonResponse(document("failed", text), status=500)
    with language_of_reader(request):
        return defaults.server_error(request)

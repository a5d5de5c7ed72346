"""Protect the disk from uploads: a file that is too large is dropped while it arrives (S7)."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.files.uploadhandler import FileUploadHandler, SkipFile
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext

from crm_sync.text import whole

_MARK = "upload_was_too_large"


def known_people_only(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Accept a body that is larger than a callback only from a logged-in person, else answer 413.

    Django reads a form, and writes its files to disk, before a view checks the person. A smaller
    body remains in memory.
    """

    def serve(request: HttpRequest) -> HttpResponse:
        limit = settings.CALLBACK_BODY_LIMIT
        length = whole(request.META.get("CONTENT_LENGTH") or "0")
        if request.path_info.startswith("/api/"):  # the API limits a body itself, and has no logins
            return get_response(request)
        is_large = length is None or length > limit
        if is_large and not request.user.is_authenticated:
            text = gettext("Log in first: without that a request holds at most %(limit)s.")
            text %= {"limit": filesizeformat(limit)}
            return HttpResponse(text, status=413, content_type="text/plain; charset=utf-8")
        return get_response(request)

    return serve


class UploadLimit(FileUploadHandler):
    """The first upload handler of every request, because Django reads a body before the view."""

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        """Pass a chunk on; skip the rest of a file that is too large."""
        if start + len(raw_data) > settings.IMPORT_FILE_LIMIT:
            setattr(self.request, _MARK, True)
            raise SkipFile
        return raw_data

    def file_complete(self, file_size: int) -> Any:
        """Do nothing: the next handlers store the file."""
        return None


def was_too_large(request: HttpRequest) -> bool:
    """Return whether a file of this request was dropped because it is too large."""
    return bool(getattr(request, _MARK, False))

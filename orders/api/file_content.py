"""The bytes of a stored file, for programs: whole, or a part of them."""

from collections.abc import Iterator
from typing import Any

from django.core.files import File
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.http import content_disposition_header
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request

from crm_sync.api.error_answers import Refused
from crm_sync.api.views import View
from orders.api import byte_range
from orders.api.byte_range import ByteRange, NotSatisfiable
from orders.materials.download import storage
from orders.materials.file_names import file_name
from orders.models import MaterialFile

BLOCK = 256 * 1024  # bytes in memory at once


class FileContent(View):
    """The bytes of one stored file."""

    scopes = {"GET": "orders:read"}

    @extend_schema(
        operation_id="files_content",
        parameters=[
            OpenApiParameter("Range", str, OpenApiParameter.HEADER, description="One range"),
            OpenApiParameter("If-None-Match", str, OpenApiParameter.HEADER),
            OpenApiParameter("If-Range", str, OpenApiParameter.HEADER),
        ],
        responses={
            (200, "application/octet-stream"): OpenApiTypes.BINARY,
            (206, "application/octet-stream"): OpenApiTypes.BINARY,
            304: OpenApiResponse(description="It is the version that the call names"),
            416: OpenApiResponse(description="There is no such part"),
        },
    )
    def get(self, request: Request, file_id: int) -> HttpResponseBase:
        """Return the bytes of a stored file. Its ETag is the SHA-256 of all of them."""
        stored = self.within(MaterialFile.objects.exclude(name="").select_related("material"))
        row = get_object_or_404(stored, pk=file_id)
        file, tag = _opened(row), f'"{row.digest}"'
        size = file.size
        headers = {"ETag": tag, "Accept-Ranges": "bytes", "Cache-Control": "private, no-cache"}
        if byte_range.has_tag(request.headers.get("If-None-Match", ""), tag):
            file.close()
            return HttpResponse(status=304, headers=headers)
        is_same = request.headers.get("If-Range", tag) == tag
        try:
            part = byte_range.wanted(request.headers.get("Range", "") if is_same else "", size)
        except NotSatisfiable:
            file.close()
            headers["Content-Range"] = f"bytes */{size}"
            return HttpResponse(status=416, headers=headers)
        return _response(row, file, part, headers)

    def perform_content_negotiation(self, request: Request, force: bool = False) -> tuple[Any, str]:
        """Take any `Accept`: a file has the type that it has."""
        return super().perform_content_negotiation(request, force=True)


def _opened(row: MaterialFile) -> "File[bytes]":
    try:
        return storage().open(row.name)
    except OSError:
        raise Refused(404, "not_found", "The file is no longer in the storage.") from None


def _response(
    row: MaterialFile, file: "File[bytes]", part: ByteRange | None, headers: dict[str, str]
) -> HttpResponseBase:
    whole = part or ByteRange(0, file.size - 1)
    headers["Content-Length"] = str(whole.size)
    if part:
        headers["Content-Range"] = f"bytes {part.first}-{part.last}/{file.size}"
    name = file_name(row.material, row.content_type)
    headers["Content-Disposition"] = (
        content_disposition_header(as_attachment=True, filename=name) or ""
    )
    return StreamingHttpResponse(
        _blocks(file, whole),
        status=206 if part else 200,
        content_type=row.content_type,
        headers=headers,
    )


def _blocks(file: "File[bytes]", part: ByteRange) -> Iterator[bytes]:
    """Yield the bytes of a part, and close the file."""
    with file:
        file.seek(part.first)
        left = part.size
        while left > 0 and (block := file.read(min(BLOCK, left))):
            left -= len(block)
            yield block

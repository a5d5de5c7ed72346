"""The bytes of a stored file, for programs."""

from typing import Any

from django.core.files import File
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request

from crm_sync.api.error_answers import Refused
from crm_sync.api.views import View
from orders.materials.download import storage
from orders.materials.file_response import file_response
from orders.models import MaterialFile


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
            (200, "*/*"): OpenApiTypes.BINARY,
            (206, "*/*"): OpenApiTypes.BINARY,
            304: OpenApiResponse(description="It is the version that the call names"),
            416: OpenApiResponse(description="There is no such part"),
        },
    )
    def get(self, request: Request, file_id: int) -> HttpResponseBase:
        """Return the bytes of a stored file. Its ETag is the SHA-256 of all of them."""
        stored = self.within(MaterialFile.objects.exclude(name="").select_related("material"))
        row = get_object_or_404(stored, pk=file_id)
        return file_response(
            request.headers, row, _opened(row), cached="private, no-cache", is_saved=True
        )

    def perform_content_negotiation(self, request: Request, force: bool = False) -> tuple[Any, str]:
        """Take any `Accept`: a file has the type that it has."""
        return super().perform_content_negotiation(request, force=True)


def _opened(row: MaterialFile) -> "File[bytes]":
    try:
        return storage().open(row.name)
    except OSError:
        raise Refused(404, "not_found", "The file is no longer in the storage.") from None

"""The answer with the bytes of a stored file, for programs and browsers: whole, or a part."""

from collections.abc import Iterator, Mapping

from django.core.files import File
from django.http import FileResponse, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.http import content_disposition_header

from orders.materials import byte_range
from orders.materials.byte_range import ByteRange, NotSatisfiable
from orders.materials.file_names import file_name
from orders.models import MaterialFile

BLOCK = 256 * 1024  # bytes in memory at once


def file_response(
    asked: Mapping[str, str], row: MaterialFile, file: "File[bytes]", *, cached: str, is_saved: bool
) -> HttpResponseBase:
    """Return all bytes of a stored file, the part that is asked for, or 304 for a known version.

    Args:
        asked: the headers of the request.
        cached: the `Cache-Control`.
        is_saved: whether a browser saves the file instead of showing it.
    """
    size, tag = file.size, f'"{row.digest}"'
    headers = {"ETag": tag, "Accept-Ranges": "bytes", "Cache-Control": cached}
    if byte_range.has_tag(asked.get("If-None-Match", ""), tag):
        file.close()
        return HttpResponse(status=304, headers=headers)
    is_same = asked.get("If-Range", tag) == tag
    try:
        part = byte_range.wanted(asked.get("Range", "") if is_same else "", size)
    except NotSatisfiable:
        file.close()
        headers["Content-Range"] = f"bytes */{size}"
        return HttpResponse(status=416, headers=headers)
    return _response(row, file, part, headers, is_saved=is_saved)


def _response(
    row: MaterialFile,
    file: "File[bytes]",
    part: ByteRange | None,
    headers: dict[str, str],
    *,
    is_saved: bool,
) -> HttpResponseBase:
    name = file_name(row.material, row.content_type)
    if part is None:
        return FileResponse(
            file,
            as_attachment=is_saved,
            filename=name,
            content_type=row.content_type,
            headers=headers,
        )
    headers["Content-Length"] = str(part.size)
    headers["Content-Range"] = f"bytes {part.first}-{part.last}/{file.size}"
    headers["Content-Disposition"] = content_disposition_header(is_saved, name) or ""
    return StreamingHttpResponse(
        _blocks(file, part), status=206, content_type=row.content_type, headers=headers
    )


def _blocks(file: "File[bytes]", part: ByteRange) -> Iterator[bytes]:
    """Yield the bytes of a part, and close the file."""
    with file:
        file.seek(part.first)
        left = part.size
        while left > 0 and (block := file.read(min(BLOCK, left))):
            left -= len(block)
            yield block

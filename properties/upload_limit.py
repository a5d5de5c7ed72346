"""No upload fills the disk: what is too large is thrown away while it still arrives (S7)."""

from typing import Any

from django.conf import settings
from django.core.files.uploadhandler import FileUploadHandler, SkipFile
from django.http import HttpRequest

_MARK = "upload_was_too_large"


class UploadLimit(FileUploadHandler):
    """First of the handlers, for every request: Django reads a body before anybody is known."""

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        """Hand a chunk on, or leave the file out of the request and read on to its end."""
        if start + len(raw_data) > settings.IMPORT_FILE_LIMIT:
            setattr(self.request, _MARK, True)
            raise SkipFile
        return raw_data

    def file_complete(self, file_size: int) -> Any:
        """Leave the file to the handlers behind this one."""
        return None


def was_too_large(request: HttpRequest) -> bool:
    """Tell whether a file of this request was thrown away for its size."""
    return bool(getattr(request, _MARK, False))

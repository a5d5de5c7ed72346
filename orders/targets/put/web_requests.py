"""The requests to a target of the web: the meaning of an answer, and the bytes of a file."""

import mimetypes
from collections.abc import Collection, Iterator, Mapping
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from crm_sync.platform import outside
from crm_sync.platform.errors import RejectedError
from crm_sync.platform.outside import RequestOptions
from crm_sync.sentence import Sentence, sentence
from orders.targets.put.target_connection import Limits, Readable, Unwelcome
from properties.sources.fetch.transfer import SILENCE, Place, failed, rejected

UNNAMED = "application/octet-stream"
_LATER = frozenset({408, 409, 423, 425, 429})


class FileBody:
    """The bytes of a file as the body of a request, with their number."""

    def __init__(self, file: Readable, size: int, limits: Limits) -> None:
        self._blocks, self._size = limits.blocks(file), size

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[bytes]:
        return self._blocks


def address_of(place: Place, path: str) -> str:
    """Return the address of a path below a target, each part quoted once."""
    parts = urlsplit(place.address.text)
    whole = f"{unquote(parts.path).rstrip('/')}/{path}"
    return urlunsplit((parts.scheme, parts.netloc, quote(whole, safe="/~"), "", ""))


def options(place: Place, headers: Mapping[str, str]) -> RequestOptions:
    """Return how a request is sent: to an allowed address alone, and to no other by a redirect."""
    return RequestOptions(inside=place.inside, private=headers, silence=SILENCE)


def ask(
    method: str,
    url: str,
    how: RequestOptions,
    limits: Limits,
    *,
    body: FileBody | None = None,
    well: Collection[int] = (),
) -> int:
    """Send a request and return its status: 2xx but 207, or one that is `well`, too.

    Raises:
        Unwelcome: the address is not allowed, or the target does not accept the user.
        RejectedError: it refuses this request.
        TransientError: no answer, or one that may be another later.
    """
    try:
        with outside.send(method, url, body, how, deadline=limits.left()) as answer:
            status = answer.status
    except RejectedError as error:  # of the address, whatever the file
        raise Unwelcome(Sentence(str(error)), status=0) from error
    if status in well or (200 <= status < 300 and status != 207):
        return status
    host = urlsplit(url).hostname or ""
    text = sentence(
        "%(host)s answers %(status)s to %(method)s", host=host, status=str(status), method=method
    )
    if status == 401:
        raise Unwelcome(text, status=status)
    if status >= 500 or status in _LATER or status == 207:
        raise failed(text)
    raise rejected(text)


def type_of(path: str) -> str:
    """Return the content type of a name, for whoever gets the file from there."""
    return mimetypes.guess_type(path)[0] or UNNAMED

"""A file from a web server: If-None-Match and If-Modified-Since, else all of it."""

import time
from collections.abc import Mapping
from dataclasses import replace
from email.utils import parsedate_to_datetime

from crm_sync.platform import outside
from crm_sync.platform.outside import RequestOptions, ResponseStream
from crm_sync.text import whole
from properties.sources.fetch import signing
from properties.sources.fetch.wanted import (
    SILENCE,
    Fetched,
    FileVersion,
    Place,
    Sink,
    failed,
    rejected,
    wait_for_upload,
)

UNCHANGED = 304
_NO_ENTRY = frozenset({401, 403})
_SHOWN = {
    "PASSWORD": "the user and the password",
    "BEARER": "the token",
    "HEADER": "the header with its value",
    "SIGNED": "the signature: its key may be another one, or the clock of one side wrong",
}
_NOTHING = frozenset({404, 410})
_LATER = frozenset({408, 425, 429})


def fetch(place: Place, known: FileVersion, sink: Sink) -> Fetched | None:
    """See `fetch.fetch`."""
    url = place.address.text
    options = RequestOptions(_conditions(known), place.inside, may_be_plain=True, silence=SILENCE)
    shown = signing.headers(place, outside.target(url, options), time.time())
    options = replace(options, private=shown)
    with outside.get(url, options, deadline=sink.check()) as answer:
        stamp = FileVersion(answer.headers.get("ETag", ""), answer.headers.get("Last-Modified", ""))
        if answer.status == UNCHANGED or (stamp.etag and stamp == known):
            return None
        _check(answer, place)
        _wait_for_upload(answer.headers, place.address.name)
        size = whole(answer.headers.get("Content-Length", ""))
        sink.expect(size)
        for piece in answer.chunks():
            sink.write(piece)
        sink.finish(size)
    return Fetched(place.address.name, stamp)


def _wait_for_upload(headers: Mapping[str, str], name: str) -> None:
    """Leave a file that was changed a moment ago, by the server's own clock.

    Only of a server that can send parts of it: so it is a file, and no answer that is made anew
    for each request.
    """
    if headers.get("Accept-Ranges", "").strip().lower() != "bytes":
        return
    try:
        modified, now = (
            parsedate_to_datetime(headers[name]).timestamp() for name in ("Last-Modified", "Date")
        )
    except (KeyError, ValueError, OverflowError):
        return
    wait_for_upload(name, modified, now)


def _conditions(known: FileVersion) -> Mapping[str, str]:
    asked = {"If-None-Match": known.etag, "If-Modified-Since": known.modified}
    return {name: value for name, value in asked.items() if value}


def _check(answer: ResponseStream, place: Place) -> None:
    """Raise what an answer without a file means."""
    status, host = answer.status, place.address.host
    if status == 200:
        return
    if status in _NO_ENTRY:
        raise rejected(f"{host} does not accept {_SHOWN[place.sign_in]} ({status})")
    if status in _NOTHING:
        raise rejected(f"nothing is at this address ({status})")
    if status >= 500 or status in _LATER:
        raise failed(f"{host} answers {status}")
    raise rejected(f"{host} answers {status}, and no file")

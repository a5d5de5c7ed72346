"""A file from a web server: If-None-Match and If-Modified-Since, else all of it."""

import base64
from collections.abc import Mapping

from crm_sync.platform import outside
from crm_sync.platform.outside import Answer, RequestOptions
from crm_sync.text import whole
from properties.sources.fetch.wanted import (
    SILENCE,
    Fetched,
    Place,
    Sink,
    Stamp,
    failed,
    rejected,
)

UNCHANGED = 304
_NO_ENTRY = frozenset({401, 403})
_NOTHING = frozenset({404, 410})
_LATER = frozenset({408, 425, 429})


def fetch(place: Place, known: Stamp, sink: Sink) -> Fetched | None:
    """See `fetch.fetch`."""
    options = RequestOptions(
        _conditions(known),
        place.inside,
        may_be_plain=True,
        private=_credentials(place),
        silence=SILENCE,
    )
    with outside.get(place.address.text, options, deadline=sink.check()) as answer:
        stamp = Stamp(answer.headers.get("ETag", ""), answer.headers.get("Last-Modified", ""))
        if answer.status == UNCHANGED or (stamp.etag and stamp == known):
            return None
        _check(answer, place)
        size = whole(answer.headers.get("Content-Length", ""))
        sink.expect(size)
        for piece in answer.chunks():
            sink.write(piece)
        sink.finish(size)
    return Fetched(place.address.name, stamp)


def _conditions(known: Stamp) -> Mapping[str, str]:
    asked = {"If-None-Match": known.etag, "If-Modified-Since": known.modified}
    return {name: value for name, value in asked.items() if value}


def _credentials(place: Place) -> Mapping[str, str]:
    if not place.user and not place.secret:
        return {}
    pair = base64.b64encode(f"{place.user}:{place.secret}".encode()).decode("ascii")
    return {"Authorization": f"Basic {pair}"}


def _check(answer: Answer, place: Place) -> None:
    """Raise what an answer without a file means."""
    status, host = answer.status, place.address.host
    if status == 200:
        return
    if status in _NO_ENTRY:
        raise rejected(f"{host} does not accept the user and the password ({status})")
    if status in _NOTHING:
        raise rejected(f"nothing is at this address ({status})")
    if status >= 500 or status in _LATER:
        raise failed(f"{host} answers {status}")
    raise rejected(f"{host} answers {status}, and no file")

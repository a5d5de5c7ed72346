"""Fetch a file from a web server, with If-None-Match and If-Modified-Since."""

import base64
import hashlib
import hmac
import time
from collections.abc import Mapping
from dataclasses import replace
from email.utils import parsedate_to_datetime

from crm_sync.platform import outside
from crm_sync.platform.outside import RequestOptions, ResponseStream
from crm_sync.sentence import Sentence, sentence
from crm_sync.text import whole
from properties.sources.fetch.transfer import (
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
_NOTHING = frozenset({404, 410})
_LATER = frozenset({408, 425, 429})
KEY, TIME, SIGNATURE = "X-Key", "X-Timestamp", "X-Signature"
METHOD = "GET"


def fetch(place: Place, known: FileVersion, sink: Sink) -> Fetched | None:
    """See `fetch.fetch`."""
    url = place.address.text
    conditions = {"If-None-Match": known.etag, "If-Modified-Since": known.modified}
    conditions = {name: value for name, value in conditions.items() if value}
    options = RequestOptions(conditions, place.inside, may_be_plain=True, silence=SILENCE)
    shown = headers(place, outside.target(url, options), time.time())
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
    """Postpone a file that was changed a moment ago, by the server's own clock.

    This applies only if the server can send parts of it: then it is a file, and not an answer that
    is generated for each request.
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


def _check(answer: ResponseStream, place: Place) -> None:
    status, host = answer.status, place.address.host
    if status == 200:
        return
    if status in _NO_ENTRY:
        raise rejected(_not_accepted(place.sign_in, host, status))
    if status in _NOTHING:
        raise rejected(sentence("nothing is at this address (%(status)s)", status=status))
    if status >= 500 or status in _LATER:
        raise failed(sentence("%(host)s answers %(status)s", host=host, status=status))
    raise rejected(sentence("%(host)s answers %(status)s, and no file", host=host, status=status))


def _not_accepted(sign_in: str, host: str, status: int) -> Sentence:
    match sign_in:
        case "BEARER":
            return sentence(
                "%(host)s does not accept the token (%(status)s)", host=host, status=status
            )
        case "HEADER":
            return sentence(
                "%(host)s does not accept the header with its value (%(status)s)",
                host=host,
                status=status,
            )
        case "SIGNED":
            return sentence(
                "%(host)s does not accept the signature: its key may be another one, or the clock"
                " of one side wrong (%(status)s)",
                host=host,
                status=status,
            )
    return sentence(
        "%(host)s does not accept the user and the password (%(status)s)", host=host, status=status
    )


def headers(place: Place, target: str, now: float) -> Mapping[str, str]:
    """Return the headers that authenticate a request; none without a user and a secret.

    Args:
        target: the path with its query, as in the request.
        now: seconds since 1970.
    """
    if not place.user and not place.secret:
        return {}
    match place.sign_in:
        case "BEARER":
            return {"Authorization": f"Bearer {place.secret}"}
        case "HEADER":
            return {place.header: place.secret}
        case "SIGNED":
            key = {KEY: place.user} if place.user else {}
            moment = str(int(now))
            return {**key, TIME: moment, SIGNATURE: signature(place.secret, target, moment)}
    pair = base64.b64encode(f"{place.user}:{place.secret}".encode()).decode("ascii")
    return {"Authorization": f"Basic {pair}"}


def signature(secret: str, target: str, moment: str) -> str:
    """Return the HMAC-SHA256 of method, target and time, one per line, in hexadecimal digits."""
    text = f"{METHOD}\n{target}\n{moment}"
    return hmac.new(secret.encode(), text.encode(), hashlib.sha256).hexdigest()

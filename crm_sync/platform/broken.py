"""Pure: why a connection failed, in words for people, without class names and error numbers."""

import ssl
from collections.abc import Iterator

import urllib3.exceptions as web
from urllib3.util.ssl_match_hostname import CertificateError

NO_ANSWER = "no answer came in time"
NOBODY = "nobody answers there"
BROKE_OFF = "it broke off"
_KINDS: tuple[tuple[tuple[type[Exception], ...], str], ...] = (
    ((ssl.SSLError, web.SSLError), "it could not be encrypted"),
    ((ConnectionRefusedError, web.NewConnectionError), NOBODY),  # the second is also a time-out
    ((TimeoutError, web.TimeoutError), NO_ANSWER),
)


def why(error: BaseException) -> str:
    """Return why a connection failed. Libraries wrap the cause, so search all wrapped errors."""
    found = list(_within(error))
    for one in found:
        if isinstance(one, ssl.SSLCertVerificationError):
            return f"its certificate is not accepted ({one.verify_message})"
        if isinstance(one, CertificateError):
            return f"its certificate is not accepted ({one})"
    for kind, words in _KINDS:
        if any(isinstance(one, kind) for one in found):
            return words
    return BROKE_OFF


def _within(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    left: list[object] = [error]
    while left:
        one = left.pop(0)
        if isinstance(one, BaseException) and id(one) not in seen:
            seen.add(id(one))
            yield one
            left += [*one.args, getattr(one, "reason", None), one.__cause__, one.__context__]

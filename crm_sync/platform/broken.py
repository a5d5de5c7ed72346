"""Pure: why a connection failed, in words for people, without class names and error numbers."""

import ssl
from collections.abc import Iterator

import urllib3.exceptions as web
from urllib3.util.ssl_match_hostname import CertificateError

from crm_sync.sentence import Sentence, sentence

NO_ANSWER = sentence("no answer came in time")
NOBODY = sentence("nobody answers there")
BROKE_OFF = sentence("it broke off")
_KINDS: tuple[tuple[tuple[type[Exception], ...], Sentence], ...] = (
    ((ssl.SSLError, web.SSLError), sentence("it could not be encrypted")),
    ((ConnectionRefusedError, web.NewConnectionError), NOBODY),  # the second is also a time-out
    ((TimeoutError, web.TimeoutError), NO_ANSWER),
)


def why(error: BaseException) -> Sentence:
    """Return why a connection failed. Libraries wrap the cause, so search all wrapped errors."""
    found = list(_within(error))
    for one in found:
        if isinstance(one, ssl.SSLCertVerificationError):
            return _certificate(one.verify_message)
        if isinstance(one, CertificateError):
            return _certificate(str(one))
    for kind, words in _KINDS:
        if any(isinstance(one, kind) for one in found):
            return words
    return BROKE_OFF


def _certificate(reason: str) -> Sentence:
    return sentence("its certificate is not accepted (%(reason)s)", reason=reason)


def _within(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    left: list[object] = [error]
    while left:
        one = left.pop(0)
        if isinstance(one, BaseException) and id(one) not in seen:
            seen.add(id(one))
            yield one
            left += [*one.args, getattr(one, "reason", None), one.__cause__, one.__context__]

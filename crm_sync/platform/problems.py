"""Pure: what went wrong with a call, in one sentence, and what a person can do about it.

The raw text of an error is what is stored and logged ("PATCH /v1/…: 400 …"): it is for an operator.
From it, and only here, comes what everybody else reads: on every page, on the command line and in
docs/troubles.md.
"""

import http.client
import re
from dataclasses import dataclass
from enum import StrEnum

from crm_sync.platform import errors


class Kind(StrEnum):
    """What went wrong."""

    UNREACHABLE = "UNREACHABLE"
    SLOW = "SLOW"
    BROKEN_OFF = "BROKEN_OFF"
    BAD_CERTIFICATE = "BAD_CERTIFICATE"
    UNREADABLE = "UNREADABLE"
    ELSEWHERE = "ELSEWHERE"
    LOCKED = "LOCKED"
    BUSY = "BUSY"
    DOWN = "DOWN"
    NO_CREDENTIALS = "NO_CREDENTIALS"
    UNAUTHORIZED = "UNAUTHORIZED"
    FORBIDDEN = "FORBIDDEN"
    NOT_FOUND = "NOT_FOUND"
    NOT_ALLOWED = "NOT_ALLOWED"
    TOO_LARGE = "TOO_LARGE"
    REFUSED = "REFUSED"
    OTHER = "OTHER"  # a sentence of ours already


AGAIN = "It is tried again by itself."
AFTER = "All goes on by itself after the pause."
ONCE_BACK = "All goes on by itself once it is back."
LASTS = f"{AGAIN} If it lasts, an operator has to look"

# What happened, and what to do. The platform's own words follow where it refused something.
MEANINGS: dict[Kind, tuple[str, str]] = {
    Kind.UNREACHABLE: (
        "The platform cannot be reached.",
        f"{LASTS} at the address of the workspace and at the network.",
    ),
    Kind.SLOW: ("The platform did not answer in time.", AGAIN),
    Kind.BROKEN_OFF: ("The connection to the platform broke off.", AGAIN),
    Kind.BAD_CERTIFICATE: (
        "The certificate of the platform is not accepted.",
        f"{LASTS} at the address of the workspace, the certificate and CA_BUNDLE.",
    ),
    Kind.UNREADABLE: (
        "The answer of the platform cannot be read.",
        f"{LASTS}, and tell the platform.",
    ),
    Kind.ELSEWHERE: (
        "The platform does not take our calls at this address.",
        f"{LASTS} at the address of the workspace.",
    ),
    Kind.LOCKED: ("The platform cannot change it at the moment.", AGAIN),
    Kind.BUSY: (
        "The platform takes no more calls for a moment.",
        AFTER,
    ),
    Kind.DOWN: (
        "The platform is out of order at the moment.",
        ONCE_BACK,
    ),
    Kind.NO_CREDENTIALS: (
        "The workspace has no credentials.",
        "An operator has to enter them.",
    ),
    Kind.UNAUTHORIZED: (
        "The platform does not accept our credentials.",
        "An operator has to enter new ones.",
    ),
    Kind.FORBIDDEN: (
        "Our credentials do not reach this far.",
        "An operator has to ask the platform for the permission.",
    ),
    Kind.NOT_FOUND: (
        "The platform does not have it, or has it no longer.",
        "Read it again. If it stays so, look for it on the platform.",
    ),
    Kind.NOT_ALLOWED: (
        "The platform does not allow it as things stand",
        "Read it again, and see whether it is still to be done.",
    ),
    Kind.TOO_LARGE: (
        "It is larger than the platform takes.",
        "Shorten its texts or lists, and save.",
    ),
    Kind.REFUSED: (
        "The platform refused it",
        "Change what it names, and save.",
    ),
}
# The same where no worker tries it again, but whoever asked for it: a command, a form, the API.
BY_HAND = {
    AGAIN: "Try again in a moment.",
    AFTER: "Try again after the pause.",
    ONCE_BACK: "Try again once it is back.",
}
SAYS_WHY = frozenset({Kind.NOT_ALLOWED, Kind.REFUSED})

_CALL = re.compile(r"(?:GET|POST|PUT|PATCH|DELETE) \S+: (?P<said>.*)", re.DOTALL)
_STATUS = re.compile(r"(?P<status>[1-5]\d\d)\b(?P<words>.*)", re.DOTALL)
_BEGINNINGS = {
    errors.CANNOT_CONNECT: Kind.UNREACHABLE,
    errors.NOT_IN_TIME: Kind.SLOW,
    errors.NO_ANSWER: Kind.BROKEN_OFF,
    errors.BAD_CERTIFICATE: Kind.BAD_CERTIFICATE,
    errors.TOO_MUCH: Kind.UNREADABLE,
}
_STATUSES = {
    401: Kind.UNAUTHORIZED,
    403: Kind.FORBIDDEN,
    404: Kind.NOT_FOUND,
    410: Kind.NOT_FOUND,
    **dict.fromkeys(errors.NOT_TAKEN, Kind.ELSEWHERE),
    408: Kind.SLOW,
    409: Kind.NOT_ALLOWED,
    412: Kind.LOCKED,
    413: Kind.TOO_LARGE,
    423: Kind.LOCKED,
    429: Kind.BUSY,
    504: Kind.SLOW,
}


@dataclass(frozen=True)
class Problem:
    """What a person reads.

    Attributes:
        sentence: what happened; the text itself where it does not begin with a call.
        remedy: what a person can do, or that nothing is to be done; perhaps "".
        details: the raw text for an operator; "" where the sentence says it all.
    """

    kind: Kind
    sentence: str
    remedy: str = ""
    details: str = ""

    def __str__(self) -> str:
        return f"{self.sentence} {self.remedy}".strip()


def explain(problem: str | errors.SyncError, *, is_repeated: bool = True) -> Problem:
    """Return an error, or the stored text of one, as a sentence and a remedy for people.

    An error that names no call is one of ours, and says itself what is wrong.

    Args:
        is_repeated: a worker tries it again; else only whoever asked for it.
    """
    text = str(problem)
    kind, words = _kind_in(text)
    if kind is Kind.OTHER:
        return Problem(kind, text)
    sentence, remedy = MEANINGS[kind]
    if not is_repeated:
        for by_itself, by_hand in BY_HAND.items():
            remedy = remedy.replace(by_itself, by_hand)
    if kind in SAYS_WHY:
        sentence = f"{sentence}: {words or text}".rstrip(". ") + "."
    return Problem(kind, sentence, remedy, text)


def _kind_in(text: str) -> tuple[Kind, str]:
    """Return what the text of an error speaks of, and the words of the platform in it."""
    found = _CALL.match(text)
    if found is None:
        return (Kind.NO_CREDENTIALS if errors.NO_CREDENTIALS in text else Kind.OTHER), ""
    for beginning, kind in _BEGINNINGS.items():
        if found["said"].startswith(beginning):
            return kind, ""
    answered = _STATUS.match(found["said"])
    if answered is None:
        return Kind.OTHER, ""
    status = int(answered["status"])
    return _kind_of_status(status), without_name(status, answered["words"].strip())


def _kind_of_status(status: int) -> Kind:
    if status < 300:  # a good answer would be no problem
        return Kind.UNREADABLE
    if status < 400:
        return Kind.ELSEWHERE
    return _STATUSES.get(status, Kind.DOWN if status >= 500 else Kind.REFUSED)


def without_name(status: int, words: str) -> str:
    """Return the platform's words without the name that HTTP gives to the status anyway."""
    name = http.client.responses.get(status, "")
    return "; ".join(part for part in words.split("; ") if part != name)

"""Pure: what went wrong with a call, in one sentence, and what a person can do about it.

The text of an error ("PATCH /v1/…: 400 …") is logged and stored for an operator, together with its
kind. Only this module turns the kind into a text for all other people: on every page, on the
command line and in docs/troubles.md.
"""

from dataclasses import dataclass

from crm_sync.platform.errors import ErrorKind, Problem, SyncError, problem_of

AGAIN = "It is tried again by itself."
AFTER = "All goes on by itself after the pause."
ONCE_BACK = "All goes on by itself once it is back."
LASTS = f"{AGAIN} If it lasts, an operator has to look"

# What happened, and what to do. After a refusal the platform's own words follow.
MEANINGS: dict[ErrorKind, tuple[str, str]] = {
    ErrorKind.UNREACHABLE: (
        "The platform cannot be reached.",
        f"{LASTS} at the address of the workspace and at the network.",
    ),
    ErrorKind.SLOW: ("The platform did not answer in time.", AGAIN),
    ErrorKind.BROKEN_OFF: ("The connection to the platform broke off.", AGAIN),
    ErrorKind.BAD_CERTIFICATE: (
        "The certificate of the platform is not accepted.",
        f"{LASTS} at the address of the workspace, the certificate and CA_BUNDLE.",
    ),
    ErrorKind.UNREADABLE: (
        "The answer of the platform cannot be read.",
        f"{LASTS}, and tell the platform.",
    ),
    ErrorKind.ELSEWHERE: (
        "The platform does not take our calls at this address.",
        f"{LASTS} at the address of the workspace.",
    ),
    ErrorKind.LOCKED: ("The platform cannot change it at the moment.", AGAIN),
    ErrorKind.BUSY: (
        "The platform takes no more calls for a moment.",
        AFTER,
    ),
    ErrorKind.DOWN: (
        "The platform is out of order at the moment.",
        ONCE_BACK,
    ),
    ErrorKind.NO_CREDENTIALS: (
        "The workspace has no credentials.",
        "An operator has to enter them.",
    ),
    ErrorKind.UNAUTHORIZED: (
        "The platform does not accept our credentials.",
        "An operator has to enter new ones.",
    ),
    ErrorKind.FORBIDDEN: (
        "Our credentials do not reach this far.",
        "An operator has to ask the platform for the permission.",
    ),
    ErrorKind.NOT_FOUND: (
        "The platform does not have it, or has it no longer.",
        "Read it again. If it stays so, look for it on the platform.",
    ),
    ErrorKind.NOT_ALLOWED: (
        "The platform does not allow it as things stand",
        "Read it again, and see whether it is still to be done.",
    ),
    ErrorKind.TOO_LARGE: (
        "It is larger than the platform takes.",
        "Shorten its texts or lists, and save.",
    ),
    ErrorKind.REFUSED: (
        "The platform refused it",
        "Change what it names, and save.",
    ),
}
# The same if no worker tries again, but a person or a client: a command, a form, the API.
BY_HAND = {
    AGAIN: "Try again in a moment.",
    AFTER: "Try again after the pause.",
    ONCE_BACK: "Try again once it is back.",
}
SAYS_WHY = frozenset({ErrorKind.NOT_ALLOWED, ErrorKind.REFUSED})


@dataclass(frozen=True)
class Explanation:
    """The explanation of a problem for people.

    Attributes:
        sentence: what happened.
        remedy: what a person can do, or that nothing is to be done; perhaps "".
        details: the raw text for an operator, or "" if it is the sentence.
    """

    kind: ErrorKind
    sentence: str
    remedy: str = ""
    details: str = ""

    def __str__(self) -> str:
        return f"{self.sentence} {self.remedy}".strip()


def explain(problem: str | SyncError, *, is_repeated: bool = True) -> Explanation:
    """Return a sentence and a remedy for an error or a stored problem.

    A text without a kind is our own sentence, and is returned as it is.

    Args:
        is_repeated: whether a worker tries the call again by itself.
    """
    found = problem_of(problem) if isinstance(problem, SyncError) else Problem.of(problem)
    kind, text = found.kind, str(found)
    if kind is ErrorKind.OTHER:
        return Explanation(kind, text)
    sentence, remedy = MEANINGS[kind]
    if not is_repeated:
        for by_itself, by_hand in BY_HAND.items():
            remedy = remedy.replace(by_itself, by_hand)
    if kind in SAYS_WHY:
        sentence = f"{sentence}: {found.words or text}".rstrip(". ") + "."
    return Explanation(kind, sentence, remedy, text)

"""Pure: what went wrong with a call, in one sentence, and what a person can do about it.

The text of an error ("PATCH /v1/…: 400 …") is logged and stored for an operator, together with its
kind. Only this module turns the kind into a text for all other people: on every page, on the
command line and in docs/troubles.md.
"""

from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _, override

from crm_sync.platform.errors import ErrorKind, Problem, SyncError, problem_of
from crm_sync.sentence import Sentence
from crm_sync.translated import Text

# What is said if a worker tries again, and if a person or a client has to: a command, a form, the
# API.
AGAIN = (_("It is tried again by itself."), _("Try again in a moment."))
AFTER = (_("All goes on by itself after the pause."), _("Try again after the pause."))
ONCE_BACK = (_("All goes on by itself once it is back."), _("Try again once it is back."))
GOES_ON: dict[ErrorKind, tuple[Text, Text]] = {
    ErrorKind.UNREACHABLE: AGAIN,
    ErrorKind.SLOW: AGAIN,
    ErrorKind.BROKEN_OFF: AGAIN,
    ErrorKind.BAD_CERTIFICATE: AGAIN,
    ErrorKind.UNREADABLE: AGAIN,
    ErrorKind.ELSEWHERE: AGAIN,
    ErrorKind.LOCKED: AGAIN,
    ErrorKind.BUSY: AFTER,
    ErrorKind.DOWN: ONCE_BACK,
}
# What happened, and what a person does, perhaps "".
MEANINGS: dict[ErrorKind, tuple[Text, Text]] = {
    ErrorKind.UNREACHABLE: (
        _("The platform cannot be reached."),
        _(
            "If it lasts, an operator has to look at the address of the workspace and at the"
            " network."
        ),
    ),
    ErrorKind.SLOW: (_("The platform did not answer in time."), ""),
    ErrorKind.BROKEN_OFF: (_("The connection to the platform broke off."), ""),
    ErrorKind.BAD_CERTIFICATE: (
        _("The certificate of the platform is not accepted."),
        _(
            "If it lasts, an operator has to look at the address of the workspace, the certificate"
            " and CA_BUNDLE."
        ),
    ),
    ErrorKind.UNREADABLE: (
        _("The answer of the platform cannot be read."),
        _("If it lasts, an operator has to look, and tell the platform."),
    ),
    ErrorKind.ELSEWHERE: (
        _("The platform does not take our calls at this address."),
        _("If it lasts, an operator has to look at the address of the workspace."),
    ),
    ErrorKind.LOCKED: (_("The platform cannot change it at the moment."), ""),
    ErrorKind.BUSY: (_("The platform takes no more calls for a moment."), ""),
    ErrorKind.DOWN: (_("The platform is out of order at the moment."), ""),
    ErrorKind.NO_CREDENTIALS: (
        _("The workspace has no credentials."),
        _("An operator has to enter them."),
    ),
    ErrorKind.UNAUTHORIZED: (
        _("The platform does not accept our credentials."),
        _("An operator has to enter new ones."),
    ),
    ErrorKind.FORBIDDEN: (
        _("Our credentials do not reach this far."),
        _("An operator has to ask the platform for the permission."),
    ),
    ErrorKind.NOT_FOUND: (
        _("The platform does not have it, or has it no longer."),
        _("Read it again. If it stays so, look for it on the platform."),
    ),
    ErrorKind.NOT_ALLOWED: (
        _("The platform does not allow it as things stand: %(words)s"),
        _("Read it again, and see whether it is still to be done."),
    ),
    ErrorKind.TOO_LARGE: (
        _("It is larger than the platform takes."),
        _("Shorten its texts or lists, and save."),
    ),
    ErrorKind.REFUSED: (
        _("The platform refused it: %(words)s"),
        _("Change what it names, and try again."),
    ),
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


def meaning(problem: Problem) -> Sentence:
    """Return what happened as a sentence that another stored sentence can hold."""
    if problem.kind is ErrorKind.OTHER:
        return problem
    with override("en"):  # the message of a sentence is English
        message = str(MEANINGS[problem.kind][0])
    return Sentence("", message, {"words": problem.words or str(problem)})


def explain(problem: str | SyncError, *, is_repeated: bool = True) -> Explanation:
    """Return a sentence and a remedy for an error or a stored problem.

    A text without a kind is our own sentence.

    Args:
        is_repeated: whether a worker tries the call again by itself.
    """
    found = problem_of(problem) if isinstance(problem, SyncError) else Problem.of(problem)
    kind, text = found.kind, str(found)
    if kind is ErrorKind.OTHER:
        return Explanation(kind, found.said())
    sentence, advice = map(str, MEANINGS[kind])
    if kind in SAYS_WHY:
        sentence = (sentence % {"words": found.words or text}).rstrip(". ") + "."
    by_itself, by_hand = GOES_ON.get(kind, ("", ""))
    remedy = f"{by_itself if is_repeated else by_hand} {advice}".strip()
    return Explanation(kind, sentence, remedy, text)

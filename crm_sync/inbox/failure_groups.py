"""Pure functions for the cause of a stuck event: a kind, and the field or place it is about.

Both are columns of the event (`problem_kind`, `cause`), and the admin groups by them. The words for
them are made here, when they are shown. No text is parsed.
"""

from traceback import walk_tb

from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.platform.events import Fault
from crm_sync.translated import Text, said_of

LENGTH = 200  # characters of a cause
EARLY = "EARLY"  # dated ahead of the clock (S11)
ERROR = "ERROR"  # a bug of ours: the cause is the class of the exception and the function
OTHER = "OTHER"  # stored by an older version: the cause is the text itself
WORDS: dict[str, Text] = {
    Fault.NOT_JSON: _("It is not JSON."),
    Fault.NOT_UTF8: _("It is not JSON: the bytes are not UTF-8."),
    Fault.NOT_AN_OBJECT: _("It is a JSON %(about)s, not an object."),
    Fault.TOO_DEEP: _("Its JSON is nested too deeply."),
    Fault.UNKNOWN_EVENT: _("The event %(about)s is unknown."),
    Fault.MISSING: _("A required field is missing: %(about)s."),
    Fault.TOO_LONG: _("%(about)s is too long."),
    Fault.NOT_A_TEXT: _("%(about)s is not a text."),
    Fault.NOT_A_TIMESTAMP: _("%(about)s is not a timestamp."),
    Fault.NOT_A_DATE: _("%(about)s is not a date."),
    Fault.NOT_A_PERSON: _("%(about)s is not a person."),
    EARLY: _("It is dated ahead of the clock."),
    ERROR: _("An error of ours: %(about)s."),
    OTHER: "%(about)s",
}
OURS = ("crm_sync.", "properties.", "orders.")


def worded(kind: str, about: str) -> str:
    """Return the cause of a group in one sentence, "" without a kind.

    An unknown kind is shown as it is, so that the list still opens. A newer version may have stored
    it before a downgrade.
    """
    if kind == Fault.UNKNOWN_EVENT and not about:
        return gettext("The event has no name that we can read.")
    if kind and kind not in WORDS:
        return said_of(kind, about) if about else kind
    return WORDS[kind] % {"about": about} if kind else ""


def place_of(error: BaseException) -> str:
    """Return the class of an error of ours, and our innermost function in its traceback."""
    frames = (frame for frame, _ in walk_tb(error.__traceback__))
    inner = [frame for frame in frames if frame.f_globals["__name__"].startswith(OURS)]
    name = type(error).__name__
    if not inner:
        return name[:LENGTH]
    code = inner[-1]
    return f"{name} in {code.f_globals['__name__']}.{code.f_code.co_qualname}"[:LENGTH]

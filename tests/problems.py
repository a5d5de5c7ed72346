"""Problems and notes as the product stores them."""

from django.contrib.admin.models import LogEntry

from crm_sync.platform.errors import Problem, kind_of_status, without_name
from crm_sync.sentence import Sentence


def answered(call: str, status: int, words: str = "") -> Problem:
    """Return what is stored of a call that was answered with this status."""
    text = f"{call}: {status} {words}".rstrip()
    return Problem(text, kind_of_status(status), without_name(status, words))


def as_texts(problem: dict) -> dict[str, dict[str, str]]:
    """Return the problems of a property as texts in English: {kind: {leaf: text}}."""
    return {
        kind: {path: format(Problem.of(stored)) for path, stored in fields.items()}
        for kind, fields in problem.items()
    }


def noted() -> list[str]:
    """Return the notes of the history in English, the oldest first."""
    kept = LogEntry.objects.order_by("pk").values_list("change_message", flat=True)
    return [format(Sentence.loaded(one)) for one in kept]

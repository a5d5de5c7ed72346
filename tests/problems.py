"""Problems as the product stores them, for rows that a test writes."""

from crm_sync.platform.errors import Problem, kind_of_status, without_name


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

"""The column for what went wrong (`platform.errors.Problem`)."""

from typing import Any

from django.db import models

from crm_sync.platform.errors import Problem


class ProblemField(models.TextField):  # type: ignore[type-arg] # the stubs know no subclass of str
    """A text column for a problem with its kind, or "" if nothing is wrong.

    A text that is not a `Problem` is stored as our own sentence.
    """

    def from_db_value(self, value: str | None, *_: Any) -> Problem | None:
        """Return the value of the column as a `Problem`."""
        return None if value is None else Problem.loaded(value)

    def get_prep_value(self, value: Any) -> Any:
        """Return a problem or a text in the form in which it is stored."""
        if not isinstance(value, str):
            return super().get_prep_value(value)
        return Problem.of(value).dumped

"""The column for what went wrong (`platform.errors.Problem`)."""

from typing import Any

from django.db import models

from crm_sync.platform.errors import Problem


class ProblemField(models.TextField):  # type: ignore[type-arg] # the stubs know no subclass of str
    """A text column that keeps the kind of a problem beside its text; "" where nothing is wrong.

    A text that is no `Problem` is stored as a sentence of ours.
    """

    def from_db_value(self, value: str | None, *_: Any) -> Problem | None:
        """Return what the column holds as a `Problem`."""
        return None if value is None else Problem.loaded(value)

    def get_prep_value(self, value: Any) -> Any:
        """Return the form of a problem, or of a text, in which it is stored."""
        if not isinstance(value, str):
            return super().get_prep_value(value)
        return Problem.of(value).dumped

"""The columns for stored sentences: what was done, and what went wrong."""

from typing import Any

from django.db import models

from crm_sync.platform.errors import Problem
from crm_sync.sentence import Sentence


class SentenceField(models.TextField):  # type: ignore[type-arg] # the stubs know no subclass of str
    """A text column for a sentence that each person reads in their own language, or "".

    A text that is no `Sentence` is stored as plain words.
    """

    read_as: type[Sentence] = Sentence

    def deconstruct(self) -> Any:
        """Return a text column, which it is for the database."""
        name, _, args, options = super().deconstruct()
        return name, "django.db.models.TextField", args, options

    def from_db_value(self, value: str | None, *_: Any) -> Sentence | None:
        """Return the value of the column as it was stored."""
        return None if value is None else self.read_as.loaded(value)

    def get_prep_value(self, value: Any) -> Any:
        """Return a sentence or a text in the form in which it is stored."""
        if not isinstance(value, str):
            return super().get_prep_value(value)
        return self.read_as.of(value).dumped


class ProblemField(SentenceField):
    """A text column for a problem with its kind, or "" if nothing is wrong."""

    read_as = Problem

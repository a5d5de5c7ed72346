"""The history: who changed which field from what to what. Append-only: an undo is an edit."""

from copy import copy
from enum import StrEnum
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from crm_sync.account_names import name_of
from crm_sync.models.problem import SentenceField
from crm_sync.text import whole
from properties import merge


class Origin(models.TextChoices):
    """The origin of a change."""

    ADMIN = "ADMIN", _("Admin")
    FEED = "FEED", _("Feed")
    MISSING = "MISSING", _("Missing in its feed")
    API = "API", _("Our own code")
    HTTP_API = "HTTP_API", _("API")
    PLATFORM = "PLATFORM", _("Platform")


BY_FEED = (Origin.FEED, Origin.MISSING)


class Cause(StrEnum):
    """What makes many changes at once, and can be undone as one."""

    IMPORT = "import"
    UNDO = "undo"
    BATCH = "batch"
    MATCH = "match"

    def of(self, key: int) -> str:
        """Return the cause of a change by the key of the row that made it."""
        return f"{self}:{key}"

    @classmethod
    def parts(cls, cause: str) -> tuple[str, int | None]:
        """Return the kind and the key of a `Change.cause`; no key if it has none."""
        kind, _, key = cause.partition(":")
        return kind, whole(key)


class Change(models.Model):
    """One change of one leaf; or the creation of a property, which is one row for all leaves.

    A creation has the path CREATION and the whole document in `new`. `parts` returns it leaf by
    leaf, as if each leaf had its own row.
    """

    Origin = Origin
    CREATION = ""

    real_estate_property = models.ForeignKey("properties.Property", on_delete=models.CASCADE)
    path = models.CharField(_("field"), max_length=300)
    old = models.JSONField(null=True)
    new = models.JSONField(null=True)
    origin = models.CharField(max_length=10, choices=Origin)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        db_index=False,  # `change_by_person` begins with it
    )
    # What made it together with other changes, as "import:12"; "" for an edit of its own. No key,
    # because an import expires and its changes stay.
    cause = models.CharField(max_length=40, blank=True, default="", db_default="")
    note = SentenceField(blank=True, default="")
    revision = models.PositiveBigIntegerField()
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [
            # The history of one property, newest first.
            models.Index(fields=["real_estate_property", "-at"], name="change_history"),
            # All changes, those of a person and those of one cause, newest first.
            models.Index(fields=["at", "id"], name="change_newest"),
            models.Index(fields=["actor", "at", "id"], name="change_by_person"),
            # Not partial: SQLite would not use it for a cause that is a parameter.
            models.Index(fields=["cause", "at", "id"], name="change_by_cause"),
        ]

    def __str__(self) -> str:
        return f"{self.path or 'creation'} at revision {self.revision}"

    @property
    def who(self) -> str:
        """The author: one of our people, or a program, which the note names."""
        if self.origin == Origin.HTTP_API:
            return str(self.note)
        return name_of(self.actor) if self.actor else ""

    @property
    def is_creation(self) -> bool:
        """Whether this is the creation, with the first value of all leaves."""
        return self.path == self.CREATION

    def parts(self) -> list[Self]:
        """Return the change of each leaf, read-only: the changes of a creation share its key."""
        if not self.is_creation:
            return [self]
        return [self._part(path, value) for path, value in merge.leaves(self.new or {}).items()]

    def part(self, path: str) -> Self | None:
        """Return the change of one leaf; None if this change did not touch it."""
        return next((part for part in self.parts() if part.path == path), None)

    def _part(self, path: str, value: Any) -> Self:
        part = copy(self)
        part.path, part.new = path, value
        return part

"""The import of a feed file that was uploaded, or fetched from a source."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _, pgettext_lazy

from crm_sync.models.due import DueModel, due_index, no_half_lease
from crm_sync.models.problem import SentenceField


class ImportState(models.TextChoices):
    """The state of an import. Only a person moves it from PREVIEWED to RUNNING."""

    PREVIEWING = "PREVIEWING", _("Being looked at")
    PREVIEWED = "PREVIEWED", _("Waits for a person")
    RUNNING = "RUNNING", _("Being imported")
    DONE = "DONE", _("Imported")
    UNCHANGED = "UNCHANGED", _("Nothing changed")
    PARTLY = "PARTLY", _("Partly imported")
    FAILED = "FAILED", pgettext_lazy("import", "Failed")
    CANCELLED = "CANCELLED", pgettext_lazy("import", "Cancelled")


_UNDER_WAY = (ImportState.PREVIEWING, ImportState.RUNNING)
_OPEN = (*_UNDER_WAY, ImportState.PREVIEWED)


class Import(DueModel):
    """One import. When it has ended, its file is removed and its reports stay.

    The holder of the lease writes `state`, `done`, `total`, `preview`, `report`, `problem` and
    `attempts`. A person requests an end with `cancel_asked`.
    """

    State = ImportState
    UNDER_WAY = _UNDER_WAY  # a worker works on it
    OPEN = _OPEN

    workspace = models.ForeignKey(
        "crm_sync.Workspace", verbose_name=_("workspace"), on_delete=models.PROTECT
    )
    sender = models.ForeignKey(
        "properties.Sender",
        verbose_name=_("sender"),
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        help_text=_("Whose words and columns the file uses. Not named: as most senders use them."),
    )
    source = models.ForeignKey(
        "properties.Source", null=True, blank=True, editable=False, on_delete=models.SET_NULL
    )
    name = models.CharField(_("file"), max_length=255, help_text="What the file was called")
    stored_as = models.CharField(max_length=64, editable=False, help_text="Its name in our folder")
    size = models.PositiveBigIntegerField(default=0, editable=False, help_text="Bytes")
    force = models.BooleanField(
        _("even if much is missing"),
        default=False,
        help_text=_("Also take a full feed that lacks many properties of the last one."),
    )
    state = models.CharField(_("state"), max_length=10, choices=State, default=State.PREVIEWING)
    total = models.PositiveIntegerField(null=True, blank=True, help_text="Records in the file")
    done = models.PositiveIntegerField(default=0, help_text="Records looked at or imported")
    # Both bounded, see `properties.imports.report`: the changes planned, and the changes made.
    preview = models.JSONField(default=dict, blank=True)
    report = models.JSONField(default=dict, blank=True)
    problem = SentenceField(blank=True, default="")
    cancel_asked = models.BooleanField(default=False)
    uploaded_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    uploaded_at = models.DateTimeField(default=timezone.now)
    released_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    released_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("import")
        verbose_name_plural = _("imports")
        constraints = [
            no_half_lease("import"),
            models.CheckConstraint(
                condition=Q(state__in=ImportState.values), name="import_has_a_known_state"
            ),
            models.CheckConstraint(
                condition=~Q(state__in=_OPEN) | Q(due_at__isnull=False), name="open_import_is_due"
            ),
            models.CheckConstraint(
                condition=~Q(state=ImportState.RUNNING) | Q(released_at__isnull=False),
                name="running_import_was_released",
            ),
            models.CheckConstraint(
                condition=Q(state__in=_OPEN) | Q(ended_at__isnull=False),
                name="ended_import_says_when",
            ),
        ]
        indexes = [
            due_index("import"),
            # Each tick queries the released imports before the due ones.
            models.Index(fields=["state", "workspace"], name="import_state"),
        ]

    def __str__(self) -> str:
        return gettext("import %(number)s") % {"number": self.pk}

    @property
    def summary(self) -> dict[str, Any]:
        """The result; before the release, the preview."""
        found: dict[str, Any] = self.report if self.released_at else self.preview
        return found

    @property
    def path(self) -> Path:
        """The path of the file, which may not exist."""
        return folder() / self.stored_as


def folder() -> Path:
    """Return the folder of files until their import has ended. It is private and never served."""
    return Path(settings.DATA_DIR) / "imports"

"""The files that a source with deliveries in turn has seen, so that each is imported once."""

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _, pgettext_lazy

from crm_sync.models.problem import SentenceField
from properties.models.source import Source


class FileState(models.TextChoices):
    """The state of a delivered file. A person moves one from WAITING or STOPPED to SKIPPED."""

    WAITING = "WAITING", _("Tried again")
    TAKEN = "TAKEN", _("Being imported")
    DONE = "DONE", _("Imported")
    STOPPED = "STOPPED", _("Waits for a person")
    SKIPPED = "SKIPPED", pgettext_lazy("file", "Skipped")


class DeliveredFile(models.Model):
    """One version of a file in the folder of a source, described by size, time and digest.

    The holder of the source's lease writes it. A source has at most one file that is TAKEN.
    """

    State = FileState
    MAY_SKIP = (FileState.WAITING, FileState.STOPPED)
    OVER = (FileState.DONE, FileState.SKIPPED)

    source = models.ForeignKey(Source, on_delete=models.CASCADE)
    name = models.CharField(max_length=500)
    size = models.PositiveBigIntegerField(null=True, blank=True)
    modified = models.CharField(max_length=100, blank=True, default="")
    digest = models.CharField(max_length=64, blank=True, default="")
    state = models.CharField(max_length=10, choices=FileState)
    problem = SentenceField(blank=True, default="")
    imported = models.ForeignKey(
        "properties.Import", null=True, blank=True, on_delete=models.SET_NULL
    )
    at = models.DateTimeField(default=timezone.now)  # when the state was last set
    gone_at = models.DateTimeField(null=True, blank=True)  # when it was first no longer there

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=FileState.values), name="delivered_file_has_a_known_state"
            ),
            models.UniqueConstraint(fields=["source", "name"], name="delivered_file_once"),
            models.UniqueConstraint(
                fields=["source"],
                condition=Q(state=FileState.TAKEN),
                name="delivered_files_one_at_a_time",
            ),
        ]

    def __str__(self) -> str:
        return f"file {self.pk}"

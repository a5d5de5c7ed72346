"""The results of comparing both sides, or both documents of our rows."""

from typing import Self

from django.db import models
from django.db.models import OuterRef, Q, Subquery
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.models.problem import ProblemField


class DriftCheckQuerySet(models.QuerySet["DriftCheck"]):
    """The queries of the screens."""

    def newest(self, kind: str) -> Self:
        """Return the newest check of each workspace that is finished or found something."""
        mine = DriftCheck.objects.filter(workspace=OuterRef("workspace"), kind=kind)
        relevant = mine.filter(Q(finished_at__isnull=False) | Q(unexplained__gt=0))
        newest = relevant.order_by("-started_at", "-pk").values("pk")[:1]
        return self.filter(pk=Subquery(newest))


class DriftCheck(models.Model):
    """One check of the properties of a workspace. It stores names of fields, never their values.

    A sample reads some properties on the platform. A sweep goes through all our rows without a
    call, a bounded number at a time. An unfinished sweep continues after its position (I7).
    """

    class Kind(models.TextChoices):
        """The kind of comparison."""

        SAMPLE = "SAMPLE", _("Sample")
        SWEEP = "SWEEP", _("Sweep")

    workspace = models.ForeignKey("crm_sync.Workspace", on_delete=models.CASCADE)
    kind = models.CharField(_("kind"), max_length=10, choices=Kind)
    started_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)
    position = models.BigIntegerField(default=0, help_text="Key of the last row of a sweep so far")
    compared = models.PositiveIntegerField(default=0)
    differing = models.PositiveIntegerField(default=0)
    unexplained = models.PositiveIntegerField(
        default=0, help_text="They differed though nothing was due and nothing waited for a person"
    )
    pending = models.PositiveIntegerField(default=0, help_text="Ours was on its way")
    blocked = models.PositiveIntegerField(default=0, help_text="It waited for a person")
    gone = models.PositiveIntegerField(default=0, help_text="The platform had no such property")
    failed = models.PositiveIntegerField(default=0, help_text="They could not be compared")
    # Both bounded: leaf to the number of properties that differ there, and the first properties.
    fields = models.JSONField(default=dict, blank=True)
    found = models.JSONField(default=list, blank=True)
    stopped = ProblemField(blank=True, default="", help_text="Why before time")

    objects = DriftCheckQuerySet.as_manager()

    class Meta:
        verbose_name = _("drift check")
        verbose_name_plural = _("drift checks")
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "kind"],
                condition=Q(finished_at=None),
                name="one_drift_check_under_way",
            )
        ]
        indexes = [
            models.Index(fields=["workspace", "kind", "started_at"], name="drift_check_newest")
        ]

    def __str__(self) -> str:
        return gettext("drift check %(number)s") % {"number": self.pk}

"""The changes that programs follow by the API, in one sequence for each workspace."""

from django.db import models
from django.db.models import Q
from django.utils import timezone


class ChangeSequence(models.Model):
    """How far the changes of a workspace are numbered. Who numbers or removes some locks this row.

    Attributes:
        last: the last number that was given.
        removed: the last number that was removed; `GET /changes` refuses a position before it.
    """

    workspace = models.OneToOneField("crm_sync.Workspace", on_delete=models.PROTECT)
    last = models.PositiveBigIntegerField(default=0)
    removed = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(removed__lte=models.F("last")), name="removed_change_was_numbered"
            )
        ]

    def __str__(self) -> str:
        return f"changes {self.removed + 1} to {self.last}"


class ReportedChange(models.Model):
    """One change, written in its own transaction; it gets a number after the commit (decision 31).

    Its order is the one of the commits, as far as a reader can tell.
    """

    workspace = models.ForeignKey("crm_sync.Workspace", on_delete=models.PROTECT, db_index=False)
    number = models.PositiveBigIntegerField(
        null=True, blank=True, help_text="None until somebody reads or removes changes"
    )
    kind = models.CharField(max_length=50)
    occurred_at = models.DateTimeField()
    data = models.JSONField(default=dict, help_text="Ids and states, as in a message")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "number"], name="one_change_for_each_number"
            ),
            models.CheckConstraint(
                condition=Q(number__isnull=True) | Q(number__gt=0),
                name="number_of_a_change_is_positive",
            ),
        ]
        indexes = [
            models.Index(
                fields=["workspace", "id"],
                name="change_without_a_number",
                condition=Q(number__isnull=True),
            ),
            # The cleaning removes the oldest.
            models.Index(fields=["created_at"], name="change_oldest"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.number or 'without a number'}"

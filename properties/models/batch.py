"""The properties that somebody chose in the list, to push, read or edit them together."""

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class Batch(models.Model):
    """A choice of rows, which shows its plan and, once it is confirmed, its progress.

    For a push or a read, the rows store the work itself (`due_at`). If such a batch is lost, only
    a page is lost. For an edit, a `BatchEdit` for each row stores what is planned and done.
    """

    class Kind(models.TextChoices):
        """The act that was requested."""

        PUSH = "PUSH", _("Send to the platform")
        READ = "READ", _("Refresh from the platform")
        SET = "SET", _("Set")

    kind = models.CharField(max_length=4, choices=Kind)
    properties = models.ManyToManyField("properties.Property")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)
    confirmed_at = models.DateTimeField(null=True)
    confirmed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )

    # Of an edit: the new value by the path of its input (null clears), and when it was planned.
    wanted = models.JSONField(default=dict)
    planned_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = _("batches")
        default_permissions = ()  # the permission to change properties counts

    def __str__(self) -> str:
        return f"batch {self.pk}"


class BatchEdit(models.Model):
    """The part of a batch of kind SET at one property: its plan, and what came of it.

    Attributes:
        planned: leaf to [value that the plan showed, new value].
        same: the leaves that had the new value already.
        refused: leaf to the reasons why the new value is not valid here: the path and the sentence
            (`Sentence.stored`) of each fault. `bulk_edit.in_words` words them.
        revision: that of the edit; 0 if nothing was written, null before it is done.
        left: leaf to the reasons why a planned change was not made, as in `refused`.
    """

    batch = models.ForeignKey(Batch, on_delete=models.CASCADE, related_name="edits")
    real_estate_property = models.ForeignKey(
        "properties.Property", on_delete=models.CASCADE, related_name="+"
    )
    planned = models.JSONField(default=dict)
    same = models.JSONField(default=list)
    refused = models.JSONField(default=dict)
    revision = models.PositiveBigIntegerField(null=True)
    left = models.JSONField(default=dict)

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                fields=["batch", "real_estate_property"], name="one_edit_per_property_and_batch"
            ),
        ]

    def __str__(self) -> str:
        return f"edit of property {self.real_estate_property_id} in batch {self.batch_id}"

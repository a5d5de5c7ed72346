"""Properties that somebody chose in the list, to be pushed or read together."""

from django.conf import settings
from django.db import models
from django.utils import timezone


class Batch(models.Model):
    """A choice of rows: first its plan, once it is confirmed its progress.

    The work itself stands in the rows (`due_at`); losing a batch loses a page to look at.
    """

    class Kind(models.TextChoices):
        """What was asked for."""

        PUSH = "PUSH", "Push"
        READ = "READ", "Read from the platform"

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

    class Meta:
        verbose_name_plural = "batches"
        default_permissions = ()  # whoever may change properties

    def __str__(self) -> str:
        return f"batch {self.pk}"

"""The properties that somebody chose in the list, to push or read them together."""

from django.conf import settings
from django.db import models
from django.utils import timezone


class Batch(models.Model):
    """A choice of rows, which shows its plan and, once it is confirmed, its progress.

    The rows store the work itself (`due_at`). If a batch is lost, only a page is lost.
    """

    class Kind(models.TextChoices):
        """The act that was requested."""

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
        default_permissions = ()  # the permission to change properties counts

    def __str__(self) -> str:
        return f"batch {self.pk}"

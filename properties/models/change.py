"""Who changed which field from what to what: append-only, and undoing one is an edit."""

from django.conf import settings
from django.db import models
from django.utils import timezone


class Origin(models.TextChoices):
    """Where a change came from."""

    ADMIN = "ADMIN", "Admin"
    FEED = "FEED", "Feed"
    API = "API", "Our own code"
    PLATFORM = "PLATFORM", "Platform"


class Change(models.Model):
    """One leaf of one property, changed once."""

    Origin = Origin

    real_estate_property = models.ForeignKey("properties.Property", on_delete=models.CASCADE)
    path = models.CharField("field", max_length=300)
    old = models.JSONField(null=True)
    new = models.JSONField(null=True)
    origin = models.CharField(max_length=10, choices=Origin)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    note = models.CharField(max_length=255, blank=True, default="")
    revision = models.PositiveBigIntegerField()
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [
            # The history of one property, newest first.
            models.Index(fields=["real_estate_property", "-at"], name="change_history"),
        ]

    def __str__(self) -> str:
        return f"{self.path} at revision {self.revision}"

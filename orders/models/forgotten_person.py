"""The people whom we were asked to forget, so that no later read restores them (S23)."""

from django.db import models
from django.utils import timezone


class ForgottenPerson(models.Model):
    """A mark for one user or photographer of the platform: a digest of the id, and no more."""

    workspace = models.ForeignKey("crm_sync.Workspace", on_delete=models.PROTECT)
    digest = models.CharField(max_length=64)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "digest"], name="one_mark_per_person")
        ]

    def __str__(self) -> str:
        return f"forgotten person {self.pk}"

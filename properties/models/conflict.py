"""Both sides changed one field: all three values, and what was decided."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone


class Conflict(models.Model):
    """Kept for ever, decided or not: nobody's edit disappears without a trace (I4)."""

    class Decision(models.TextChoices):
        """Whose value stands."""

        OPEN = "", "Open"
        OURS = "OURS", "Ours"
        THEIRS = "THEIRS", "Theirs"
        BOTH = "BOTH", "From both"  # some members ours, some theirs

    real_estate_property = models.ForeignKey("properties.Property", on_delete=models.CASCADE)
    path = models.CharField("field", max_length=300)
    ours = models.JSONField(null=True)
    base = models.JSONField(null=True)
    theirs = models.JSONField(null=True)
    decision = models.CharField(max_length=6, choices=Decision, default=Decision.OPEN, blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["real_estate_property", "path"],
                condition=Q(decision=""),
                name="one_open_conflict_per_field",
            )
        ]

    def __str__(self) -> str:
        return f"{self.path} of property {self.real_estate_property_id}"

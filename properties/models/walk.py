"""One walk over the platform's list of properties, which a stop in the middle does not undo."""

from django.db import models
from django.utils import timezone


class Walk(models.Model):
    """What a pull has seen so far; an unfinished one goes on at its page.

    The list has no order that we could trust, so nothing follows from a walk alone but questions:
    a property that it did not show is read by itself before anybody calls it gone (I28).
    """

    workspace = models.ForeignKey("crm_sync.Workspace", on_delete=models.PROTECT)
    started_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)
    page = models.PositiveIntegerField(default=0, help_text="The next page to read, zero-based")
    listed = models.PositiveIntegerField(default=0, help_text="Properties on the pages so far")
    added = models.PositiveIntegerField(default=0, help_text="Properties that we did not know")
    asked = models.PositiveIntegerField(default=0, help_text="Properties to be read in full")
    missing = models.PositiveIntegerField(default=0, help_text="Known ones that no page showed")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace"],
                condition=models.Q(finished_at=None),
                name="one_walk_under_way",
            )
        ]

    def __str__(self) -> str:
        return f"walk {self.pk}"

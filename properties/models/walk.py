"""Walks over the platform's list of properties, which can be continued after a stop."""

from django.db import models
from django.utils import timezone


class Walk(models.Model):
    """The progress of a pull; an unfinished walk continues at its page.

    We cannot rely on the order of the list, so a walk alone decides nothing: a property that it did
    not show is read by itself before it is treated as gone (I28).
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

"""The right to have one request under way in a workspace (A8)."""

from django.db import models

from crm_sync.jobs.due import no_half_lease


class Slot(models.Model):
    """One of `max_under_way`; whoever holds the lease calls the platform, one call at a time."""

    workspace = models.ForeignKey("crm_sync.Workspace", on_delete=models.CASCADE)
    number = models.PositiveSmallIntegerField()
    lease_token = models.UUIDField(null=True, editable=False)
    lease_until = models.DateTimeField(null=True, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "number"], name="one_slot_per_number"),
            no_half_lease("slot"),
        ]

    def __str__(self) -> str:
        return f"slot {self.number} of workspace {self.workspace_id}"

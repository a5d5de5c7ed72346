"""One queue of one workspace, as the workers share it."""

from django.db import models

from crm_sync.jobs.due import no_half_lease


class Lane(models.Model):
    """Who drains the queue just now, and whether a ring for it is on its way.

    Attributes:
        rung_at: when a ring was published that no worker has taken yet.
        begun_at: when the last worker began to drain it.
        again: somebody rang while the holder was at it.
    """

    workspace = models.ForeignKey("crm_sync.Workspace", on_delete=models.CASCADE)
    queue = models.CharField(max_length=20)
    rung_at = models.DateTimeField(null=True, editable=False)
    begun_at = models.DateTimeField(null=True, editable=False)
    again = models.BooleanField(default=False, editable=False)
    lease_token = models.UUIDField(null=True, editable=False)
    lease_until = models.DateTimeField(null=True, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "queue"], name="one_lane_per_queue"),
            no_half_lease("lane"),
        ]

    def __str__(self) -> str:
        return f"{self.queue} of workspace {self.workspace_id}"

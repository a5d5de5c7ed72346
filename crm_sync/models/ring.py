"""One row for each queue of a workspace: its message for a worker, and when one worked on it."""

from django.db import models


class Ring(models.Model):
    """The mark that a message for the queue waits in the broker. At most one waits.

    Attributes:
        rung_at: since when a message waits; null once a worker has taken it.
        refused_at: since when the queue waits for a slot, because its turn found no free slot in
            the workspace.
        worked_at: when a turn last ended because its time was over.
    """

    workspace = models.ForeignKey("crm_sync.Workspace", on_delete=models.CASCADE)
    queue = models.CharField(max_length=20)
    rung_at = models.DateTimeField(null=True, editable=False)
    refused_at = models.DateTimeField(null=True, editable=False)
    worked_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "queue"], name="one_ring_per_queue"),
        ]

    def __str__(self) -> str:
        return f"{self.queue} of workspace {self.workspace_id}"

"""The rate at which the orders of a workspace are read."""

from django.db import models

from orders.models.order import EPOCH


class RateLimit(models.Model):
    """One row per workspace, shared by all workers; see `orders.reads.read_limit`."""

    workspace = models.OneToOneField("crm_sync.Workspace", on_delete=models.PROTECT)
    paid_until = models.DateTimeField(
        default=EPOCH, help_text="Reads that have been made are worth this long"
    )

    def __str__(self) -> str:
        return f"rate limit of workspace {self.workspace_id}"

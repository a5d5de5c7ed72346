"""The right to have one call under way in a workspace (A8), or a turn of a queue without calls."""

from django.db import models

from crm_sync.models.due import no_half_lease


class Slot(models.Model):
    """A slot. The holder of its lease may have one call, or one turn, at a time.

    Attributes:
        kind: "" for one of the `max_under_way` calls to the platform, else the queue that owns it.
        queue: the queue that holds it, or held it last.
    """

    workspace = models.ForeignKey("crm_sync.Workspace", on_delete=models.CASCADE)
    kind = models.CharField(max_length=20, default="", editable=False)
    queue = models.CharField(max_length=20, default="", editable=False)
    number = models.PositiveSmallIntegerField()
    lease_token = models.UUIDField(null=True, editable=False)
    lease_until = models.DateTimeField(null=True, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "kind", "number"], name="one_slot_per_number"
            ),
            no_half_lease("slot"),
        ]

    def __str__(self) -> str:
        return f"slot {self.number} of workspace {self.workspace_id}"

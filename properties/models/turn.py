"""When a scheduled task last tried a workspace."""

from django.db import models


class Turn(models.Model):
    """Noted before each try, whatever comes of it: who was tried longest ago is next."""

    class Task(models.TextChoices):
        """What goes over all workspaces."""

        PULL = "PULL", "Pull"
        SAMPLE = "SAMPLE", "Sample"
        SWEEP = "SWEEP", "Sweep"

    workspace = models.ForeignKey("crm_sync.Workspace", on_delete=models.CASCADE)
    task = models.CharField(max_length=10, choices=Task)
    tried_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "task"], name="one_turn_a_task")
        ]

    def __str__(self) -> str:
        return f"{self.get_task_display().lower()} of {self.workspace_id}"

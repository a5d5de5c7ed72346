"""The recurring work of a workspace."""

from django.db import models

from crm_sync.models.due import DueModel, no_half_lease
from crm_sync.models.problem import ProblemField


class Recurring(DueModel):
    """The pull, the sample or the sweep of a workspace; `due_at` is the time of the next one.

    Its progress is in its `Walk` or `DriftCheck`.
    """

    class Kind(models.TextChoices):
        """The kind of work."""

        PULL = "PULL", "Pull"
        SAMPLE = "SAMPLE", "Sample"
        SWEEP = "SWEEP", "Sweep"

    workspace = models.ForeignKey("crm_sync.Workspace", on_delete=models.CASCADE)
    kind = models.CharField(max_length=10, choices=Kind)
    problem = ProblemField(blank=True, default="", help_text="Why the last try failed")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "kind"], name="one_recurring_of_a_kind"),
            no_half_lease("recurring"),
            models.CheckConstraint(
                condition=models.Q(due_at__isnull=False), name="recurring_is_due_again"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display().lower()} of workspace {self.workspace_id}"

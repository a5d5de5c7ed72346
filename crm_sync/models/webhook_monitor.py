"""The state of our polls of the platform's webhook and its trigger history (I19, I21)."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from crm_sync.models.due import DueModel, no_half_lease
from crm_sync.models.problem import ProblemField


class WebhookMonitor(DueModel):
    """The polls of one workspace whose webhook was set from here; `due_at` is the next poll.

    `asked_at` and `polled_at` are by our clock. All other moments are by the platform's clock and
    are compared only with each other (I29).
    """

    workspace = models.OneToOneField(
        "crm_sync.Workspace", on_delete=models.PROTECT, related_name="monitor"
    )
    asked_at = models.DateTimeField(
        null=True, blank=True, help_text="Since then somebody wants the history read in any case"
    )
    polled_at = models.DateTimeField(null=True, blank=True)
    problem = ProblemField(blank=True, default="", help_text="Why the last poll failed")

    last_triggered_at = models.DateTimeField(
        null=True, blank=True, help_text="The last attempt that a poll has accounted for"
    )
    window = models.JSONField(default=list, help_text="The records of the history at that poll")
    window_until = models.DateTimeField(null=True, blank=True, help_text="The newest of them")

    # Differences on the platform: name of §2.1 → {"theirs", "ours"}; "webhook" if it was deleted.
    drift = models.JSONField(default=dict)
    drift_since = models.DateTimeField(null=True, blank=True)

    recovered = models.PositiveIntegerField(default=0, help_text="Events that only history brought")
    failed = models.PositiveIntegerField(
        default=0, help_text="Attempts that failed since somebody looked"
    )
    last_failure = models.CharField(max_length=300, blank=True, default="")
    last_failure_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("webhook")
        constraints = [
            no_half_lease("webhook_monitor"),
            models.CheckConstraint(
                condition=models.Q(due_at__isnull=False), name="webhook_is_polled_again"
            ),
        ]

    def __str__(self) -> str:
        # The rows of the admin have the slug. Loading the workspace would load its secrets (S5).
        return f"webhook of {getattr(self, 'slug', f'workspace {self.workspace_id}')}"

    @property
    def is_certain(self) -> bool:
        """Whether a read was requested since the last poll, so that the history is read anyway."""
        return self.asked_at is not None and (
            self.polled_at is None or self.asked_at > self.polled_at
        )

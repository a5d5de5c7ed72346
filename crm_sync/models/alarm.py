"""The alarms for operators: one row from its beginning to its end."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from crm_sync.models.due import DueModel, due_index, no_half_lease
from crm_sync.models.problem import SentenceField


class AlarmKind(models.TextChoices):
    """What operators are alarmed about."""

    WORKSPACE_PAUSED = "workspace_paused", _("A workspace is paused: its platform does not answer")
    SOURCE_AWAY = "source_away", _("A feed stays away, cannot be fetched or is not imported")
    RECEIVER_FAILING = "receiver_failing", _("A receiver takes no messages")
    NO_WORKER = "no_worker", _("No worker is alive")


class Alarm(DueModel):
    """Something that is wrong, from when it was noticed. An ended one is kept for a while.

    It is due when its beginning or its end has to be reported. Before its `due_at` it may end
    without a trace.

    Attributes:
        key: names what is wrong among all of this kind.
        told_at, end_told_at: when the message about its beginning or end was written.
        told_to: the people who got the mail about that so far.
    """

    workspace = models.ForeignKey("crm_sync.Workspace", null=True, on_delete=models.CASCADE)
    kind = models.CharField(max_length=20, choices=AlarmKind)
    key = models.CharField(max_length=50)
    name = models.CharField(max_length=300, blank=True, default="")
    text = SentenceField(blank=True, default="", help_text="Why, in words")
    page = models.CharField(max_length=300, help_text="The path of our page about it")
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    told_at = models.DateTimeField(null=True, blank=True)
    end_told_at = models.DateTimeField(null=True, blank=True)
    told_to = models.JSONField(default=list)
    problem = SentenceField(blank=True, default="", help_text="Why the mail did not go")

    class Meta:
        constraints = [
            no_half_lease("alarm"),
            models.UniqueConstraint(
                fields=["kind", "key"],
                condition=Q(ended_at__isnull=True),
                name="one_open_alarm_for_each_cause",
            ),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True) | Q(told_at__isnull=False),
                name="ended_alarm_was_told",
            ),
        ]
        indexes = [due_index("alarm")]

    def __str__(self) -> str:
        return f"alarm {self.pk} {self.kind}"

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.ended_at is not None

"""A request to reschedule or cancel an order. It is sent once, and its outcome is stored."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from crm_sync.models.problem import ProblemField
from orders.models.order import Order


class ChangeRequest(models.Model):
    """One call of §4.4, stored before it is sent. The answer is added afterwards.

    The token comes from the form. A form that is sent twice, by a double click or a reload, has the
    same token, and the database accepts only one row with it.
    """

    class Kind(models.TextChoices):
        """The kind of change."""

        RESCHEDULE = "RESCHEDULE", "Reschedule"
        CANCEL = "CANCEL", "Cancel"

    class Outcome(models.TextChoices):
        """The outcome of the call."""

        SENT = "SENT", _("Sent, no answer yet")
        DONE = "DONE", _("Done")
        REFUSED = "REFUSED", _("Refused by the platform")
        NOT_DONE = "NOT_DONE", _("Not done")
        UNCLEAR = "UNCLEAR", _("It is not known whether it was done")

    order = models.ForeignKey(Order, on_delete=models.PROTECT, related_name="change_requests")
    kind = models.CharField(max_length=10, choices=Kind)
    token = models.UUIDField(unique=True, editable=False)
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    program = models.CharField(max_length=110, blank=True, default="", editable=False)
    body = models.JSONField(default=dict, help_text="As it was sent")
    outcome = models.CharField(max_length=10, choices=Outcome, default=Outcome.SENT)
    words = ProblemField(blank=True, default="", help_text="What the platform said against it")
    sent_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(outcome="SENT", ended_at__isnull=True)
                | (~models.Q(outcome="SENT") & models.Q(ended_at__isnull=False)),
                name="change_request_ends_with_its_outcome",
            ),
        ]
        indexes = [
            # "Which requests became unclear since then?"
            models.Index(fields=["outcome", "ended_at"], name="change_request_ended"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"

"""The systems that get messages, and their messages."""

from datetime import datetime

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _, pgettext_lazy

from crm_sync.models.due import DueModel, due_index, no_half_lease
from crm_sync.models.problem import SentenceField
from crm_sync.secrets import EncryptedTextField, several


class MessageFormat(models.TextChoices):
    """How a message is written."""

    JSON = "JSON", _("JSON, signed, for a program")
    TEAMS = "TEAMS", _("Microsoft Teams")
    SLACK = "SLACK", _("Slack")


class Subscription(DueModel):
    """An address that gets messages. The row is the queue of its messages.

    From `due_at` on a message may be sent, so an address that fails pauses alone. `attempts` counts
    the failures since the last success.
    """

    workspace = models.ForeignKey(
        "crm_sync.Workspace", verbose_name=_("workspace"), on_delete=models.PROTECT
    )
    address = models.CharField(
        _("address"), max_length=500, help_text=_("https://…, where messages are sent.")
    )
    kinds = models.JSONField(_("messages"), default=list)
    format = models.CharField(
        _("format"), max_length=10, choices=MessageFormat, default=MessageFormat.JSON
    )
    # One line for each change in Teams and Slack; "" for the usual one.
    template = models.CharField(_("text"), max_length=200, blank=True, default="")
    language = models.CharField(_("language"), max_length=15, blank=True, default="")
    secret = EncryptedTextField(blank=True, default="", editable=False)
    # After a rotation the ones before, a line each, sign for a time, so that the receiver can
    # change over.
    previous_secret = EncryptedTextField(blank=True, default="", editable=False)
    previous_secret_until = models.DateTimeField(null=True, blank=True, editable=False)
    is_enabled = models.BooleanField(_("enabled"), default=True)
    failing_since = models.DateTimeField(null=True, blank=True, editable=False)
    problem = SentenceField(blank=True, default="", editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("subscription")
        verbose_name_plural = _("subscriptions")
        constraints = [
            no_half_lease("subscription"),
            models.CheckConstraint(
                condition=Q(is_enabled=False) | Q(due_at__isnull=False),
                name="enabled_subscription_is_due",
            ),
            models.CheckConstraint(
                condition=Q(format__in=MessageFormat.values),
                name="subscription_has_a_known_format",
            ),
        ]
        indexes = [due_index("subscription")]

    @property
    def is_chat(self) -> bool:
        """Whether people read the messages, in Teams or Slack."""
        return self.format != MessageFormat.JSON

    def valid_secrets(self, now: datetime) -> list[str]:
        """Return the secrets that sign a message at `now`, the newest first."""
        until = self.previous_secret_until
        previous = self.previous_secret if until is not None and now < until else ""
        return [*several(self.secret), *several(previous)]

    def __str__(self) -> str:
        return gettext("subscription %(number)s") % {"number": self.pk}


class OutgoingState(models.TextChoices):
    """The state of a message; exactly one at any time (I31)."""

    PENDING = "PENDING", _("Pending")
    DELIVERED = "DELIVERED", pgettext_lazy("message", "Delivered")
    GIVEN_UP = "GIVEN_UP", _("Given up")


class OutgoingMessage(models.Model):
    """One message to one address, written in the transaction of the change that it reports."""

    State = OutgoingState

    workspace = models.ForeignKey("crm_sync.Workspace", on_delete=models.PROTECT)
    subscription = models.ForeignKey(Subscription, on_delete=models.PROTECT, db_index=False)
    message_id = models.CharField(
        max_length=40, unique=True, help_text="The same with each attempt: `webhook-id`"
    )
    kind = models.CharField(max_length=50)
    # The id under which Teams and Slack get it with others; "" until then.
    group = models.CharField(max_length=40, blank=True, default="")
    payload = models.TextField(help_text="The JSON that is sent, to the byte")
    state = models.CharField(_("state"), max_length=10, choices=State, default=State.PENDING)
    due_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveIntegerField(default=0)
    first_tried_at = models.DateTimeField(null=True, blank=True)
    tried_at = models.DateTimeField(null=True, blank=True)
    status = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="HTTP status of the last attempt"
    )
    answer = SentenceField(blank=True, default="", help_text="Why the last attempt failed")
    # The span that wrote it; None if nothing is recorded.
    traceparent = models.CharField(max_length=55, null=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name = _("outgoing message")
        verbose_name_plural = _("outgoing messages")
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=OutgoingState.values), name="outgoing_has_a_known_state"
            ),
            models.CheckConstraint(
                condition=Q(state="PENDING", due_at__isnull=False)
                | ~Q(state="PENDING") & Q(due_at__isnull=True),
                name="outgoing_is_due_as_long_as_it_is_pending",
            ),
        ]
        indexes = [
            models.Index(
                fields=["subscription", "due_at"],
                name="outgoing_due",
                condition=Q(due_at__isnull=False),
            ),
            # The cleaning removes the oldest messages that are not due.
            models.Index(
                fields=["created_at"], name="outgoing_ended", condition=Q(due_at__isnull=True)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.message_id}"

"""A received event: the raw bytes, and their outcome."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.models.due import DueModel, due_index, no_half_lease
from crm_sync.models.problem import SentenceField


class ReceivedEventState(models.TextChoices):
    """The state of a received event; exactly one at any time (I31)."""

    RECEIVED = "RECEIVED", _("Received")
    APPLIED = "APPLIED", _("Applied")
    DUPLICATE = "DUPLICATE", _("Duplicate")
    STALE = "STALE", _("Stale")
    IGNORED = "IGNORED", _("Ignored")
    EARLY = "EARLY", _("Dated ahead")  # due when its date is no longer ahead of the clock (S11)
    QUARANTINED = "QUARANTINED", _("Not understood")
    FAILED = "FAILED", _("Failed")


_S = ReceivedEventState
PENDING = (_S.RECEIVED, _S.EARLY)  # a worker will handle it
UNDERSTOOD = (_S.APPLIED, _S.DUPLICATE, _S.STALE)
SETTLED = (*UNDERSTOOD, _S.IGNORED, _S.QUARANTINED)  # no worker handles it any more
# States that a person may want to check. Early and failed events with tries left go on by
# themselves.
STUCK = (_S.EARLY, _S.FAILED, _S.QUARANTINED)


class ReceivedEvent(DueModel):
    """A received event, stored before it is understood, and never deleted by a bug (I15, I16)."""

    State = ReceivedEventState
    SETTLED, STUCK = SETTLED, STUCK

    class Source(models.TextChoices):
        """How we received it."""

        CALLBACK = "CALLBACK", _("Callback")
        HISTORY = "HISTORY", _("Trigger history")
        REPLAY = "REPLAY", _("Replay")

    # Each further index makes the endpoint slower. The indexes below also serve the foreign keys.
    workspace = models.ForeignKey("crm_sync.Workspace", on_delete=models.PROTECT, db_index=False)
    digest = models.CharField(max_length=64, help_text="SHA-256 of the raw bytes")
    canonical_digest = models.CharField(max_length=64, blank=True, default="", db_default="")
    body = models.BinaryField()
    headers = models.JSONField(default=dict, help_text="Secrets are masked before they are stored")
    method = models.CharField(max_length=10)
    source = models.CharField(_("source"), max_length=10, choices=Source, default=Source.CALLBACK)
    state = models.CharField(
        _("state"), max_length=12, choices=State, default=State.RECEIVED, db_default=State.RECEIVED
    )
    kind = models.CharField(_("event"), max_length=100, blank=True, default="", db_default="")
    order_platform_id = models.CharField(
        _("order"), max_length=255, blank=True, default="", db_default=""
    )
    occurred_at = models.DateTimeField(null=True, blank=True)
    received_at = models.DateTimeField(default=timezone.now)
    applied_at = models.DateTimeField(null=True, blank=True)
    repeats = models.PositiveIntegerField(
        default=0, db_default=0, help_text="How often the same bytes came again"
    )
    effect = SentenceField(
        blank=True, default="", db_default="", help_text="What it did, or why it did nothing"
    )
    # Why it is stuck, equal for all events with the same cause. `inbox.failure_groups` words both.
    problem_kind = models.CharField(max_length=20, blank=True, default="", db_default="")
    cause = models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text="What the problem is about, such as a field",
    )
    attempts = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    # A replay of a settled event is a row of its own, so that the first row retains its outcome.
    replay_of = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="replays",
        db_index=False,
    )
    # The span that stored it, then the one that applied it; None if nothing is recorded.
    traceparent = models.CharField(max_length=55, null=True, editable=False)
    cleared_at = models.DateTimeField(
        null=True, blank=True, help_text="When its bytes and headers were removed (S23)"
    )

    class Meta:
        verbose_name = _("received event")
        verbose_name_plural = _("received events")
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "digest"],
                name="one_event_per_digest",
                condition=models.Q(replay_of=None, canonical_digest=""),
            ),
            no_half_lease("received_event"),
            models.CheckConstraint(
                condition=models.Q(state__in=ReceivedEventState.values),
                name="received_event_has_a_known_state",
            ),
            models.CheckConstraint(
                condition=~models.Q(state__in=PENDING) | models.Q(due_at__isnull=False),
                name="pending_received_event_is_due",
            ),
            models.CheckConstraint(
                condition=~models.Q(state__in=SETTLED) | models.Q(due_at__isnull=True),
                name="settled_received_event_is_not_due",
            ),
            # A copy is recognised by its digest.
            models.CheckConstraint(
                condition=~models.Q(state__in=UNDERSTOOD) | ~models.Q(canonical_digest=""),
                name="understood_received_event_has_a_digest",
            ),
            # A stuck event was not applied, so a copy of it is not a duplicate.
            models.CheckConstraint(
                condition=~models.Q(state__in=STUCK) | models.Q(canonical_digest=""),
                name="stuck_received_event_has_no_digest",
            ),
        ]
        indexes = [
            due_index("received_event"),
            models.Index(fields=["workspace", "received_at"], name="received_event_received"),
            models.Index(fields=["canonical_digest"], name="received_event_canonical"),
            models.Index(
                fields=["replay_of"],
                name="received_event_replays",
                condition=models.Q(replay_of__isnull=False),
            ),
            models.Index(fields=["state", "received_at"], name="received_event_state"),
            models.Index(
                fields=["state", "problem_kind", "cause"],
                name="received_event_cause",
                condition=models.Q(state__in=STUCK),
            ),
            # A new callback has no order id yet, so the index costs the endpoint nothing.
            models.Index(
                fields=["order_platform_id"],
                name="received_event_order",
                condition=~models.Q(order_platform_id=""),
            ),
            models.Index(
                fields=["state", "received_at"],
                name="received_event_uncleared",
                condition=models.Q(cleared_at=None, due_at=None),
            ),
        ]

    def __str__(self) -> str:
        kind = self.kind or gettext("callback")
        return f"{kind} {self.pk}"

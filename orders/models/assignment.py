"""One unit of work of an order, for a product."""

from django.db import models

from crm_sync.models.due import due_index, no_half_lease
from orders.models.order import EPOCH, MirroredModel, Order
from orders.models.statuses import ASSIGNMENT_TERMINAL, AssignmentStatus, shown


class Assignment(MirroredModel):
    """The mirror of one assignment (A37). Every fact with a clock of its own has a watermark.

    At `due_at` the assignment itself is read. An event or the detail of its order requests that.
    """

    workspace = models.ForeignKey("crm_sync.Workspace", on_delete=models.PROTECT)
    order = models.ForeignKey(Order, on_delete=models.PROTECT, related_name="assignments")
    platform_id = models.CharField("assignment", max_length=255)
    assignment_type = models.CharField("type", max_length=100, blank=True, default="")

    scheduled_at = models.DateTimeField("appointment", null=True, blank=True)
    scheduled_watermark = models.DateTimeField(default=EPOCH)
    scheduled_digest = models.CharField(max_length=64, blank=True, default="")

    estimated_delivery_date = models.DateField(null=True, blank=True)
    estimate_watermark = models.DateTimeField(default=EPOCH)
    estimate_digest = models.CharField(max_length=64, blank=True, default="")

    # Its clock moves only with status events that concern it. An event with ACTION_REQUIRED and no
    # reason does not change the reason, no matter in which order the events arrive.
    action_required = models.CharField(max_length=100, blank=True, default="")
    action_watermark = models.DateTimeField(default=EPOCH)
    action_digest = models.CharField(max_length=64, blank=True, default="")

    photographer = models.JSONField(default=dict, help_text="id, name, email, phone as given")
    photographer_watermark = models.DateTimeField(default=EPOCH)
    photographer_digest = models.CharField(max_length=64, blank=True, default="")

    products = models.JSONField(default=list)
    withdrawn_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="Since when the platform has it no longer: neither its order nor its own read"
        " shows it",
    )
    read_at = models.DateTimeField(null=True, blank=True, help_text="By itself, by our clock")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "platform_id"], name="one_assignment_per_id"
            ),
            no_half_lease("assignment"),
        ]
        indexes = [
            due_index("assignment"),
            # For the lists of an agent and the calendar.
            models.Index(fields=["scheduled_at"], name="assignment_appointment"),
            models.Index(
                fields=["estimated_delivery_date"],
                condition=~models.Q(status__in=sorted(ASSIGNMENT_TERMINAL)),
                name="assignment_estimate",
            ),
            models.Index(
                fields=["order"],
                condition=models.Q(status=AssignmentStatus.ACTION_REQUIRED),
                name="assignment_needs_action",
            ),
        ]

    def __str__(self) -> str:
        return f"assignment {self.platform_id}"

    @property
    def status_shown(self) -> str:
        """The status for people. An unknown status is shown as its raw word."""
        return shown(self.status, AssignmentStatus)

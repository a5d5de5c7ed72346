"""The mirror of an order."""

from datetime import UTC, datetime

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.models.due import DueModel, due_index, no_half_lease
from crm_sync.models.problem import ProblemField
from orders.models.platform_user import Who, named_user
from orders.models.statuses import ORDER_TERMINAL, OrderStatus, shown
from properties.models import Property

WITH_REFERENCE = models.Prefetch(
    "real_estate_property", Property.objects.only("object_reference_id")
)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)  # the watermark of an unknown fact


class MirroredModel(DueModel):
    """The mirror of a row of the platform that has a status, by the platform's clock.

    `status_at` and `status_digest` identify the event or read that the status comes from (I22).
    """

    # No choices: an unknown status is stored unchanged (A28).
    status = models.CharField(max_length=100, blank=True, default="")
    status_at = models.DateTimeField(default=EPOCH)
    status_digest = models.CharField(max_length=64, blank=True, default="")
    is_confirmed = models.BooleanField(
        default=False, help_text="A read has shown the status; else a callback alone said so (S10)"
    )
    problem = ProblemField(blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        abstract = True

    @property
    def is_told_alone(self) -> bool:
        """Whether only a callback gave the status. Anyone with our secret can send one (S10)."""
        return bool(self.status) and not self.is_confirmed


class Order(MirroredModel):
    """The mirror of one order.

    The next read is at `due_at` (A42: there is no list of orders).
    """

    workspace = models.ForeignKey("crm_sync.Workspace", on_delete=models.PROTECT)
    platform_id = models.CharField("order", max_length=255)
    object_reference_id = models.CharField("reference", max_length=255, blank=True, default="")
    property_platform_id = models.CharField(max_length=255, blank=True, default="")
    real_estate_property = models.ForeignKey(
        "properties.Property",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        verbose_name="property",
    )
    user_platform_id = models.CharField("user", max_length=255, blank=True, default="")
    user = named_user("orders")
    placed_at = models.DateTimeField(null=True, blank=True, help_text="By the platform's clock")
    observed = models.JSONField(default=dict, help_text="The order detail as it was last read")
    read_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("order")
        verbose_name_plural = _("orders")
        constraints = [
            models.UniqueConstraint(fields=["workspace", "platform_id"], name="one_order_per_id"),
            no_half_lease("order"),
        ]
        indexes = [
            due_index("order"),
            # The search for the order that settles a placement without a clear answer.
            models.Index(
                fields=["workspace", "property_platform_id", "user_platform_id"],
                name="order_of_property_and_user",
            ),
            # The list of orders begins with the newest.
            models.Index(fields=["-created_at", "-id"], name="order_newest"),
            # Which properties have an open order.
            models.Index(fields=["real_estate_property", "status"], name="order_of_property"),
            # The tiles count the open orders and those with a problem: few among many.
            models.Index(
                fields=["workspace"],
                name="order_open",
                condition=~models.Q(status__in=sorted(ORDER_TERMINAL)),
            ),
            models.Index(
                fields=["-created_at", "-id"],
                name="order_with_problem",
                condition=~models.Q(problem=""),
            ),
            # The list of orders can be searched by our reference.
            models.Index(fields=["workspace", "object_reference_id"], name="order_reference"),
        ]

    def __str__(self) -> str:
        return gettext("order %(order)s") % {"order": self.platform_id}

    @property
    def reference(self) -> str:
        """The reference that its property has now; else the one that came with the order.

        Load many rows with `prefetch_related(WITH_REFERENCE)`.
        """
        mine = self.real_estate_property
        return (mine and mine.object_reference_id) or self.object_reference_id

    @property
    def who(self) -> Who:
        """The user who ordered. Load the row with `prefetch_related("user")`."""
        return Who.of(self.user, self.user_platform_id)

    @property
    def status_shown(self) -> str:
        """The status for people. An unknown status is shown as its raw word."""
        return shown(self.status, OrderStatus)

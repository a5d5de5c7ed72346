"""An order that is being placed: at most once, whatever happens in between (I9)."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from orders.models.order import Order


class PlacementState(models.TextChoices):
    """Where a placement stands; only READY may be sent, and only once."""

    DRAFT = "DRAFT", "Draft"
    READY = "READY", "Ready to send"
    SENDING = "SENDING", "Sending"
    PLACED = "PLACED", "Placed"
    UNCERTAIN = "UNCERTAIN", "Uncertain: a person must look"
    FAILED = "FAILED", "Failed: nothing was ordered"


class Placement(models.Model):
    """Remembers each step from the session to the order (A30-A33)."""

    State = PlacementState

    workspace = models.ForeignKey("crm_sync.Workspace", on_delete=models.PROTECT)
    real_estate_property = models.ForeignKey(
        "properties.Property",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        verbose_name="property",
    )
    object_reference_id = models.CharField("reference", max_length=255)
    property_platform_id = models.CharField(max_length=255, blank=True, default="")
    user_platform_id = models.CharField("user", max_length=255)
    user_reference_id = models.CharField(max_length=255, blank=True, default="")
    products = models.JSONField(default=list, help_text="As the session lists them, and quantity")
    instructions = models.JSONField(default=dict, help_text="billing, organization, delivery: ids")
    state = models.CharField(max_length=10, choices=State, default=State.DRAFT)
    session_id = models.CharField(max_length=255, blank=True, default="")
    # One to one: an order belongs to at most one placement.
    order = models.OneToOneField(
        Order, null=True, blank=True, on_delete=models.PROTECT, related_name="placement"
    )
    not_before = models.DateTimeField(
        null=True, blank=True, help_text="The platform's clock before the sending"
    )
    sent_at = models.DateTimeField(null=True, blank=True)
    problem = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=PlacementState.values),
                name="placement_has_a_known_state",
            ),
            models.CheckConstraint(
                condition=~models.Q(state=PlacementState.PLACED) | models.Q(order__isnull=False),
                name="placed_placement_has_an_order",
            ),
            models.CheckConstraint(
                condition=models.Q(state=PlacementState.PLACED) | models.Q(order__isnull=True),
                name="placement_with_an_order_is_placed",
            ),
            models.CheckConstraint(
                condition=~models.Q(state=PlacementState.SENDING) | models.Q(sent_at__isnull=False),
                name="placement_that_is_sent_says_since_when",
            ),
        ]
        indexes = [
            # Each tick and each read order ask for the few that are not settled yet.
            models.Index(fields=["state", "workspace"], name="placement_state"),
        ]

    def __str__(self) -> str:
        return f"placement {self.pk} of {self.object_reference_id}"

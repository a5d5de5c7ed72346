"""An order that is being placed: at most once, whatever happens in between (I9)."""

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _, pgettext_lazy

from crm_sync.models.due import DueModel, due_index, no_half_lease
from crm_sync.models.problem import ProblemField
from orders.models.order import Order
from orders.models.platform_user import Who, acting, named_user


class PlacementState(models.TextChoices):
    """The state of a placement. `orders.placing.transitions` lists which state may follow which."""

    DRAFT = "DRAFT", _("Draft")
    PREPARING = "PREPARING", _("Being prepared")
    READY = "READY", _("Ready to place")
    CONFIRMED = "CONFIRMED", _("Waits for a worker")
    SENDING = "SENDING", _("Sending")
    PLACED = "PLACED", _("Placed")
    UNCERTAIN = "UNCERTAIN", _("Uncertain")
    FAILED = "FAILED", pgettext_lazy("placement", "Failed")


OPEN_STATES = (PlacementState.DRAFT, PlacementState.PREPARING, PlacementState.READY)
TO_BE_SENT = (PlacementState.CONFIRMED, PlacementState.SENDING)
ON_THEIR_WAY = (*TO_BE_SENT, PlacementState.UNCERTAIN)  # confirmed, and perhaps an order soon


class Placement(DueModel):
    """Stores each step from the session to the order (A30-A33).

    At `due_at` a worker prepares a PREPARING placement and places a CONFIRMED one. It marks a
    SENDING one UNCERTAIN, because the process that sent it has died.
    """

    State = PlacementState

    workspace = models.ForeignKey("crm_sync.Workspace", on_delete=models.PROTECT)
    real_estate_property = models.ForeignKey(
        "properties.Property",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        verbose_name=_("property"),
    )
    object_reference_id = models.CharField(_("reference"), max_length=255)
    property_platform_id = models.CharField(max_length=255, blank=True, default="")
    # "" if neither the platform's list nor its session has shown the id for the reference.
    user_platform_id = models.CharField(_("user"), max_length=255, blank=True, default="")
    user_reference_id = models.CharField(max_length=255, blank=True, default="")
    user = named_user("placements")
    # The choices that the session offers, as last read (A31, A32).
    offered = models.JSONField(default=list, editable=False)
    options = models.JSONField(default=dict, editable=False)
    products = models.JSONField(default=list, help_text="As the session lists them, and quantity")
    instructions = models.JSONField(default=dict, help_text="billing, organization, delivery: ids")
    # Each change of a choice adds one, so that people confirm only the choices that they saw.
    revision = models.PositiveIntegerField(default=0, editable=False)
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
    uncertain_at = models.DateTimeField(
        null=True, blank=True, help_text="Since when it is not known whether it was placed"
    )
    problem = ProblemField(blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="placements",
    )
    # The time of the confirmation, and the person who confirmed, if it was a person.
    confirmed_at = models.DateTimeField(null=True, blank=True)
    confirmed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="confirmed_placements",
    )
    # The program that placed it, and the program's own key. The same key never places another
    # order.
    program = models.CharField(max_length=110, blank=True, default="", editable=False)
    idempotency_key = models.CharField(max_length=255, null=True, blank=True, editable=False)
    idempotency_digest = models.CharField(max_length=64, blank=True, default="", editable=False)
    # The same for all placements that one person makes together.
    group = models.UUIDField(null=True, blank=True, editable=False)

    class Meta:
        verbose_name = _("placement")
        verbose_name_plural = _("placements")
        constraints = [
            no_half_lease("placement"),
            models.UniqueConstraint(
                fields=["workspace", "idempotency_key"], name="one_placement_of_a_key"
            ),
            models.UniqueConstraint(
                fields=["real_estate_property", "created_by"],
                name="one_draft_per_property_and_person",
                condition=models.Q(
                    state=PlacementState.DRAFT, group__isnull=True, created_by__isnull=False
                ),
            ),
            models.CheckConstraint(
                condition=~models.Q(state__in=TO_BE_SENT) | models.Q(confirmed_at__isnull=False),
                name="placement_to_be_sent_is_confirmed",
            ),
            models.CheckConstraint(
                condition=~models.Q(state__in=(PlacementState.PREPARING, *TO_BE_SENT))
                | models.Q(due_at__isnull=False),
                name="placement_for_a_worker_is_due",
            ),
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
            due_index("placement"),
            models.Index(
                fields=["group"], name="placement_group", condition=models.Q(group__isnull=False)
            ),
            # After each read of an order, the few unsettled placements are searched.
            models.Index(fields=["state", "workspace"], name="placement_state"),
        ]

    @property
    def who(self) -> Who:
        """The user who orders. Load the row with `prefetch_related("user")`."""
        return Who.of(self.user, self.user_platform_id, self.user_reference_id)

    @property
    def acting(self) -> dict[str, str]:
        """The one member of a request body that names the user who orders (A30)."""
        return acting(self.user_platform_id, self.user_reference_id)

    def __str__(self) -> str:
        text = gettext("placement %(key)s of %(property)s")
        return text % {"key": self.pk, "property": self.object_reference_id}

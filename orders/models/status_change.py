"""The timeline of an order: every fact that we learned about it, and when it happened."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from orders.models.assignment import Assignment
from orders.models.news import News
from orders.models.order import Order


class StatusChange(models.Model):
    """One line of the timeline. Only `news` and `created_at` are written more than once (S10).

    `previous` and `new` are values, which the pages put into words: a status or an action of the
    platform, a moment or a day in ISO 8601, the id of a photographer, a product. They are "" if
    there was no value.
    """

    class Fact(models.TextChoices):
        """The kind of fact that changed."""

        ORDER_STATUS = "ORDER_STATUS", _("Order status")
        ASSIGNMENT_STATUS = "ASSIGNMENT_STATUS", _("Assignment status")
        APPOINTMENT = "APPOINTMENT", _("Appointment")
        ESTIMATE = "ESTIMATE", _("Estimated delivery")
        ACTION = "ACTION", _("Action required")
        PHOTOGRAPHER = "PHOTOGRAPHER", _("Photographer")
        MATERIALS = "MATERIALS", _("Materials")

    class Source(models.TextChoices):
        """The way in which we learned of the fact."""

        CALLBACK = "CALLBACK", _("Callback")
        READ = "READ", _("Read from the platform")
        LOCAL = "LOCAL", _("Answer to our own request")

    order = models.ForeignKey(Order, on_delete=models.PROTECT, related_name="changes")
    assignment = models.ForeignKey(
        Assignment, null=True, blank=True, on_delete=models.PROTECT, related_name="changes"
    )
    fact = models.CharField(max_length=20, choices=Fact)
    previous = models.CharField(max_length=255, blank=True, default="")
    new = models.CharField(max_length=255, blank=True, default="")
    # A name for the value: the name that a photographer had then, since an event contains only the
    # id (§6.3), or the visual type of a product.
    previous_name = models.CharField(max_length=255, blank=True, default="", db_default="")
    new_name = models.CharField(max_length=255, blank=True, default="", db_default="")
    occurred_at = models.DateTimeField(help_text="By the platform's clock")
    digest = models.CharField(max_length=64)
    received_event = models.ForeignKey(
        "crm_sync.ReceivedEvent", null=True, blank=True, on_delete=models.SET_NULL
    )
    source = models.CharField(max_length=10, choices=Source)
    is_listed = models.BooleanField(default=True, help_text="False: §3 does not list this move")
    # Also of what a read had shown just before its event came.
    was_stale = models.BooleanField(
        default=False, help_text="True: something newer was known when it came"
    )
    created_at = models.DateTimeField(default=timezone.now)
    # The news for people. The index contains only lines that are not NULL.
    news = models.CharField(max_length=10, choices=News, null=True, editable=False)

    class Meta:
        constraints = [
            # A replay adds nothing: the digest is the event's, and the event names its assignment.
            models.UniqueConstraint(fields=["order", "fact", "digest"], name="one_line_per_event")
        ]
        indexes = [
            # The order page shows the timeline by the platform's clock.
            models.Index(fields=["order", "occurred_at"], name="timeline"),
            # "Does anything move?" reads the newest lines of all orders.
            models.Index(fields=["created_at"], name="timeline_newest"),
            # "What happened since then?" The index contains every column that the answer needs.
            models.Index(
                fields=["news", "created_at", "order", "assignment", "occurred_at"],
                name="timeline_news",
                condition=models.Q(news__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.fact} {self.pk}: {self.previous} → {self.new}"

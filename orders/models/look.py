"""When a person last saw an order with delivered materials."""

from django.conf import settings
from django.db import models

from orders.models.order import Order


class Look(models.Model):
    """One row per order and person. Materials fetched after `at` are new to the person."""

    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="looks")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["person", "order"], name="one_look_per_person")
        ]

    def __str__(self) -> str:
        return f"look {self.pk}"

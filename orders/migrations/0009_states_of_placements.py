"""PREPARING and CONFIRMED become states; before, `due_at` and `confirmed_at` implied them."""

from typing import Any

from django.db import migrations, models
from django.db.models import Q


def name_states(apps: Any, _: Any) -> None:
    """Write the states that a combination of columns implied."""
    rows = apps.get_model("orders", "Placement").objects
    rows.filter(state="DRAFT", due_at__isnull=False).update(state="PREPARING")
    rows.filter(state="READY", confirmed_at__isnull=False).update(state="CONFIRMED")


def unname_states(apps: Any, _: Any) -> None:
    """Write the states of before."""
    rows = apps.get_model("orders", "Placement").objects
    rows.filter(state="PREPARING").update(state="DRAFT")
    rows.filter(state="CONFIRMED").update(state="READY")


STATES = [
    ("DRAFT", "Draft"),
    ("PREPARING", "Being prepared"),
    ("READY", "Ready to place"),
    ("CONFIRMED", "Waits for a worker"),
    ("SENDING", "Sending"),
    ("PLACED", "Placed"),
    ("UNCERTAIN", "Uncertain"),
    ("FAILED", "Failed"),
]
CONSTRAINTS = {
    "placement_to_be_sent_is_confirmed": ~Q(state__in=("CONFIRMED", "SENDING"))
    | Q(confirmed_at__isnull=False),
    "placement_for_a_worker_is_due": ~Q(state__in=("PREPARING", "CONFIRMED", "SENDING"))
    | Q(due_at__isnull=False),
    "placement_has_a_known_state": Q(state__in=[value for value, _ in STATES]),
}


class Migration(migrations.Migration):
    dependencies = [("orders", "0008_problems_with_their_kind")]

    operations = [
        *(
            migrations.RemoveConstraint("Placement", name)
            for name in (
                "placement_to_be_sent_is_confirmed",
                "confirmed_placement_is_due",
                "placement_has_a_known_state",
            )
        ),
        migrations.AlterField(
            "Placement",
            "state",
            models.CharField(max_length=10, choices=STATES, default="DRAFT"),
        ),
        migrations.RunPython(name_states, unname_states),
        *(
            migrations.AddConstraint(
                "Placement", models.CheckConstraint(condition=condition, name=name)
            )
            for name, condition in CONSTRAINTS.items()
        ),
    ]

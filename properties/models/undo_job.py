"""The undo of many changes, which a worker does in chunks."""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from crm_sync.models.due import DueModel, due_index, no_half_lease
from crm_sync.models.problem import SentenceField


class Undo(DueModel):
    """The undo of the changes that a person has chosen and seen.

    The holder of the lease writes `position`, `counts`, `kept`, `removed` and `ended_at`.
    """

    workspace = models.ForeignKey("crm_sync.Workspace", on_delete=models.PROTECT)
    # `properties.domain.change_selection.ChangeSelection`, and the newest change that was seen.
    chosen = models.JSONField(default=dict)
    up_to = models.PositiveBigIntegerField()
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    requested_at = models.DateTimeField(default=timezone.now)
    # Time and key of the oldest change so far; the next chunk goes on there.
    position = models.JSONField(null=True)
    counts = models.JSONField(default=dict)
    # Both bounded, see `properties.domain.undo_steps`: what was not restored and why, and the
    # references of the properties that were removed.
    kept = models.JSONField(default=list)
    removed = models.JSONField(default=list)
    problem = SentenceField(blank=True, default="")
    ended_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("undo")
        default_permissions = ()  # the permission to change properties counts
        constraints = [
            no_half_lease("undo"),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=False) | Q(due_at__isnull=False),
                name="open_undo_is_due",
            ),
        ]
        indexes = [due_index("undo")]

    def __str__(self) -> str:
        return f"undo {self.pk}"

    def count(self, name: str) -> int:
        """Return one of its counts."""
        found: Any = self.counts.get(name, 0)
        return int(found)

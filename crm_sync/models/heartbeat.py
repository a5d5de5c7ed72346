"""When a process was last alive, for people and for monitoring."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Heartbeat(models.Model):
    """The row of one process, which only this process writes."""

    class Kind(models.TextChoices):
        """The kind of process."""

        WORKER = "worker", _("Worker")
        BEAT = "beat", _("Beat")
        WEB = "web", _("Web server")
        TICK = "tick", _("Tick")  # shows that messages pass through the broker

    kind = models.CharField(max_length=10, choices=Kind)
    name = models.CharField(max_length=255)
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    stopped_at = models.DateTimeField(null=True, help_text="It ended by itself; null after a kill")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["kind", "name"], name="one_heartbeat_per_process")
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"

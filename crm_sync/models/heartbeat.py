"""When a process was last alive: what a person and a monitor look at."""

from django.db import models


class Heartbeat(models.Model):
    """One for each process, which writes its own row and no other."""

    class Kind(models.TextChoices):
        """What the process does here."""

        WORKER = "worker", "Worker"
        BEAT = "beat", "Beat"
        WEB = "web", "Web server"
        TICK = "tick", "Tick"  # that messages get through the broker

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

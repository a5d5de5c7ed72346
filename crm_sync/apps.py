"""The app that knows the platform and none of our other apps."""

from django.apps import AppConfig


class CrmSyncConfig(AppConfig):
    """Loads the queues of inbox and history, the doorbell, the heartbeats and the system checks."""

    name = "crm_sync"
    verbose_name = "Platform"

    def ready(self) -> None:
        """Connect what needs the models."""
        # Models are ready only now.
        from crm_sync import books, checks, heartbeat, recovery, tasks  # noqa: F401, PLC0415
        from crm_sync.dispatch import doorbell  # noqa: PLC0415 - as above

        doorbell.publish = tasks.publish

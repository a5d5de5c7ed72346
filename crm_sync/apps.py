"""The app that knows the platform and none of our other apps."""

from django.apps import AppConfig


class CrmSyncConfig(AppConfig):
    """Loads the queues of inbox and history, the doorbell, the heartbeats and the system checks."""

    name = "crm_sync"
    verbose_name = "Platform"

    def ready(self) -> None:
        """Connect what needs the models."""
        # Models are ready only now.
        from crm_sync import checks, tasks  # noqa: F401, PLC0415
        from crm_sync.integrity import checks as integrity_checks  # noqa: F401, PLC0415
        from crm_sync.jobs.doorbell import doorbell  # noqa: PLC0415 - as above
        from crm_sync.webhook import poll  # noqa: F401, PLC0415
        from crm_sync.workers import heartbeat  # noqa: F401, PLC0415

        doorbell.connect(tasks.publish)

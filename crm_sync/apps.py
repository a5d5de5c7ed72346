"""The app that knows the platform and none of our other apps."""

from django.apps import AppConfig


class CrmSyncConfig(AppConfig):
    """Loads the queues of inbox and history, the doorbell and the system checks."""

    name = "crm_sync"
    verbose_name = "Platform"

    def ready(self) -> None:
        """Connect what needs the models."""
        from crm_sync import books, checks, recovery, tasks  # noqa: F401, PLC0415 - models are ready now
        from crm_sync.dispatch import doorbell  # noqa: PLC0415 - as above

        doorbell.publish = tasks.publish

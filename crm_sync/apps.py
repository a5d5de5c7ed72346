"""The app that knows the platform, but none of our other apps."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class CrmSyncConfig(AppConfig):
    """Plugs in the inbox and the webhook; loads the doorbell, the heartbeats, the system checks."""

    name = "crm_sync"
    verbose_name = _("Platform")

    def ready(self) -> None:
        """Connect the parts that need the models, which are ready only now."""
        # Loading these modules registers their checks, tasks and signals.
        from crm_sync import checks, free_text, retention, tasks  # noqa: F401, PLC0415
        from crm_sync.admin.outgoing import message  # noqa: PLC0415
        from crm_sync.admin.overview import tiles, unmailed  # noqa: PLC0415
        from crm_sync.configuration.schedule_rows import SCHEDULES  # noqa: PLC0415
        from crm_sync.configuration.subscription_rows import SUBSCRIPTIONS  # noqa: PLC0415
        from crm_sync.configuration.workspace_rows import WORKSPACES  # noqa: PLC0415
        from crm_sync.hooks import AppHooks, Scope, register  # noqa: PLC0415
        from crm_sync.inbox import store  # noqa: PLC0415
        from crm_sync.integrity import connection_checks as integrity  # noqa: PLC0415
        from crm_sync.observing import alarm_report, alarms  # noqa: PLC0415
        from crm_sync.outgoing import worker  # noqa: PLC0415
        from crm_sync.security import login  # noqa: PLC0415
        from crm_sync.webhook import poll, schedule  # noqa: PLC0415
        from crm_sync.work import heartbeat  # noqa: F401, PLC0415
        from crm_sync.work.doorbell import doorbell  # noqa: PLC0415

        doorbell.connect(tasks.publish)
        login.listen()
        register(
            AppHooks(
                app=self.label,
                queues=[
                    *(store.RECEIVED_EVENTS, poll.TRIGGERS, worker.OUTGOING),
                    alarm_report.ALARMS,
                ],
                message_kinds=alarm_report.KINDS,
                troubles=[alarms.troubles],
                expired=[retention.expired],
                free_text=free_text.FREE_TEXT,
                configuration=[WORKSPACES, SUBSCRIPTIONS, SCHEDULES],
                after_applied=[schedule.received],
                after_missed=[schedule.missed],
                api_scopes=[
                    Scope("changes:read", _("Follow the changes of properties and orders"))
                ],
                integrity_checks=[integrity.check_groups],
                tiles=[tiles.tiles],
                attention=[tiles.attention, message.attention, unmailed.attention],
            )
        )

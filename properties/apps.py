"""The app of the properties."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class PropertiesConfig(AppConfig):
    """The app that plugs the properties into `crm_sync`."""

    name = "properties"
    verbose_name = _("Properties")

    def ready(self) -> None:
        """Register the hooks of this app. They need the models, which are ready only now."""
        from crm_sync.hooks import AppHooks, Scope, WorkspaceTab, register  # noqa: PLC0415
        from properties import recurring  # noqa: PLC0415
        from properties.admin import tiles  # noqa: PLC0415
        from properties.admin.import_ import waiting_imports  # noqa: PLC0415
        from properties.admin.source import source_state  # noqa: PLC0415
        from properties.domain import undo_steps  # noqa: PLC0415
        from properties.imports import job  # noqa: PLC0415
        from properties.plugged import (  # noqa: PLC0415
            configuration,
            doctor,
            first_plan,
            free_text,
            integrity,
            recovery,
            retention,
        )
        from properties.push import queue, sync_messages  # noqa: PLC0415
        from properties.sources import source_look, source_mail  # noqa: PLC0415

        register(
            AppHooks(
                app=self.label,
                queues=[
                    *(job.IMPORTS, queue.PROPERTIES, source_look.SOURCES, source_mail.MAILS),
                    *(recurring.PULL, recurring.SAMPLE, recurring.SWEEP, undo_steps.UNDOS),
                ],
                message_kinds=sync_messages.KINDS,
                expired=[retention.expired],
                free_text=free_text.FREE_TEXT,
                configuration=configuration.SECTIONS,
                after_connected=[recurring.begin],
                after_hold=[queue.wake],
                first_plans=[first_plan.first_plan],
                integrity_checks=[integrity.check_groups],
                live_checks=[doctor.findings],
                api_scopes=[
                    Scope("properties:read", _("Read properties, their state and history")),
                    Scope("properties:write", _("Create and change properties")),
                    Scope("sources:fetch", _("Have the feed of a source fetched at once")),
                ],
                workspace_tabs=[
                    WorkspaceTab(
                        _("Match"),
                        "admin:properties_property_match",
                        "properties.view_property",
                        _("Say first which of them the platform has already."),
                    ),
                    WorkspaceTab(
                        _("Fields"), "admin:properties_property_owners", "crm_sync.view_workspace"
                    ),
                ],
                recoveries=[recovery.RECOVERY],
                troubles=[source_state.troubles],
                tiles=[tiles.tiles],
                attention=[
                    *(source_state.attention, source_state.unmailed, waiting_imports.attention),
                    *(tiles.swept, tiles.to_match, tiles.attention),
                ],
            )
        )

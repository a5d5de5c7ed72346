"""The app of orders, their assignments, and what was delivered."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class OrdersConfig(AppConfig):
    """Registers the hooks of the orders with `crm_sync`."""

    name = "orders"
    label = "orders"
    verbose_name = _("Orders")

    def ready(self) -> None:
        """Register the hooks. They need the models, which are loaded only now."""
        from django.contrib.auth.models import User  # noqa: PLC0415
        from django.db.models.signals import pre_save  # noqa: PLC0415

        from crm_sync.hooks import AppHooks, Scope, register  # noqa: PLC0415
        from orders.admin import (  # noqa: PLC0415
            materials,
            overview_news,
            property_orders,
            tiles,
            today,
            zone_proposal,
        )
        from orders.admin.placing import group_page  # noqa: PLC0415
        from orders.admin.target import target_state  # noqa: PLC0415
        from orders.calendar import feed  # noqa: PLC0415
        from orders.materials import material_messages  # noqa: PLC0415
        from orders.mirror import snapshot, status_messages, timeline_lines  # noqa: PLC0415
        from orders.people import alarm_readers, language_of_person  # noqa: PLC0415
        from orders.placing import confirmation  # noqa: PLC0415
        from orders.platform_users import user_list  # noqa: PLC0415
        from orders.plugged import (  # noqa: PLC0415
            configuration,
            doctor,
            event_handlers,
            free_text,
            integrity,
            order_queues,
            recovery,
            retention,
        )
        from orders.targets import property_files  # noqa: PLC0415

        pre_save.connect(feed.keep_if_hashed_anew, sender=User, dispatch_uid="orders.calendar.feed")
        register(
            AppHooks(
                app=self.label,
                queues=order_queues.ALL,
                configuration=configuration.SECTIONS,
                message_kinds=[status_messages.STATUS, material_messages.READY],
                expired=[retention.expired],
                mail_languages=[language_of_person.languages_of],
                free_text=free_text.FREE_TEXT,
                event_handlers=event_handlers.EVENT_HANDLERS,
                snapshots=[snapshot.facts],
                activity=[timeline_lines.has_grown],
                after_connected=[user_list.ask],
                after_gap=[recovery.after_gap],
                unread_after_gap=[recovery.unread_after_gap],
                after_hold=[confirmation.wake],
                first_plans=[confirmation.confirmed],
                integrity_checks=[integrity.check_groups],
                live_checks=[doctor.findings],
                api_scopes=[
                    Scope("orders:read", _("Read orders, assignments, materials and placements")),
                    Scope("orders:write", _("Place, reschedule and cancel orders")),
                ],
                alarm_readers=[alarm_readers.readers],
                languages=[language_of_person.language_by_account],
                recoveries=[recovery.RECOVERY],
                tiles=[tiles.tiles],
                attention=[tiles.attention, target_state.attention],
                overview=[zone_proposal.section, today.section, overview_news.section],
                property_sections=[property_orders.sections, materials.sections],
                property_facts=[property_orders.facts],
                property_actions=[group_page.ORDER],
                property_pictures=[materials.OF_PROPERTIES],
                property_files=[property_files.OF_PROPERTIES],
                property_filters=[property_orders.OPEN_ORDERS, materials.PHOTOS],
            )
        )

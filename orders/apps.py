"""The app of orders, their assignments, and what was delivered."""

from django.apps import AppConfig


class OrdersConfig(AppConfig):
    """Plugs the orders into the platform's side."""

    name = "orders"
    label = "orders"
    verbose_name = "Orders"

    def ready(self) -> None:
        """Register what needs the models, which are ready only now."""
        from crm_sync.hooks import AppHooks, Scope, register  # noqa: PLC0415
        from orders import handlers, queues  # noqa: PLC0415
        from orders.admin import (  # noqa: PLC0415
            materials,
            overview_news,
            property_orders,
            tiles,
        )
        from orders.admin.placing import group_page  # noqa: PLC0415
        from orders.materials import outgoing as outgoing_materials  # noqa: PLC0415
        from orders.mirror import outgoing, snapshot, timeline  # noqa: PLC0415
        from orders.platform_users import user_list  # noqa: PLC0415
        from orders.plugged import doctor, free_text, integrity, recovery, retention  # noqa: PLC0415

        register(
            AppHooks(
                app=self.label,
                queues=[
                    *(queues.ORDERS, queues.ASSIGNMENTS, queues.MATERIALS, queues.USERS),
                    *(queues.FILES, queues.PLACEMENTS, queues.NOTICES),
                ],
                message_kinds=[outgoing.STATUS, outgoing_materials.READY],
                expired=[retention.expired],
                free_text=free_text.FREE_TEXT,
                event_handlers=handlers.EVENT_HANDLERS,
                snapshots=[snapshot.facts],
                activity=[timeline.has_grown],
                after_connected=[user_list.ask],
                after_gap=[recovery.after_gap],
                integrity_checks=[integrity.check_groups],
                live_checks=[doctor.findings],
                api_scopes=[
                    Scope("orders:read", "Read orders, assignments, materials and placements"),
                    Scope("orders:write", "Place, reschedule and cancel orders"),
                ],
                recoveries=[recovery.RECOVERY],
                tiles=[tiles.tiles],
                attention=[tiles.attention],
                overview=[overview_news.section],
                property_sections=[property_orders.sections, materials.sections],
                property_actions=[group_page.ORDER],
                property_pictures=[materials.OF_PROPERTIES],
            )
        )

"""The app of orders, their assignments, and what was delivered."""

from django.apps import AppConfig


class OrdersConfig(AppConfig):
    """Plugs the orders into the platform's side."""

    name = "orders"
    label = "orders"
    verbose_name = "Orders"

    def ready(self) -> None:
        """Register what needs the models, which are ready only now."""
        from crm_sync.registry import AppHooks, register  # noqa: PLC0415
        from orders import handlers, integrity, queues  # noqa: PLC0415
        from orders.admin import materials, tiles  # noqa: PLC0415
        from orders.mirror import refresh, snapshot, timeline  # noqa: PLC0415

        register(
            AppHooks(
                app=self.label,
                queues=[
                    *(queues.ORDERS, queues.ASSIGNMENTS, queues.MATERIALS),
                    queues.Placements(),
                ],
                event_handlers=handlers.EVENT_HANDLERS,
                snapshots=[snapshot.facts],
                activity=[timeline.has_grown],
                after_gap=[refresh.read_all_open],
                integrity_checks=[integrity.check_groups],
                tiles=[tiles.tiles],
                attention=[tiles.attention],
                property_sections=[materials.sections],
            )
        )

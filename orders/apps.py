"""The app of orders, their assignments, and what was delivered."""

from django.apps import AppConfig


class OrdersConfig(AppConfig):
    """Loads the event handlers and the queues."""

    name = "orders"
    label = "orders"
    verbose_name = "Orders"

    def ready(self) -> None:
        """Register what needs the models."""
        # Models are ready only now.
        from orders import handlers, integrity, queues  # noqa: F401, PLC0415
        from orders.admin import tiles  # noqa: F401, PLC0415
        from orders.mirror import snapshot  # noqa: F401, PLC0415

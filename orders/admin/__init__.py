"""The admin screens of the orders: what was ordered, how it stands, what was delivered."""

from orders.admin import tiles  # noqa: F401 - adds itself to the dashboard
from orders.admin.order import OrderAdmin
from orders.admin.placement import PlacementAdmin

__all__ = ["OrderAdmin", "PlacementAdmin"]

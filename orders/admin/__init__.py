"""The admin screens of the orders: what was ordered, how it stands, what was delivered."""

from orders.admin.order import OrderAdmin
from orders.admin.placement import PlacementAdmin

__all__ = ["OrderAdmin", "PlacementAdmin"]

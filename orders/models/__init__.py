"""Orders, their assignments and timeline, what is being placed, and what was delivered."""

from orders.models.assignment import Assignment
from orders.models.material import Material, MaterialSet
from orders.models.order import EPOCH, Order
from orders.models.placement import Placement, PlacementState
from orders.models.rate_limit import RateLimit
from orders.models.status_change import StatusChange

__all__ = [
    "EPOCH",
    "Assignment",
    "Material",
    "MaterialSet",
    "Order",
    "Placement",
    "PlacementState",
    "RateLimit",
    "StatusChange",
]

"""The connection to a platform, and what it sent us."""

from crm_sync.models.delivery import Delivery
from crm_sync.models.workspace import Workspace

__all__ = ["Delivery", "Workspace"]

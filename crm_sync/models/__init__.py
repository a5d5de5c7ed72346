"""The connection to a platform, and what it sent us."""

from crm_sync.models.delivery import Delivery
from crm_sync.models.gap import Gap
from crm_sync.models.heartbeat import Heartbeat
from crm_sync.models.lane import Lane
from crm_sync.models.slot import Slot
from crm_sync.models.watch import Watch
from crm_sync.models.workspace import Workspace, awake

__all__ = ["Delivery", "Gap", "Heartbeat", "Lane", "Slot", "Watch", "Workspace", "awake"]

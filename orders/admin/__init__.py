"""Admin screens for orders: the orders, their status, and the delivered materials."""

from orders.admin.calendar import CalendarFeedAdmin
from orders.admin.invitation import InvitingUserAdmin
from orders.admin.material_file import MaterialFileAdmin
from orders.admin.order import OrderAdmin
from orders.admin.person_settings import PersonSettingsAdmin
from orders.admin.placing.placement_admin import PlacementAdmin
from orders.admin.target.target import TargetAdmin
from orders.admin.target.target_file import TargetFileAdmin
from orders.admin.user import PlatformUserAdmin

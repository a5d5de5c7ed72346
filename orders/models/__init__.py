"""Orders, their assignments and timelines, placements, and delivered materials."""

from orders.models.assignment import Assignment
from orders.models.calendar_feed import CalendarFeed
from orders.models.change_request import ChangeRequest
from orders.models.forgotten_person import ForgottenPerson
from orders.models.look import Look
from orders.models.material import Material, MaterialSet
from orders.models.material_file import MaterialFile
from orders.models.order import EPOCH, Order
from orders.models.person_settings import PersonSettings
from orders.models.placement import Placement, PlacementState
from orders.models.platform_user import PlatformUser, UserList
from orders.models.rate_limit import RateLimit
from orders.models.reminder import Reminder, ReminderSettings
from orders.models.status_change import StatusChange
from orders.models.target import Target, TargetFile

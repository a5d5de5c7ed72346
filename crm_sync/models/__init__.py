"""The connection to a platform, and the events that it sent us."""

from crm_sync.models.alarm import Alarm, AlarmKind
from crm_sync.models.api_token import ApiToken
from crm_sync.models.gap import Gap
from crm_sync.models.heartbeat import Heartbeat
from crm_sync.models.hold import Hold
from crm_sync.models.named_view import NamedView
from crm_sync.models.outgoing import MessageFormat, OutgoingMessage, Subscription
from crm_sync.models.pausing import awake
from crm_sync.models.platform_call import CallCount, PlatformCall
from crm_sync.models.provider_account import ProviderAccount
from crm_sync.models.received_event import ReceivedEvent
from crm_sync.models.reported_change import ChangeSequence, ReportedChange
from crm_sync.models.ring import Ring
from crm_sync.models.second_factor import AuthenticatorApp
from crm_sync.models.slot import Slot
from crm_sync.models.webhook_monitor import WebhookMonitor
from crm_sync.models.workspace import Workspace

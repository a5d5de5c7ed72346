"""The columns of this app that may name people (S23)."""

from django.contrib.admin.models import LogEntry

from crm_sync.hooks import FreeText
from crm_sync.models import (
    Alarm,
    ApiToken,
    AuthenticatorApp,
    Hold,
    NamedView,
    OutgoingMessage,
    PlatformCall,
    ReceivedEvent,
    ReportedChange,
    Subscription,
    WebhookMonitor,
    Workspace,
)

FREE_TEXT = (
    FreeText(LogEntry, ("object_repr", "change_message")),
    FreeText(Alarm, ("name", "text", "problem")),
    FreeText(ApiToken, ("name",)),
    FreeText(AuthenticatorApp, ("name",)),
    FreeText(Hold, ("reason", "program", "ended_program")),
    FreeText(NamedView, ("name", "query")),
    FreeText(OutgoingMessage, ("payload", "answer")),
    FreeText(PlatformCall, ("address", "about", "problem", "sent", "answer")),
    FreeText(ReceivedEvent, ("headers", "effect", "cause")),
    FreeText(ReportedChange, ("data",)),
    FreeText(Subscription, ("problem",)),
    FreeText(WebhookMonitor, ("problem", "last_failure")),
    FreeText(Workspace, ("problem", "last_refusal")),
)

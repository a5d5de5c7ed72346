"""The rows of this app that are old enough to be removed (S23)."""

from datetime import datetime

from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session

from crm_sync.expiry import Part, deletion, older
from crm_sync.inbox import event_retention as inbox
from crm_sync.models import Alarm, OutgoingMessage, call_log
from crm_sync.outgoing import sequence


def expired(now: datetime) -> dict[str, Part]:
    """Return by name the parts that remove them. Pending rows and rows for a person stay."""
    kept = settings.KEEP_DAYS
    ended = OutgoingMessage.objects.filter(due_at=None).order_by("created_at")
    messages = older(ended, "created_at", days=kept["messages"], now=now)
    over = Alarm.objects.filter(due_at=None, ended_at__isnull=False).order_by("ended_at")
    history = LogEntry.objects.order_by("pk")
    return {
        **inbox.parts(dict.fromkeys(inbox.CLEARED, kept["events"]), now=now),
        **call_log.expired(now),
        "outgoing messages": deletion(messages),
        "alarms": deletion(older(over, "ended_at", days=kept["messages"], now=now)),
        "changes": sequence.removal(kept["events"], now=now),
        "lines of history": deletion(older(history, "action_time", days=kept["history"], now=now)),
        "sessions": deletion(Session.objects.filter(expire_date__lt=now).order_by("expire_date")),
    }

"""Changes that go to Slack or Teams together, in one message.

A group is recorded before it is sent. So if a worker dies after the call, or the receiver fails,
the next worker sends the same changes under the same id, and later changes are not among them.
"""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Q, QuerySet
from django.utils import translation

from crm_sync import hooks, row_locks
from crm_sync.hooks import MessageFacts
from crm_sync.links import absolute
from crm_sync.models import OutgoingMessage, Subscription
from crm_sync.outgoing import chat, outbox, retry_schedule

EVERY = timedelta(minutes=5)  # from one message of a subscription to the next
LATEST = max(retry_schedule.DELAYS) * (1 + retry_schedule.JITTER)
PENDING = Q(state=OutgoingMessage.State.PENDING, due_at__isnull=False)


@dataclass(frozen=True)
class Group:
    """The changes of one message.

    Attributes:
        shown: those that the message shows, the oldest first.
        count: the number of all.
    """

    key: str
    shown: Sequence[OutgoingMessage]
    count: int

    @property
    def rows(self) -> QuerySet[OutgoingMessage]:
        """The rows of the group that are still pending."""
        of_group = {"subscription": self.shown[0].subscription_id, "group": self.key}
        return OutgoingMessage.objects.filter(PENDING, **of_group)


def is_due(now: datetime) -> Q:
    """Select due messages; a `due_at` beyond any delay was written by a wrong clock (I29)."""
    return Q(due_at__lte=now) | Q(due_at__gt=now + LATEST)


def next_group(subscription_id: int, *, now: datetime) -> Group | None:
    """Return the group that is due, else record a new one of all due changes; None without any.

    Only the holder of the subscription's lease calls it.
    """
    mine = OutgoingMessage.objects.filter(PENDING, subscription=subscription_id)
    due = mine.filter(is_due(now))
    key = due.exclude(group="").order_by("due_at", "pk").values_list("group", flat=True).first()
    if key is None:
        key = f"msg_{secrets.token_hex(16)}"
        if not row_locks.update(due.filter(group=""), group=key):
            return None
    found = mine.filter(group=key).order_by("pk")
    return Group(key, list(found[: chat.LINES]), found.count())


def body(row: Subscription, group: Group) -> str:
    """Return the message about a group, in the language of the subscription."""
    with translation.override(row.language or settings.LANGUAGE_CODE):
        lines = [chat.line(row.template, one) for one in _values(row.workspace_id, group.shown)]
        return chat.body(row.format, lines, group.count)


def _values(workspace_id: int, rows: Sequence[OutgoingMessage]) -> list[Mapping[str, str]]:
    """Return a text for each name of a template, for each row."""
    kinds = {one.name: one for one in hooks.plugged().message_kinds}
    documents = [json.loads(row.payload)["data"] for row in rows]
    found: dict[int, MessageFacts] = {}
    for name in {row.kind for row in rows}:
        places = [place for place, row in enumerate(rows) if row.kind == name]
        some = [documents[place] for place in places]
        found |= dict(zip(places, _facts(kinds.get(name), workspace_id, some), strict=True))
    values: list[Mapping[str, str]] = []
    for place, row in enumerate(rows):
        facts, kind = found[place], kinds.get(row.kind)
        values.append(
            {
                "address": facts.address or facts.reference,
                "reference": facts.reference,
                "status": facts.status,
                "event": str(kind.text) if kind else row.kind,
                "workspace": str(documents[place].get("workspace", "")),
                "link": facts.link,
            }
        )
    return values


def _facts(
    kind: hooks.MessageKind | None, workspace_id: int, documents: Sequence[Mapping[str, Any]]
) -> Sequence[MessageFacts]:
    if kind is not None and kind.facts is not None:
        return kind.facts(workspace_id, documents)
    # A test message, or a kind that an app has given up since.
    text = str(outbox.TEST_TEXT) if kind is None else str(kind.text)
    link = absolute("admin:crm_sync_outgoingmessage_changelist")
    return [
        MessageFacts(str(one.get("workspace", "")), str(one.get("reference") or ""), text, link)
        for one in documents
    ]

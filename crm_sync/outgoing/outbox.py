"""Writes messages in the transaction of the change that they report, so that none is lost."""

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from crm_sync import row_locks, tracing
from crm_sync.models import OutgoingMessage, ReportedChange, Subscription, Workspace
from crm_sync.sentence import lazy_sentence
from crm_sync.work import fast_sql
from crm_sync.work.doorbell import doorbell
from crm_sync.work.fast_sql import RowInsert

QUEUE = "outgoing"
TOGETHER = 1_000  # rows in one INSERT: PostgreSQL takes 65,535 values in a statement
TEST = "test"  # sent by a person; nobody subscribes to it
TEST_TEXT = _("A test message")


@dataclass(frozen=True)
class Message:
    """One reported event.

    Attributes:
        kind: the name of a registered kind.
        at: the time of the event.
        data: ids and states as JSON, without personal data; the workspace is added.
        cause: the `traceparent` of what it reports, if that is not the current work of this thread.
    """

    kind: str
    at: datetime
    data: Mapping[str, Any]
    cause: str = ""


def tell(workspace_id: int, messages: Sequence[Message], *, now: datetime) -> int:
    """Write changes, and messages for each subscription that wants them; return their number.

    Call it inside the transaction of the change. Without a subscription it is two statements.
    """
    rows = [change(workspace_id, one, now=now).columns for one in messages]
    fast_sql.insert_many(ReportedChange, rows)
    return send(workspace_id, messages, now=now)


def change(workspace_id: int, message: Message, *, now: datetime) -> RowInsert:
    """Return the row for the programs that follow the changes (`sequence`)."""
    return RowInsert(
        ReportedChange,
        {
            "workspace": workspace_id,
            "kind": message.kind,
            "occurred_at": message.at,
            "data": dict(message.data),
            "created_at": now,
        },
    )


def send(workspace_id: int, messages: Sequence[Message], *, now: datetime) -> int:
    """Write messages for each subscription that wants them; return their number.

    Call it inside the transaction of the change.
    """
    found = Subscription.objects.filter(workspace=workspace_id, is_enabled=True).order_by("pk")
    rows = list(found.values_list("pk", "kinds", "workspace__slug"))
    new = [
        _row(workspace_id, key, slug, message, now=now)
        for message in messages
        for key, names, slug in rows
        if message.kind in names
    ]
    OutgoingMessage.objects.bulk_create(new, batch_size=TOGETHER)
    if new:
        doorbell.ring(QUEUE, workspace_id)
    return len(new)


def document(kind: str, at: datetime, data: Mapping[str, Any], slug: str) -> dict[str, Any]:
    """Return a message as other systems read it, of the workspace with this slug."""
    return {
        "type": kind,
        "timestamp": at.astimezone(UTC).isoformat(timespec="milliseconds")[:-6] + "Z",
        "data": {"workspace": slug, **data},
    }


def test(subscription: Subscription, *, now: datetime) -> OutgoingMessage:
    """Write a test message for one subscription, whatever kinds it wants."""
    workspace_id, slug = subscription.workspace_id, subscription.workspace.slug
    message = Message(TEST, now, {"text": lazy_sentence(TEST_TEXT)})
    row = _row(workspace_id, subscription.pk, slug, message, now=now)
    row.save(force_insert=True)
    Subscription.objects.filter(pk=subscription.pk, is_enabled=True).update(due_at=now)
    doorbell.ring(QUEUE, workspace_id)
    return row


@contextmanager
def changing(*workspace_ids: int) -> Iterator[None]:
    """Change subscriptions of these workspaces in this block, which is one transaction.

    At its end the wanted kinds are stored in each workspace, so that a push without a subscriber
    costs no query.
    """
    with transaction.atomic():
        # Two changes run one after the other. The workspace comes first, as in `config apply`:
        # else both could wait for the other.
        row_locks.lock(Workspace.objects.filter(pk__in=workspace_ids))
        yield
        for workspace_id in workspace_ids:
            found = Subscription.objects.filter(workspace=workspace_id, is_enabled=True)
            kinds = found.values_list("kinds", flat=True)
            names = sorted({name for names in kinds for name in names})
            Workspace.objects.filter(pk=workspace_id).update(outgoing_kinds=names)


def _row(
    workspace_id: int, subscription_id: int, slug: str, message: Message, *, now: datetime
) -> OutgoingMessage:
    said = document(message.kind, message.at, message.data, slug)
    return OutgoingMessage(
        workspace_id=workspace_id,
        subscription_id=subscription_id,
        # Random, so that it does not reveal the number of messages. The standard forbids a full
        # stop.
        message_id=f"msg_{secrets.token_hex(16)}",
        kind=message.kind,
        payload=json.dumps(said, ensure_ascii=False, separators=(",", ":")),
        traceparent=message.cause or tracing.current().traceparent or None,
        due_at=now,
        created_at=now,
    )

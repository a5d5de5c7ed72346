"""The inbox: store first, understand later (I15, I16, I17)."""

import hashlib
import logging
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import Any

from django.db import DatabaseError, connection, transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from crm_sync import hooks, tracing
from crm_sync.inbox import apply
from crm_sync.models import ReceivedEvent, due
from crm_sync.platform.events import NotUnderstood, canonical_digest, parse_document
from crm_sync.work import fast_sql, leases, rings
from crm_sync.work.doorbell import doorbell
from crm_sync.work.leases import Claim
from crm_sync.work.queues import RowQueue, Turn

log = logging.getLogger(__name__)

QUEUE = "received_events"
BATCH_SIZE = 100  # rows claimed at once; if a worker dies, they wait until its lease ends
UNDIGESTED = 100  # the number of newest rows without a digest that are parsed to compare
STUCK = ReceivedEvent.STUCK


def store(
    workspace_id: int,
    body: bytes,
    *,
    headers: Mapping[str, str],
    method: str,
    source: ReceivedEvent.Source,
    now: datetime,
    given: fast_sql.Expression = fast_sql.NOWHERE,
) -> bool:
    """Store one received callback and ring for the worker.

    Args:
        body: the raw bytes, not parsed.
        headers: headers with all secrets already masked.
        given: a FROM clause with its values (`auth.WorkspaceSnapshot.unchanged`). If it yields no
            row, or the bytes are not new, nothing is stored or counted, and False is returned.

    Returns:
        True if it is new. False if the same bytes already wait for a worker or a person. Then they
        are only counted.

    Raises:
        DatabaseError: it could not be stored, so the platform must not get a 2xx (I15).
    """
    digest = hashlib.sha256(body).hexdigest()
    # The headers are masked, so a secret in one of them is no `traceparent`.
    tracing.rename(tracing.of_digest(digest), headers.get("Traceparent", ""))
    columns = {
        "workspace": workspace_id,
        "digest": digest,
        "body": body,
        "headers": dict(headers),
        "method": method,
        "source": source.value,
        "received_at": now,
        "due_at": now,
    }
    if cause := tracing.current().traceparent:
        columns["traceparent"] = cause
    for __ in range(2):  # the row with the same bytes may have been settled in between
        has_message = _insert(columns, given)
        if has_message is not None:
            # A worker may receive that message before this commit. Then the tick rings (decision
            # 9).
            if not has_message:
                doorbell.ring(QUEUE, workspace_id)
            return True
        if given is not fast_sql.NOWHERE:
            return False
        # Decision 11: a copy of a settled event gets its own row. The worker finds the duplicate.
        known = ReceivedEvent.objects.filter(
            workspace_id=workspace_id, digest=digest, replay_of=None, canonical_digest=""
        )
        if known.update(repeats=F("repeats") + 1):
            return False
    raise DatabaseError("the received event that was there is gone")


def _insert(columns: Mapping[str, Any], given: fast_sql.Expression) -> bool | None:
    """Return whether a message for the worker already waits, or None if no row was inserted."""
    # If the caller has a transaction, a failed INSERT must not break it.
    mine: AbstractContextManager[Any] = (
        transaction.atomic() if connection.in_atomic_block else nullcontext()
    )
    message = rings.waiting(QUEUE, columns["workspace"])
    with mine:
        found: bool | None = fast_sql.insert(
            ReceivedEvent, columns, source=given, returning=message
        )
    return found


def lacking(workspace_id: int, digests: set[str]) -> set[str]:
    """Return the canonical digests whose events were not received in any way."""
    mine = ReceivedEvent.objects.filter(workspace_id=workspace_id)
    known = set(
        mine.filter(canonical_digest__in=digests).values_list("canonical_digest", flat=True)
    )
    if known != digests:
        # A worker has not applied these yet, or could not parse them.
        newest = mine.filter(canonical_digest="").order_by("-pk")[:UNDIGESTED]
        known |= {digest_of(bytes(body)) for body in newest.values_list("body", flat=True)}
    return digests - known


def digest_of(body: bytes) -> str:
    """Return the canonical digest of the event in a body, "" if there is none."""
    try:
        return canonical_digest(parse_document(body))
    except NotUnderstood:
        return ""


def _settle_some(claims: Sequence[Claim[ReceivedEvent]], turn: Turn) -> list[str]:
    outcomes = apply.settle_some(claims, now=timezone.now())
    pairs = zip(claims, outcomes, strict=True)
    said = (
        f"{one.row.pk} {end} [{tracing.of_digest(one.row.digest, one.row.traceparent)}]"
        for one, end in pairs
    )
    # One line for all events: a line for each would take a tenth of the time of the events.
    log.info("received events: %s", ", ".join(said))
    for hook in hooks.plugged().after_applied:
        hook(turn.workspace_id, timezone.now())
    return outcomes


def apply_again(received_events: QuerySet[ReceivedEvent], *, now: datetime) -> int:
    """Make stuck received events due again, reset their attempts, and ring.

    Returns:
        the number of changed events, without events that a worker has settled or holds.
    """
    stuck = _stuck(received_events, now)
    workspaces = set(stuck.values_list("workspace_id", flat=True).distinct())
    columns = {"state": ReceivedEvent.State.RECEIVED, "due_at": now, "attempts": 0}
    count = stuck.update(**columns, applied_at=None, **due.RELEASED)
    doorbell.ring_each(QUEUE, workspaces)
    return count


def set_aside(received_events: QuerySet[ReceivedEvent], *, now: datetime) -> int:
    """Set stuck received events to ignored. Their bytes and reasons are kept.

    Returns:
        the number of changed events, without events that a worker holds.
    """
    columns = {"state": ReceivedEvent.State.IGNORED, "due_at": None}
    return _stuck(received_events, now).update(**columns, **due.RELEASED)


def _stuck(received_events: QuerySet[ReceivedEvent], now: datetime) -> QuerySet[ReceivedEvent]:
    """Return the stuck events that no worker holds.

    Callers must also remove an expired lease. Then a worker that was only slow writes nothing, and
    its state is never combined with another `due_at`.
    """
    return received_events.filter(due.unleased(now), state__in=STUCK).order_by()


RECEIVED_EVENTS = RowQueue(
    name=QUEUE,
    title=_("received events"),
    rows=lambda now: ReceivedEvent.objects.all(),
    work=_settle_some,
    failure=lambda text: {"effect": text},
    calls=False,
    batch_size=BATCH_SIZE,
    lease=leases.SHORT_LEASE,
    columns=("workspace", "digest", "body", "attempts", "replay_of", "traceparent"),
)

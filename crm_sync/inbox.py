"""The inbox: store first, understand later (design §2.2, §5 "A callback becomes a status")."""

import hashlib
import logging
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta
from typing import Any

from django.db import DatabaseError, connection, transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from crm_sync import due, durability, statements, watch
from crm_sync.causes import cause_of
from crm_sync.dispatch import HANDLERS, Effect, doorbell
from crm_sync.due import Claim, Tally
from crm_sync.events import Event, NotUnderstood, canonical_digest, parse, parse_document
from crm_sync.gate import Gate
from crm_sync.models import Delivery
from crm_sync.text import clean

log = logging.getLogger(__name__)

QUEUE = "deliveries"
AT_ONCE = 20  # are claimed together; so many wait for a lease to end when a worker dies
TRIES = 8  # after that the delivery waits for a person, with its reason
FUTURE_LIMIT = timedelta(minutes=10)  # S11: an event from 2099 would win for ever
UNDIGESTED = 100  # so many of the newest deliveries are looked into whose digest is not noted yet
STUCK = (Delivery.State.FAILED, Delivery.State.QUARANTINED)  # these wait for a person


class GateChanged(Exception):
    """Who may call the workspace has changed since it was read: nothing is stored."""


def store(
    workspace_id: int,
    body: bytes,
    *,
    headers: Mapping[str, str],
    method: str,
    source: Delivery.Source,
    now: datetime,
    gate: Gate | None = None,
) -> bool:
    """Store one received callback and ring for the worker.

    Args:
        body: the raw bytes, not looked at.
        headers: with every secret masked already.
        gate: what has let it in, and has to be like that still.

    Returns:
        True when it is new, False when the same bytes are there already (only counted).

    Raises:
        DatabaseError: it could not be stored; the platform must not get a 2xx (I15).
        GateChanged: nothing was stored either.
    """
    digest = hashlib.sha256(body).hexdigest()
    columns = {
        "workspace": workspace_id,
        "digest": digest,
        "body": body,
        "headers": dict(headers),
        "method": method,
        "source": source,
        "received_at": now,
        "due_at": now,
        "attempts": 0,
    }
    # A caller's transaction, where there is one, survives what is not taken.
    mine: AbstractContextManager[Any] = (
        transaction.atomic() if connection.in_atomic_block else nullcontext()
    )
    given = statements.NOWHERE if gate is None else gate.unchanged
    with mine:
        is_new = statements.insert(Delivery, columns, source=given)
    if not is_new:
        if gate is not None and not gate.is_unchanged():
            raise GateChanged
        known = Delivery.objects.filter(workspace_id=workspace_id, digest=digest, replay_of=None)
        if not known.update(repeats=F("repeats") + 1):
            raise DatabaseError("the delivery that was there is gone")
        return False
    doorbell.ring(QUEUE, workspace_id)
    return True


def lacking(workspace_id: int, digests: set[str]) -> set[str]:
    """Return those canonical digests whose event has not been received in any way."""
    mine = Delivery.objects.filter(workspace_id=workspace_id)
    known = set(
        mine.filter(canonical_digest__in=digests).values_list("canonical_digest", flat=True)
    )
    if known != digests:
        # The worker has not come to these yet, or did not understand them.
        newest = mine.filter(canonical_digest="").order_by("-pk")[:UNDIGESTED]
        known |= {digest_of(bytes(body)) for body in newest.values_list("body", flat=True)}
    return digests - known


def digest_of(body: bytes) -> str:
    """Return the canonical digest of the event in a body, "" where there is none."""
    try:
        return canonical_digest(parse_document(body))
    except NotUnderstood:
        return ""


def drain(workspace_id: int, budget: float) -> Tally:
    """Understand and apply what has been received, for at most `budget` seconds."""
    tally, end = Tally(), time.monotonic() + budget
    mine = Delivery.objects.filter(workspace_id=workspace_id)
    while time.monotonic() < end:
        claims = due.claim_some(mine, now=timezone.now(), limit=AT_ONCE)
        if not claims:
            break
        for claim in sorted(claims, key=lambda one: (one.row.due_at, one.row.pk)):
            if time.monotonic() >= end:
                claim.release()
                continue
            tally.add(settle(claim, now=timezone.now()))
            if tally.total % watch.RECEIPTS == 0:
                watch.received(workspace_id, now=timezone.now())
    if tally.total % watch.RECEIPTS:
        watch.received(workspace_id, now=timezone.now())
    return tally


def settle(claim: Claim[Delivery], *, now: datetime) -> str:
    """Apply one delivery and write what became of it; the outcome is one of its states."""
    delivery = claim.row
    try:
        event = parse(bytes(delivery.body))
        if event.at > now + FUTURE_LIMIT:
            raise NotUnderstood(f"dated {event.at:%Y-%m-%d %H:%M} UTC, which is in the future")
    except NotUnderstood as reason:
        _close(claim, Delivery.State.QUARANTINED, str(reason), now=now)
        return Delivery.State.QUARANTINED
    about = _about(event)
    try:
        # The bytes are on the disk: what a power cut takes back of this is due again.
        with durability.relaxed():
            state, text = _apply(delivery, event)
            columns = {"state": state, "effect": text, "cause": "", "applied_at": now, **about}
            if not claim.write({**due.RELEASED, "due_at": None, **columns}):
                raise due.LeaseLost
            return state
    except due.LeaseLost:
        return "lost to another worker"
    except DatabaseError as error:
        return _fail(claim, error, now=now, about=about)
    except Exception as error:
        # A bug of ours may delay an event but never lose it, nor stop the others behind it.
        log.exception("delivery %s failed", delivery.pk)
        return _fail(claim, error, now=now, about=about)


def _apply(delivery: Delivery, event: Event) -> tuple[str, str]:
    if delivery.replay_of_id is None:  # else it is the same event, and somebody wants that
        same = Delivery.objects.filter(
            workspace_id=delivery.workspace_id, canonical_digest=event.digest
        )
        twin = same.exclude(pk=delivery.pk).order_by("pk").values_list("pk", flat=True).first()
        if twin is not None:
            return Delivery.State.DUPLICATE, f"the same event as delivery {twin}"
    handler = HANDLERS.get(event.kind)
    if handler is None:
        return Delivery.State.IGNORED, f"nothing handles {event.kind}"
    effect: Effect = handler(delivery.workspace_id, event, delivery.pk)
    return effect.outcome.value, clean(effect.text)[0][:2000]


def _about(event: Event) -> dict[str, object]:
    order_id, _ = clean(event.text("orderId")[:255])
    return {
        "kind": event.kind,
        "canonical_digest": event.digest,
        "occurred_at": event.at,
        "order_platform_id": order_id,
    }


def _close(claim: Claim[Delivery], state: str, text: str, *, now: datetime) -> None:
    effect = clean(text)[0][:2000]
    claim.release(due_at=None, state=state, effect=effect, cause=cause_of(effect), applied_at=now)


def _fail(
    claim: Claim[Delivery], error: Exception, *, now: datetime, about: dict[str, object]
) -> str:
    attempts = claim.row.attempts + 1
    again = now + due.backoff(attempts) if attempts < TRIES else None
    # Its digest is not noted: a failed event is no first one that makes a later copy a duplicate.
    kept = {key: value for key, value in about.items() if key != "canonical_digest"}
    effect = f"{type(error).__name__}: {clean(str(error))[0]}"[:2000]
    claim.release(
        due_at=again,
        attempts=attempts,
        state=Delivery.State.FAILED,
        effect=effect,
        cause=cause_of(effect),
        **kept,
    )
    return Delivery.State.FAILED


def apply_again(deliveries: QuerySet[Delivery], *, now: datetime) -> int:
    """Give those that are stuck to the worker once more, with all their tries, and ring.

    Returns:
        how many that were; a delivery that was settled is left as it is.
    """
    stuck = deliveries.filter(state__in=STUCK).order_by()
    workspaces = set(stuck.values_list("workspace_id", flat=True).distinct())
    count = stuck.update(state=Delivery.State.RECEIVED, due_at=now, attempts=0, applied_at=None)
    for workspace_id in workspaces:
        doorbell.ring(QUEUE, workspace_id)
    return count


def set_aside(deliveries: QuerySet[Delivery]) -> int:
    """Call stuck ones ignored, once a person has looked: their bytes and reasons stay.

    Returns:
        how many that were.
    """
    stuck = deliveries.filter(state__in=STUCK).order_by()
    return stuck.update(state=Delivery.State.IGNORED, due_at=None)


def workspaces_due(now: datetime) -> set[int]:
    """Return the ids of the workspaces with a delivery to apply."""
    waiting = Delivery.objects.filter(due.free(now))
    return set(waiting.values_list("workspace_id", flat=True).distinct())


due.register(due.Queue(QUEUE, workspaces_due, drain))

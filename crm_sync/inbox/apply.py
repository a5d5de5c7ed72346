"""Applies received events, many in one transaction (decision 13, I31).

If one fails, the transaction is rolled back, and each event is applied in its own transaction. So a
bad event does not lose or delay the others.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import DatabaseError
from django.db.models import Min

from crm_sync import durability, hooks, tracing
from crm_sync.hooks import EventBatch
from crm_sync.inbox import failure_groups
from crm_sync.models import ReceivedEvent, Workspace, due
from crm_sync.platform import clock, events
from crm_sync.platform.events import Event, NotUnderstood, parse
from crm_sync.sentence import Sentence, sentence
from crm_sync.text import clean
from crm_sync.work import fast_sql, leases
from crm_sync.work.leases import Claim
from crm_sync.work.queues import RowOutcome

log = logging.getLogger(__name__)

MAX_ATTEMPTS = 8  # after that the received event waits for a person
State = ReceivedEvent.State
Columns = dict[str, Any]
NO_PROBLEM = {"problem_kind": "", "cause": ""}


@dataclass(frozen=True)
class Parsed:
    """A claimed row of a received event, with its parsed event.

    Attributes:
        event: None if the bytes are not an event.
        end: the final columns of the row if there is nothing to apply, else empty.
    """

    claim: Claim[ReceivedEvent]
    event: Event | None
    end: Columns

    @property
    def pk(self) -> int:
        """The key of the received event."""
        return self.claim.row.pk


def settle(claim: Claim[ReceivedEvent], *, now: datetime) -> str:
    """Apply one received event and write the result; return its new state."""
    return settle_some([claim], now=now)[0]


def settle_some(claims: Sequence[Claim[ReceivedEvent]], *, now: datetime) -> list[str]:
    """Apply received events of one workspace in the order of their arrival, in one transaction.

    Returns:
        the outcome of each claim: one of the states, or `RowOutcome.LOST`.

    Raises:
        DatabaseError: the failure cannot be written either; all rows are due again after the lease.
    """
    came = sorted(claims, key=lambda one: (one.row.due_at, one.row.pk))
    outcomes = _settle([_parsed(claim, now) for claim in came], now)
    return [outcomes[claim.row.pk] for claim in claims]


def _parsed(claim: Claim[ReceivedEvent], now: datetime) -> Parsed:
    try:
        event = parse(bytes(claim.row.body))
    except NotUnderstood as reason:
        columns = _stuck(reason.fault, reason.about, str(reason))
        return Parsed(claim, None, {"state": State.QUARANTINED, "applied_at": now, **columns})
    return Parsed(claim, event, _early(claim.row, event, now))


def _early(row: ReceivedEvent, event: Event, now: datetime) -> Columns:
    """Return the columns of an event that must wait because it is dated ahead (S11), else nothing.

    An event of an unknown kind need not wait: it sets nothing that blocks later events.
    """
    if not event.is_known or event.at - now <= clock.LIMIT:
        return {}
    mine = Workspace.objects.filter(pk=row.workspace_id)
    ahead = mine.values_list("clock_ahead", flat=True).get()
    until = clock.too_early(event.at, now=now, ahead=ahead)
    if until is None:
        return {}
    text = clock.waiting(event.at, now=now, ahead=ahead, until=until)
    columns = _stuck(failure_groups.EARLY, "", text)
    return {"state": State.EARLY, "due_at": until, **columns, **_about(event)}


def _settle(parsed: Sequence[Parsed], now: datetime) -> dict[int, str]:
    """Settle events in one transaction, or each alone if that fails: key of the row → outcome."""
    if not parsed:
        return {}
    try:
        # The bytes are on the disk: if a power cut loses this commit, the rows are due again.
        with durability.relaxed():
            return _together(parsed, now)
    except Exception as error:  # noqa: BLE001 - it is written to the row, or raised again below
        if len(parsed) > 1:
            return {pk: outcome for one in parsed for pk, outcome in _settle([one], now).items()}
        return {parsed[0].pk: _failed(parsed[0], error, now)}


def _together(parsed: Sequence[Parsed], now: datetime) -> dict[int, str]:
    ends = {one.pk: one.end for one in parsed if one.end}
    events = [(one, one.event) for one in parsed if one.event is not None and not one.end]
    first = _originals(events)
    new = [(one, event) for one, event in events if one.pk not in first]
    batch = EventBatch(parsed[0].claim.row.workspace_id, [event for _, event in new], now=now)
    for one, event in events:
        if original := first.get(one.pk):
            state, text = (
                State.DUPLICATE.value,
                sentence("the same as received event %(id)s", id=str(original)),
            )
        else:
            with tracing.after(one.claim.row.traceparent):  # the span of this row, not of the batch
                state, text = _apply(batch, event, one.pk)
        columns = {"state": state, "effect": text, "applied_at": now, **NO_PROBLEM}
        # From now on, a copy with this digest is a duplicate.
        ends[one.pk] = columns | _about(event) | {"canonical_digest": event.digest}
        if tracing.is_recording():  # the read of its order comes after this
            ends[one.pk]["traceparent"] = one.claim.row.traceparent
    batch.write()
    _end(parsed, ends)
    return {pk: end["state"] for pk, end in ends.items()}


def _originals(events: Sequence[tuple[Parsed, Event]]) -> dict[int, int]:
    """Return the duplicates: key of the row → key of the first row with the same event."""
    if not events:
        return {}
    digests = {event.digest for _, event in events}
    keys = set(fast_sql.having(ReceivedEvent, "canonical_digest", digests))
    others = ReceivedEvent.objects.filter(
        workspace_id=events[0][0].claim.row.workspace_id,
        pk__in=keys - {one.pk for one, _ in events},
    ).order_by()
    known = dict(others.values_list("canonical_digest").annotate(first=Min("pk")))
    found = {}
    for one, event in events:
        # A replay has the digest of its event, but a person requested it.
        if event.digest in known and one.claim.row.replay_of_id is None:
            found[one.pk] = known[event.digest]
        known[event.digest] = min(known.get(event.digest, one.pk), one.pk)
    return found


def _apply(batch: EventBatch, event: Event, pk: int) -> tuple[str, Sentence]:
    handler = hooks.plugged().event_handlers.get(event.kind if event.is_known else events.OTHER)
    if handler is None:
        return State.IGNORED.value, sentence("nothing handles %(kind)s", kind=event.kind)
    effect = handler(batch, event, pk)
    return effect.outcome.value, effect.text


def _end(parsed: Sequence[Parsed], ends: Mapping[int, Columns]) -> None:
    changes = [_ending(one.claim, {"due_at": None, **ends[one.pk]}) for one in parsed]
    if fast_sql.update_many(ReceivedEvent, changes) != len(parsed):
        raise leases.LeaseLost


def _ending(claim: Claim[ReceivedEvent], columns: Columns) -> fast_sql.RowUpdate:
    """Return the end of a row. Only one that waits stays due if its clock has become known."""
    ending = claim.ending(columns)
    if columns["state"] == State.EARLY:
        return ending
    return replace(ending, columns={**ending.columns, "due_at": None}, unless_moved={})


def _failed(one: Parsed, error: Exception, now: datetime) -> str:
    """Write why an event could not be applied, and when it is tried again.

    A bug of ours can delay an event, but it never loses it and never stops the others.
    """
    if isinstance(error, leases.LeaseLost):
        return RowOutcome.LOST
    if not isinstance(error, DatabaseError):
        row = one.claim.row
        with tracing.under(tracing.of_digest(row.digest, row.traceparent)):
            log.error("received event %s failed", one.pk, exc_info=error)
    attempts = one.claim.row.attempts + 1
    text, place = f"{type(error).__name__}: {error}", failure_groups.place_of(error)
    # Its digest is not written: a later copy is no duplicate of a failed event.
    columns = {
        "due_at": now + due.backoff(attempts) if attempts < MAX_ATTEMPTS else None,
        "attempts": attempts,
        "state": State.FAILED,
        **_stuck(failure_groups.ERROR, place, text),
        **(_about(one.event) if one.event is not None else {}),
    }
    return State.FAILED.value if one.claim.finish_if(columns) else RowOutcome.LOST


def _about(event: Event) -> Columns:
    order_id = clean(event.text("orderId")[:255])[0]
    kind = clean(event.kind)[0][:100]
    at = None if event.at == events.UNDATED else event.at
    return {"kind": kind, "occurred_at": at, "order_platform_id": order_id}


def _stuck(kind: str, about: str, text: str) -> Columns:
    return {"effect": text, "problem_kind": kind, "cause": clean(about)[0]}

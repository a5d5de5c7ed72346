"""A worker sends the messages of a subscription. The subscription is the row that it claims.

So one address has one worker and a few calls at a time, and an address that hangs delays no other.
An address that accepts no message is paused, longer each time, and is then tried with one message.
The other messages are not tried, so an outage of a day uses up none of their attempts.

Teams and Slack get many changes in one message, at most one in five minutes (`groups`).

Each message is sent at least once: if a worker dies after a call, it has written nothing, and the
message is sent again with the same id.
"""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.expressions import Combinable
from django.db.models.functions import Greatest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from crm_sync import permits, row_locks, tracing
from crm_sync.models import OutgoingMessage, Subscription, due
from crm_sync.outgoing import groups, outbox, retry_schedule
from crm_sync.outgoing.sending import DeliveryResult, Receiver
from crm_sync.platform.work_kind import WorkKind
from crm_sync.secrets import SecretUnreadable
from crm_sync.sentence import Sentence, sentence
from crm_sync.work import leases
from crm_sync.work.leases import Claim
from crm_sync.work.queues import RowQueue, Turn

State = OutgoingMessage.State
AT_ONCE = 8  # calls to one address at a time
ADDRESSES = 8  # of a workspace at a time
BACK_AFTER = timedelta(
    minutes=10
)  # of failures; a receiver that is back after that gets all messages at once
FAILS_FOR = timedelta(hours=1)  # until a person has to look
LONGEST_WAIT = timedelta(seconds=retry_schedule.LONGEST_RETRY_AFTER) + leases.LEASE
GONE = sentence(
    "The address answered 410 Gone: it wants no more messages. Nothing is sent until somebody"
    " enables the subscription again; waiting messages are kept."
)


class SendingOutcome(StrEnum):
    """The result of a turn for one address."""

    SENT = "sent"
    PUT_OFF = "put off"  # the address accepted no message
    DISABLED = "disabled"


def needs_a_person(now: datetime) -> Q:
    """Select the subscriptions that have failed for an hour, or were stopped after failures."""
    stopped = Q(is_enabled=False) & ~Q(problem="")
    return Q(failing_since__lt=now - FAILS_FOR) | stopped


def rows(now: datetime) -> QuerySet[Subscription]:
    """Return the subscriptions with due messages."""
    mine = OutgoingMessage.objects.filter(groups.is_due(now), subscription=OuterRef("pk"))
    return Subscription.objects.filter(Exists(mine), is_enabled=True)


def work(claims: Sequence[Claim[Subscription]], turn: Turn) -> list[SendingOutcome]:
    """Send the due messages of some subscriptions; the `work` of the queue.

    Raises:
        LeaseLost: another worker holds the row now.
    """
    return [_send_all(claim, turn) for claim in claims]


def _since() -> Combinable:
    """Return since when a subscription is due: its own `due_at`, or that of its first message.

    The later one counts: its own may be from the last turn, and a pause ends after the first
    message is due.
    """
    mine = OutgoingMessage.objects.filter(subscription=OuterRef("pk"), due_at__isnull=False)
    first = Subquery(mine.order_by("due_at").values("due_at")[:1])
    return Greatest(F("due_at"), first)


OUTGOING = RowQueue(
    name=outbox.QUEUE,
    title=_("outgoing"),
    rows=rows,
    work=work,
    calls=False,  # it does not call the platform
    slots=ADDRESSES,
    lease=leases.SHORT_LEASE,
    wait=LONGEST_WAIT,
    since=_since(),
    work_kind=WorkKind.MESSAGES,
    # Secrets are read when they are needed: an unreadable one stops only its own row.
    columns=[one.name for one in Subscription._meta.concrete_fields if "secret" not in one.name],
)


def _send_all(claim: Claim[Subscription], turn: Turn) -> SendingOutcome:
    row, started = claim.row, time.monotonic()
    try:
        receiver = _receiver(row.pk, timezone.now())
    except SecretUnreadable as error:
        return _pause(claim, DeliveryResult(None, Sentence(str(error))), now=timezone.now())
    if row.is_chat:
        return _send_group(claim, receiver)
    while True:
        now = timezone.now()
        # While the address fails, one message is enough to test whether it is back.
        limit = 1 if row.attempts else AT_ONCE
        # Not by `row`: a person may have disabled it since.
        mine = OutgoingMessage.objects.filter(
            groups.is_due(now), subscription=row.pk, subscription__is_enabled=True
        )
        messages = list(mine.order_by("due_at", "pk")[:limit])
        if not messages:
            break
        with permits.away():
            attempts = _send(receiver, messages)
        # One that a person sends again meanwhile is not what was sent: it stays due.
        alone = [
            OutgoingMessage.objects.filter(groups.PENDING, pk=one.pk, due_at=one.due_at)
            for one in messages
        ]
        done = list(zip(messages, alone, attempts, strict=True))
        ended = _write(claim, done, now=timezone.now())
        if ended:
            return ended
        # Another round must end within the lease.
        if turn.is_over() or time.monotonic() - started > settings.CALL_DEADLINE:
            break
    claim.finish(due_at=timezone.now())
    return SendingOutcome.SENT


def _receiver(key: int, now: datetime) -> Receiver:
    """Return the address of a subscription, and the secrets that are valid now.

    Raises:
        SecretUnreadable: no key decrypts the secrets.
    """
    row = Subscription.objects.get(pk=key)
    return Receiver(row.address, row.valid_secrets(now), row.is_chat)


def _send_group(claim: Claim[Subscription], receiver: Receiver) -> SendingOutcome:
    """Send one message about all due changes, and no other one for some minutes.

    Raises:
        LeaseLost: another worker holds the row now, and sends the group.
    """
    row = claim.row
    group = groups.next_group(row.pk, now=timezone.now())
    if group is None:
        claim.finish(due_at=timezone.now())
        return SendingOutcome.SENT
    text = groups.body(row, group)
    if not claim.write({}):
        raise leases.LeaseLost
    with permits.away(), tracing.after(group.shown[0].traceparent):
        attempt = receiver.send(group.key, text, at=timezone.now())
    now = timezone.now()
    ended = _write(claim, [(group.shown[0], group.rows, attempt)], now=now)
    if ended:
        return ended
    claim.finish(due_at=now + groups.EVERY)
    return SendingOutcome.SENT


def _send(receiver: Receiver, messages: Sequence[OutgoingMessage]) -> list[DeliveryResult]:
    """Send messages in parallel. The threads do not use the database."""

    here = tracing.current().traceparent  # a thread of the pool does not know it

    def send(one: OutgoingMessage) -> DeliveryResult:
        with tracing.after(one.traceparent or here):
            return receiver.send(one.message_id, one.payload, at=timezone.now())

    if len(messages) == 1:
        return [send(messages[0])]
    with ThreadPoolExecutor(len(messages), thread_name_prefix="outgoing") as pool:
        return list(pool.map(send, messages))


def _write(
    claim: Claim[Subscription],
    done: Sequence[tuple[OutgoingMessage, QuerySet[OutgoingMessage], DeliveryResult]],
    *,
    now: datetime,
) -> SendingOutcome | None:
    """Write the results of attempts and return an outcome if the turn must end.

    Args:
        done: a message, the pending rows that were sent with it, and what came of it.
    """
    row = claim.row
    gone = next((one for *_, one in done if one.status == retry_schedule.GONE), None)
    is_delivered = any(attempt.is_delivered for *_, attempt in done)
    with transaction.atomic():
        if is_delivered and _was_away(row, now):  # it writes the others, too
            row_locks.lock(_pending(row))
        for message, pending, attempt in sorted(done, key=lambda one: one[0].pk):
            row_locks.update(pending, **_columns(message, attempt, now=now))
        if is_delivered:
            _note_success(claim, now=now)
    if gone is not None:
        return _disable(claim, GONE, now=now)
    if is_delivered:
        return None
    last = done[-1][-1]
    if row.failing_since is not None and now - row.failing_since >= retry_schedule.GIVE_UP_AFTER:
        away = sentence(
            "No message was delivered for three days. Fix the receiver or the address, enable the"
            " subscription, and send again what was given up. The last attempt: %(last)s",
            last=last.text,
        )
        return _disable(claim, away, now=now)
    return _pause(claim, last, now=now)


def _columns(message: OutgoingMessage, attempt: DeliveryResult, *, now: datetime) -> dict[str, Any]:
    """Return the columns of a message after an attempt."""
    attempts, first = message.attempts + 1, message.first_tried_at or now
    columns = {
        "attempts": attempts,
        "first_tried_at": first,
        "tried_at": now,
        "status": attempt.status,
        "answer": attempt.text,
    }
    if attempt.is_delivered:
        return columns | {"state": State.DELIVERED, "due_at": None}
    if attempt.status == retry_schedule.GONE:  # not tried until a person enables the subscription
        return columns
    later = retry_schedule.next_try(attempts, first, now=now)
    if later is None:
        return columns | {"state": State.GIVEN_UP, "due_at": None}
    return columns | {"due_at": max(later, now + attempt.wait)}


def _note_success(claim: Claim[Subscription], *, now: datetime) -> None:
    """Clear the failure of an address that works again; after a long one, make its messages due."""
    row = claim.row
    if _was_away(row, now):
        _pending(row).filter(due_at__gt=now).update(due_at=now)
    if row.attempts or row.failing_since or row.problem:
        columns: dict[str, Any] = {"attempts": 0, "failing_since": None, "problem": ""}
        if not claim.write(columns):
            raise leases.LeaseLost
        row.attempts, row.failing_since, row.problem = 0, None, ""


def _was_away(row: Subscription, now: datetime) -> bool:
    return row.failing_since is not None and now - row.failing_since > BACK_AFTER


def _pending(row: Subscription) -> QuerySet[OutgoingMessage]:
    return OutgoingMessage.objects.filter(subscription=row.pk, state=State.PENDING)


def _pause(claim: Claim[Subscription], attempt: DeliveryResult, *, now: datetime) -> SendingOutcome:
    """Pause an address that accepts no message, longer each time (I11)."""
    attempts = claim.row.attempts + 1
    due_at = now + max(due.backoff(attempts), attempt.wait)
    _fail(claim, now=now, due_at=due_at, attempts=attempts, problem=attempt.text)
    return SendingOutcome.PUT_OFF


def _disable(claim: Claim[Subscription], problem: str, *, now: datetime) -> SendingOutcome:
    with outbox.changing(claim.row.workspace_id):
        _fail(claim, now=now, due_at=now, is_enabled=False, problem=problem)
    return SendingOutcome.DISABLED


def _fail(claim: Claim[Subscription], *, now: datetime, **columns: Any) -> None:
    """Write that an address fails, unless a person has changed or disabled it since the claim."""
    row, columns = claim.row, columns | {"failing_since": claim.row.failing_since or now}
    if not claim.finish_if(columns, address=row.address, is_enabled=True):
        claim.finish(due_at=columns["due_at"])

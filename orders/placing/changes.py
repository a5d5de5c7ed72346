"""Reschedule and cancel an order, as a user of the platform (§4.4, A34).

Each call is written to a `ChangeRequest` before it is sent, and its outcome afterwards. If it was
certainly not done, a call with the same token sends it again.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.models import due
from crm_sync.platform.errors import (
    AuthError,
    NotFoundError,
    OnHold,
    RejectedError,
    SyncError,
    TransientError,
    problem_of,
)
from crm_sync.platform.problems import explain
from crm_sync.platform.responses import Answer
from crm_sync.platform.work_kind import WorkKind
from crm_sync.translated import Text
from crm_sync.webhook import schedule
from orders.mirror.order_detail import known, observe
from orders.mirror.updates import ask_for
from orders.models import Assignment, ChangeRequest, Order, StatusChange
from orders.models.statuses import OrderStatus
from orders.placing.acting_user import find_user
from orders.placing.failures import (
    AlreadySent,
    KeyReused,
    NoSuchChoice,
    OutcomeUnknown,
    RefusedBefore,
)
from orders.placing.settlement import told_order
from orders.reads.read_schedule import SOON
from properties.push.plan import DEADLINE, LATE_EFFECT

Kind, Outcome = ChangeRequest.Kind, ChangeRequest.Outcome
# A read that ends this long after the unclear end of a call began when the call could not arrive
# any more.
SHOWN_AFTER = LATE_EFFECT + DEADLINE
NOT_CANCELLED = frozenset({OrderStatus.PLACED, OrderStatus.IN_PROGRESS, OrderStatus.COMPLETED})
SENT_BEFORE: dict[str, Text] = {
    Outcome.SENT: _("This was sent before: sent, no answer yet."),
    Outcome.DONE: _("This was sent before: done."),
    Outcome.NOT_DONE: _("This was sent before: not done."),
    Outcome.UNCLEAR: _("This was sent before: it is not known whether it was done."),
}
# What a caller does who repeats a token.
ADVICE: dict[tuple[str, str], Text] = {
    (Kind.CANCEL, Outcome.UNCLEAR): _("The order is read again: repeat the call in some minutes."),
    (Kind.RESCHEDULE, Outcome.UNCLEAR): _(
        "The order does not show it for certain: read the order, and use another key to send it"
        " again."
    ),
}


def reschedule(
    order: Order,
    *,
    user: str,
    assignment: str | None = None,
    proposed_at: datetime | None = None,
    reason: str = "",
    actor: AbstractBaseUser | None = None,
    program: str = "",
    token: UUID | None = None,
    now: datetime,
) -> Order:
    """Request another appointment: for one assignment, or for all that can be moved (A49).

    Args:
        user: a platform user id or a userReferenceId.
        assignment: the platform's id of the assignment.
        actor: the person here who requests it.
        program: the program that requests it, as the pages show it.
        token: identifies this request. A second call with the same token sends nothing, unless the
            first was certainly not done.

    Returns:
        the order as the mirror has it after the platform's answer.

    Raises:
        NoSuchChoice: no such user or assignment. Nothing was sent.
        AlreadySent: a call with this token was sent before. KeyReused if it had another content,
            RefusedBefore if the platform refused it.
        OutcomeUnknown: no clear answer. The order is due for a read, which shows the outcome.
        OnHold: a person holds orders (I34). Nothing was stored or sent.
        SyncError: the platform refused it (409: the state does not allow it), or is not there.
    """
    order.workspace.refuse_held(WorkKind.ORDERS)
    body = reschedule_body(
        order, user=user, assignment=assignment, proposed_at=proposed_at, reason=reason
    )
    client = order.workspace.client()
    by = {"asked_by": actor, "program": program}
    request = _remember(order, Kind.RESCHEDULE, body, by=by, token=token, now=now)
    return _send(request, lambda: client.reschedule_order(order.platform_id, body), now=now)


def cancel(
    order: Order,
    *,
    user: str,
    reason: str = "",
    actor: AbstractBaseUser | None = None,
    program: str = "",
    token: UUID | None = None,
    now: datetime,
) -> Order:
    """Cancel the order. Arguments, result and errors are as for `reschedule`."""
    order.workspace.refuse_held(WorkKind.ORDERS)
    body = cancel_body(order, user=user, reason=reason)
    client = order.workspace.client()
    by = {"asked_by": actor, "program": program}
    request = _remember(order, Kind.CANCEL, body, by=by, token=token, now=now)
    return _send(request, lambda: client.cancel_order(order.platform_id, body), now=now)


def reschedule_body(
    order: Order,
    *,
    user: str,
    assignment: str | None = None,
    proposed_at: datetime | None = None,
    reason: str = "",
) -> dict[str, Any]:
    """Return the body of PUT /v1/orders/{id}/reschedule. Reads the users, sends nothing."""
    _check_assignment(order, assignment)
    body = cancel_body(order, user=user, reason=reason)
    if assignment is not None:
        body["assignmentId"] = assignment
    if proposed_at is not None:
        body["proposedAt"] = proposed_at.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return body


def cancel_body(order: Order, *, user: str, reason: str = "") -> dict[str, Any]:
    """Return the body of PUT /v1/orders/{id}/cancel, with one of the two user fields (A34)."""
    return find_user(order.workspace, user).acting | ({"reason": reason} if reason else {})


def _check_assignment(order: Order, assignment: str | None) -> None:
    known_ids = Assignment.objects.filter(order=order).order_by("pk")
    ids = list(known_ids.values_list("platform_id", flat=True))
    # If we know no assignment yet, the platform decides.
    if assignment is not None and ids and assignment not in ids:
        text = gettext("order %(order)s has no assignment %(assignment)s; there is: %(names)s")
        named = {
            "order": order.platform_id,
            "assignment": repr(assignment),
            "names": ", ".join(ids),
        }
        raise NoSuchChoice(text % named)


def _remember(
    order: Order,
    kind: str,
    body: dict[str, Any],
    *,
    by: dict[str, Any],
    token: UUID | None,
    now: datetime,
) -> ChangeRequest:
    """Store the request, and make the order due soon, even if this process ends.

    If two requests with one token arrive at one moment, the unique column accepts only one of them,
    on both databases. The state of the order would allow both until one has an answer. In the same
    way, one conditional UPDATE lets only one send again what was not done.
    """
    if token is not None:
        _judge(token, now=now)
    soon = now + timedelta(seconds=settings.CALL_DEADLINE) + SOON
    columns = {"order": order, "kind": kind, "body": body, "sent_at": now, **by}
    with transaction.atomic():
        request, is_first = ChangeRequest.objects.get_or_create(
            token=token or uuid4(), defaults=columns
        )
        if request.body != body:
            raise KeyReused(gettext("this was sent before, with another content"))
        again = columns | {"outcome": Outcome.SENT, "words": "", "ended_at": None}
        undone = ChangeRequest.objects.filter(pk=request.pk, outcome=Outcome.NOT_DONE)
        if not is_first and undone.update(**again) != 1:
            raise _sent_before(request)
        _due_by(order, soon)
    return request


def _judge(token: UUID, *, now: datetime) -> None:
    """Settle an unclear cancellation if a read of its order shows the outcome, else request one.

    A reschedule stays unclear: other people may have caused what the order shows.
    """
    unclear = ChangeRequest.objects.filter(
        token=token, kind=Kind.CANCEL, outcome=Outcome.UNCLEAR, ended_at__isnull=False
    )
    for request in unclear.select_related("order"):
        shown_at = (request.ended_at or now) + SHOWN_AFTER
        if outcome := _shown(request.order, shown_at):
            same = unclear.filter(ended_at=request.ended_at)  # not sent again in between
            same.update(outcome=outcome, words="")
        else:
            _due_by(request.order, max(shown_at, now))


def _shown(order: Order, shown_at: datetime) -> str | None:
    """Return the outcome of a cancellation that a read shows (S10), or None if none does yet."""
    if not order.is_confirmed or order.read_at is None:
        return None
    if order.status == OrderStatus.CANCELLED:
        return Outcome.DONE
    is_over = order.read_at > shown_at and order.status in NOT_CANCELLED
    return Outcome.NOT_DONE if is_over else None


def _sent_before(request: ChangeRequest) -> AlreadySent:
    """Return the error for a repeated token, with the outcome and what to do."""
    request.refresh_from_db(fields=["outcome", "words"])  # another caller may have sent it again
    if request.outcome == Outcome.REFUSED:
        text = gettext("The platform refused this before, and it was not sent again: %(words)s")
        return RefusedBefore(text % {"words": request.words.words or request.words})
    advice = ADVICE.get((request.kind, request.outcome), "")
    return AlreadySent(f"{SENT_BEFORE[request.outcome]} {advice}".rstrip())


def _due_by(order: Order, at: datetime) -> None:
    Order.objects.filter(due.later(at), pk=order.pk).update(due_at=at)


def _send(request: ChangeRequest, call: Callable[[], Answer], *, now: datetime) -> Order:
    """Make the call and mirror its answer. No machine repeats it by itself."""
    order = request.order
    schedule.poll_soon(order.workspace_id, now=now)
    before = known(order)
    try:
        with order.workspace.calling():
            answer = call()
    except TransientError as error:
        if not error.unclear:
            _end(request, Outcome.NOT_DONE, error)
            raise
        _end(request, Outcome.UNCLEAR, error)
        ask_for(order, now=now)
        text = gettext("It is not known whether order %(order)s was changed.")
        unknown = text % {"order": order.platform_id}
        raise OutcomeUnknown(f"{unknown} {explain(error).sentence}") from error
    except (RejectedError, NotFoundError) as error:
        is_refused = isinstance(error, RejectedError)
        _end(request, Outcome.REFUSED if is_refused else Outcome.NOT_DONE, error)
        ask_for(order, now=now)  # the mirror may be out of date
        raise
    except (AuthError, OnHold) as error:
        _end(request, Outcome.NOT_DONE, error)
        raise
    _end(request, Outcome.DONE)
    answer, order_id = told_order(answer)
    if order_id == order.platform_id:
        observe(before, answer, source=StatusChange.Source.LOCAL, now=now)
    else:
        ask_for(order, now=now)  # done, but the answer does not contain the order
    return Order.objects.get(pk=order.pk)


def _end(request: ChangeRequest, outcome: str, error: SyncError | None = None) -> None:
    """Store the outcome, and what the platform said against it."""
    mine = ChangeRequest.objects.filter(pk=request.pk)
    words = problem_of(error) if error else ""
    mine.update(outcome=outcome, words=words, ended_at=timezone.now())

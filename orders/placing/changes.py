"""Reschedule and cancel an order, as a user of the platform (§4.4, A34)."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from crm_sync.platform.errors import AuthError, NotFoundError, RejectedError, TransientError
from crm_sync.platform.responses import Answer
from crm_sync.webhook import schedule
from orders.mirror.detail import known, observe
from orders.mirror.updates import ask_for
from orders.models import Assignment, Order, StatusChange
from orders.placing.errors import NoSuchChoice, OutcomeUnknown
from orders.placing.users import find_user

READ_DEADLINE = 8.0  # seconds to find the user: a person waits


def reschedule(
    order: Order,
    *,
    user: str,
    assignment: str | None = None,
    proposed_at: datetime | None = None,
    reason: str = "",
    now: datetime,
) -> Order:
    """Ask for another appointment: of one assignment, or of all that can be moved (A49).

    Args:
        user: a platform user id or a userReferenceId.
        assignment: the platform's id of the assignment.

    Returns:
        the order as the mirror has it after the platform's answer.

    Raises:
        NoSuchChoice: no such user or assignment; nothing was sent.
        OutcomeUnknown: no clear answer; the order is due for a read, which shows the outcome.
        SyncError: the platform refused it (409: the state does not allow it), or is not there.
    """
    body = reschedule_body(
        order, user=user, assignment=assignment, proposed_at=proposed_at, reason=reason
    )
    client = order.workspace.client()
    return _send(order, lambda: client.reschedule_order(order.platform_id, body), now=now)


def cancel(order: Order, *, user: str, reason: str = "", now: datetime) -> Order:
    """Cancel the order; arguments, result and errors as for `reschedule`."""
    body = cancel_body(order, user=user, reason=reason)
    client = order.workspace.client()
    return _send(order, lambda: client.cancel_order(order.platform_id, body), now=now)


def reschedule_body(
    order: Order,
    *,
    user: str,
    assignment: str | None = None,
    proposed_at: datetime | None = None,
    reason: str = "",
) -> dict[str, Any]:
    """The body of PUT /v1/orders/{id}/reschedule; reads the users, sends nothing."""
    _check_assignment(order, assignment)
    body = cancel_body(order, user=user, reason=reason)
    if assignment is not None:
        body["assignmentId"] = assignment
    if proposed_at is not None:
        body["proposedAt"] = proposed_at.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return body


def cancel_body(order: Order, *, user: str, reason: str = "") -> dict[str, Any]:
    """The body of PUT /v1/orders/{id}/cancel: exactly one of the two user fields (A34)."""
    person = find_user(order.workspace.client(deadline=READ_DEADLINE), user)
    return {"userId": str(person["id"])} | ({"reason": reason} if reason else {})


def _check_assignment(order: Order, assignment: str | None) -> None:
    known_ids = Assignment.objects.filter(order=order).order_by("pk")
    ids = list(known_ids.values_list("platform_id", flat=True))
    # Where we know none yet, the platform decides.
    if assignment is not None and ids and assignment not in ids:
        raise NoSuchChoice(f"{order} has no assignment {assignment!r}; there is: {', '.join(ids)}")


def _send(order: Order, call: Callable[[], Answer], *, now: datetime) -> Order:
    """Make the call and mirror its answer; never repeated by a machine."""
    schedule.poll_soon(order.workspace_id, now=now)
    before = known(order)
    try:
        answer = call()
    except TransientError as error:
        order.workspace.pause_for(error, now)
        if not error.unclear:
            raise
        ask_for(order, now=now)
        raise OutcomeUnknown(f"it is not known whether {order} was changed: {error}") from error
    except (RejectedError, NotFoundError):
        ask_for(order, now=now)  # what we show of it may be out of date
        raise
    except AuthError as error:
        order.workspace.pause_for(error, now)
        raise
    if isinstance(answer.document, dict):
        observe(before, answer, source=StatusChange.Source.LOCAL, now=now)
    else:
        ask_for(order, now=now)  # done, but the answer does not say how the order stands now
    return Order.objects.get(pk=order.pk)

"""The end of a placement: with its order, without one, or uncertain until a read (I9)."""

import re
from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import unquote, urlsplit

from django.db import IntegrityError, models, transaction
from django.utils import timezone
from django.utils.translation import gettext

from crm_sync.platform.errors import NotFoundError, RejectedError
from crm_sync.platform.responses import Answer
from crm_sync.sentence import Sentence, sentence
from orders.mirror.order_detail import OrderSnapshot, next_read, observe
from orders.mirror.platform_reading import detail, key
from orders.mirror.updates import ask_for, tie_to_property
from orders.models import Order, Placement, PlacementState as State, StatusChange
from orders.placing.duplicates import values_of
from orders.placing.failures import NoSuchChoice
from orders.placing.session import READ_DEADLINE
from orders.placing.transitions import move
from orders.reads.read_schedule import SOON

UNSETTLED = (State.SENDING, State.UNCERTAIN)
ADVICE = sentence(
    "It is not known whether the order was placed. Look at the platform before you place it again;"
    " when the order is heard of, this settles by itself."
)


def uncertain(placement: Placement, reason: Sentence) -> None:
    """Mark it uncertain. The order may exist, and may have been read. Never send it again."""
    mine = Placement.objects.filter(pk=placement.pk)
    changed = {"problem": _advised(reason), "uncertain_at": timezone.now()}
    move(mine, State.CONFIRMED, State.SENDING, to=State.UNCERTAIN, **changed)
    settle(placement)


def _advised(reason: Sentence) -> Sentence:
    return sentence("%(advice)s %(reason)s", advice=ADVICE, reason=reason)


def placed(placement: Placement, answer: Answer, *, now: datetime) -> None:
    """Tie the placement to the order in the platform's answer (A35), and mirror that order.

    The order's first callbacks may arrive before this answer. They are then newer, see `observe`.
    """
    answer, order_id = told_order(answer)
    if not order_id:
        uncertain(placement, sentence("The platform's good answer names no order."))
        return
    soon = now + SOON  # if the process stops before the answer is stored, the order is read
    with transaction.atomic():
        order, is_first = Order.objects.get_or_create(
            workspace_id=placement.workspace_id,
            platform_id=order_id,
            defaults={"created_at": now, "due_at": soon},
        )
        mine = Placement.objects.filter(pk=placement.pk)
        move(mine, *UNSETTLED, to=State.PLACED, order=order, problem="")
        _tie(order, placement, now=now)
    # As it was before the call: unknown, with no watermark.
    before = order if is_first else _bare(order)
    observe(OrderSnapshot(before), answer, source=StatusChange.Source.LOCAL, now=now)
    _complete(order, placement, now=now, until_asked=soon)


def told_order(answer: Answer) -> tuple[Answer, str]:
    """Return the answer with the order as its document, and the id of the order, or "".

    The interface shows neither the content of the answer nor the name of the order's id in it
    (A43). The order may be in an object of its own, or only the header `Location` may name it.
    """
    document = answer.cleaned if isinstance(answer.cleaned, dict) else {}
    inner = (document.get(name) for name in ("order", "data"))
    for told in (document, *(one for one in inner if isinstance(one, dict))):
        if order_id := key(told, "orderId", "orderPublicId", "id"):
            return replace(answer, document=told), order_id
    found = re.search(r"/orders/([^/]+)/?$", urlsplit(answer.location).path)
    order_id = key({"id": unquote(found[1])}, "id") if found else ""
    return replace(answer, document=document), order_id


def _bare(order: Order) -> Order:
    return Order(pk=order.pk, workspace_id=order.workspace_id, platform_id=order.platform_id)


def _complete(order: Order, placement: Placement, *, now: datetime, until_asked: datetime) -> None:
    """Add data of the placement that the answer may lack, and schedule the next read.

    Args:
        until_asked: the time of the next read if nobody has requested one since.
    """
    order.refresh_from_db()
    unnamed = Order.objects.filter(pk=order.pk, user_platform_id="")
    unnamed.update(user_platform_id=placement.user_platform_id)
    unasked = models.Q(due_at=None) | models.Q(due_at=until_asked)
    mine = Order.objects.filter(unasked, pk=order.pk)
    # If the answer only names the order, everything else must be read.
    due_at = next_read(order, contradicts=False, now=now) if order.status else now
    mine.update(due_at=due_at)


def _tie(order: Order, placement: Placement, *, now: datetime) -> None:
    tie_to_property(
        order,
        reference=placement.object_reference_id,
        property_id=placement.property_platform_id,
        now=now,
    )


def settle(placement: Placement) -> bool:
    """Tie an UNCERTAIN placement to the only order that fits.

    An order fits if it was read, has the same property and user, no other products as far as they
    are known, was created on the platform after the placement was sent, and is tied to no
    placement. If two orders fit one placement, or two placements fit one order, a person has to
    decide.

    Returns:
        True if it is settled now.
    """
    wanted = values_of(placement)
    created = _candidates(placement).prefetch_related("assignments").order_by("placed_at", "pk")
    found = [order for order in created if values_of(order) <= wanted]
    mine = Placement.objects.filter(pk=placement.pk, state=State.UNCERTAIN)
    if len(found) > 1:
        one, other = (order.platform_id for order in found[:2])
        two = sentence("It could be order %(one)s or %(other)s.", one=one, other=other)
        mine.update(problem=_advised(two))
    if len(found) != 1 or _has_rival(placement, found[0]):
        return False
    try:
        with transaction.atomic():
            changed = {"order": found[0], "problem": ""}
            return move(mine, State.UNCERTAIN, to=State.PLACED, **changed) == 1
    except IntegrityError:  # another placement was tied to that order at the same time
        return False


def _candidates(placement: Placement) -> models.QuerySet[Order]:
    if not placement.property_platform_id or not placement.user_platform_id:
        return Order.objects.none()
    return Order.objects.filter(
        workspace_id=placement.workspace_id,
        property_platform_id=placement.property_platform_id,
        user_platform_id=placement.user_platform_id,
        read_at__isnull=False,
        placed_at__gte=placement.not_before,
        placement=None,
    )


def _has_rival(placement: Placement, order: Order) -> bool:
    others = Placement.objects.filter(
        workspace_id=placement.workspace_id,
        property_platform_id=placement.property_platform_id,
        user_platform_id__in=(placement.user_platform_id, ""),
        state__in=UNSETTLED,
        not_before__lte=order.placed_at,
    )
    return others.exclude(pk=placement.pk).exists()


def settle_all(workspace_id: int) -> int:
    """Settle the placements of a workspace that can be settled. Return their number."""
    waiting = Placement.objects.filter(workspace_id=workspace_id, state=State.UNCERTAIN)
    return sum(settle(placement) for placement in waiting)


def decide(placement: Placement, *, order_id: str | None, now: datetime) -> bool:
    """Settle an UNCERTAIN placement, after a person has checked the platform (I9).

    Args:
        order_id: the platform's id of the order that it became, or None if it was not placed.

    Returns:
        False if it is not UNCERTAIN (any more), or that order belongs to another placement.

    Raises:
        NoSuchChoice, SyncError: as `check_order`. Nothing was settled.
    """
    if placement.state != State.UNCERTAIN:
        return False
    mine = Placement.objects.filter(pk=placement.pk)
    if order_id is None:
        problem = sentence("A person looked on the platform: it was not placed.")
        return move(mine, State.UNCERTAIN, to=State.FAILED, problem=problem) == 1
    check_order(placement, order_id)
    try:
        with transaction.atomic():
            order, _ = Order.objects.get_or_create(
                workspace_id=placement.workspace_id,
                platform_id=order_id,
                defaults={"created_at": now},
            )
            done = move(mine, State.UNCERTAIN, to=State.PLACED, order=order, problem="") == 1
            if done:
                _tie(order, placement, now=now)
                ask_for(order, now=now)
            transaction.set_rollback(not done)
    except IntegrityError:  # that order has a placement already
        return False
    return done


def check_order(placement: Placement, order_id: str) -> None:
    """Read an order that a person names, because nothing corrects a wrong one later (A35).

    Raises:
        NoSuchChoice: the platform has no such order, or it is one of another property.
        SyncError: the platform did not answer well.
    """
    try:
        with placement.workspace.calling(deadline=READ_DEADLINE) as client:
            answer = client.get_order(order_id)
    except (NotFoundError, RejectedError) as error:
        text = gettext(
            "the platform has no order %(order)s: look up its id there, or say that it was not"
            " placed"
        )
        raise NoSuchChoice(text % {"order": repr(order_id)}) from error
    named = Order(workspace_id=placement.workspace_id, platform_id=order_id)
    if other := _other_property(placement, detail(named, answer)):
        text = gettext(
            "order %(order)s is one of property %(other)s, not of %(property)s: look on the"
            " platform for the order of this property"
        )
        mine = placement.object_reference_id
        raise NoSuchChoice(text % {"order": order_id, "other": other, "property": mine})


def _other_property(placement: Placement, document: dict[str, Any]) -> str:
    """Return the property that an order names, by id or else by reference; "" if it is ours.

    It is ours also if the order names none, since the platform may leave both out.
    """
    reference = key(document, "objectReferenceId")
    property_id = key(document, "realEstatePropertyId")
    if property_id and placement.property_platform_id:
        is_other = property_id != placement.property_platform_id
    else:
        is_other = bool(reference) and reference != placement.object_reference_id
    return (reference or property_id) if is_other else ""

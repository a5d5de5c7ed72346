"""An order that a person prepares step by step. Each step is saved (A30-A33, I9).

It is DRAFT while the person chooses, and READY once they can review it. Every write names the
revision that the window showed, so two windows never overwrite each other.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from crm_sync.models import Workspace
from crm_sync.platform.errors import SyncError, problem_of
from crm_sync.sentence import sentence
from orders.models import Placement, PlacementState as State, PlatformUser
from orders.models.placement import OPEN_STATES
from orders.placing import session
from orders.placing.acting_user import proposed_user
from orders.placing.dispatch import has_to_be_pushed
from orders.placing.failures import ChangedMeanwhile, NoSuchChoice
from orders.placing.session_offer import Document
from orders.placing.transitions import check
from properties.models import Property

CHOSEN = ("products", "options", "instructions")
KEPT = timedelta(days=30)  # lifetime of a draft that nobody confirms


@dataclass(frozen=True)
class Choices:
    """A person's choices: the user, the quantity of each product id, an option for each part."""

    user: PlatformUser
    quantities: Mapping[str, int]
    instructions: Mapping[str, str]


def open_drafts(account: User) -> QuerySet[Placement]:
    """Return the placements that this person has begun and not confirmed."""
    return Placement.objects.filter(created_by=account, state__in=OPEN_STATES)


def is_open(placement: Placement) -> bool:
    """Return whether its choices can still be changed."""
    return placement.state in OPEN_STATES


def forget_old(account: User, *, now: datetime) -> None:
    """Delete the old placements that this person has begun and not confirmed."""
    open_drafts(account).filter(created_at__lt=now - KEPT).delete()


def begin(property_: Property, *, account: User, now: datetime) -> Placement:
    """Return this person's draft for the property, or a new one without any product.

    Raises:
        Property.DoesNotExist: it was linked at this moment, and is another row now (I36).
    """
    forget_old(account, now=now)
    begun = open_drafts(account).filter(real_estate_property=property_, group=None).order_by("-pk")
    if (found := begun.first()) is not None:
        return found
    draft = new_draft(property_, first_choices(property_.workspace, account), now=now)
    try:
        with transaction.atomic():
            draft.save(force_insert=True)
    except IntegrityError:
        if (found := begun.first()) is None:
            raise Property.DoesNotExist from None
        return found  # after a double click, the other request made the draft
    return draft


def first_choices(workspace: Workspace, account: User) -> dict[str, Any]:
    """Return the columns with which a draft begins: the user who acts, and no product.

    A person to whom no user is tied gets the user of their last order.
    """
    last = last_time(workspace.pk, account)
    user = proposed_user(workspace, account) or (last and last_user(last))
    return {
        "workspace": workspace,
        "user_platform_id": user.platform_id if user else "",
        "user_reference_id": user.user_reference_id if user else "",
        "created_by": account,
    }


def new_draft(property_: Property, choices: Mapping[str, Any], *, now: datetime) -> Placement:
    """Return an unsaved draft for a property."""
    return Placement(
        real_estate_property=property_,
        object_reference_id=property_.object_reference_id or "",
        property_platform_id=property_.platform_id or "",
        not_before=now,
        created_at=now,
        **choices,
    )


def last_time(workspace_id: int, account: User) -> Placement | None:
    """Return what a person ordered last in a workspace, or None."""
    mine = Placement.objects.filter(workspace=workspace_id, created_by=account)
    ordered = mine.filter(confirmed_at__isnull=False).exclude(products=[])
    return ordered.order_by("-confirmed_at", "-pk").first()


def fill(draft: Placement, before: Placement, *, now: datetime) -> None:
    """Write the choices of another placement to a draft, and find them in what is offered now.

    Raises:
        ChangedMeanwhile, IntegrityError: as `choose`.
    """
    columns: dict[str, Any] = {name: getattr(before, name) for name in CHOSEN}
    _save(draft, state=State.DRAFT, due_at=None, problem="", **columns)
    load(draft, now=now)


def last_user(placement: Placement) -> PlatformUser | None:
    """Return the user who ordered, if the platform still has that user."""
    mine = PlatformUser.objects.filter(workspace_id=placement.workspace_id, gone_at=None)
    key = placement.user_platform_id
    return mine.filter(platform_id=key).first() if key else None


def has_user(placement: Placement) -> bool:
    """Return whether the user who orders is known."""
    return bool(placement.user_platform_id or placement.user_reference_id)


def load(placement: Placement, *, now: datetime) -> None:
    """Read what can be chosen, and write it to the draft. An error is written to `problem`.

    What was READY is a draft again, because its review showed another offer. Without a user, or
    before the property is on the platform, there is nothing to read.

    Raises:
        ChangedMeanwhile, IntegrityError: as `choose`.
    """
    columns: dict[str, Any] = {"problem": ""}
    try:
        if has_user(placement) and not has_to_be_pushed(placement.real_estate_property, now=now):
            renewal = session.renew(placement)
            columns |= renewal.columns
            if renewal.missing:
                columns["problem"] = sentence(
                    "Not offered, and left out: %(choices)s. Choose again.", choices=renewal.missing
                )
    except (NoSuchChoice, SyncError) as error:
        columns = {"problem": problem_of(error)}
    _save(placement, state=State.DRAFT, **columns)


def choose(placement: Placement, choices: Choices, *, now: datetime) -> bool:
    """Save the choices, and make the draft READY to be reviewed if they can be ordered.

    Returns:
        False if it is still a draft. `problem` contains the reason.

    Raises:
        ChangedMeanwhile: another window changed or confirmed it. Nothing was saved.
        IntegrityError: this person has begun another draft for the property.
    """
    user = choices.user
    if (user.platform_id, user.user_reference_id) != (
        placement.user_platform_id,
        placement.user_reference_id,
    ):
        placement.session_id = ""  # a session belongs to its user (A30)
    chosen: dict[str, Any] = {
        "session_id": placement.session_id,
        "user_platform_id": user.platform_id,
        "user_reference_id": user.user_reference_id,
    }
    if placement.offered:  # without an offer, only the user could be chosen
        chosen["products"] = _products(placement.offered, choices.quantities)
        chosen["instructions"] = dict(choices.instructions)
    _save(placement, state=State.DRAFT, due_at=None, problem="", **chosen)
    load(placement, now=now)
    if placement.problem or not placement.products or not placement.session_id:
        return False
    _save(placement, state=State.READY)
    return True


def _products(offered: list[Document], quantities: Mapping[str, int]) -> list[Document]:
    wanted = [(item, quantities.get(str(item.get("id")), 0)) for item in offered]
    return [item | {"quantity": quantity} for item, quantity in wanted if quantity > 0]


def _save(placement: Placement, **columns: Any) -> None:
    """Write columns, if the row has not changed since this window showed it.

    Raises:
        ChangedMeanwhile: it has changed.
        IntegrityError: this person has another draft for the property.
    """
    check(State(placement.state), columns.get("state", placement.state))
    seen = Placement.objects.filter(
        pk=placement.pk, revision=placement.revision, state=placement.state
    )
    columns["revision"] = placement.revision + 1
    with transaction.atomic():
        count = seen.update(**columns)
    if count != 1:
        raise ChangedMeanwhile(f"{placement} was changed in another window")
    for column, value in columns.items():
        setattr(placement, column, value)

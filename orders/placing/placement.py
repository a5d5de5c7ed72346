"""Preparing an order in one go, as a command does it: session, products, instructions.

Each step is remembered before the next one (A30-A33).
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from crm_sync.models import Workspace
from crm_sync.platform.errors import SyncError, problem_of
from orders.models import Placement
from orders.models import PlacementState as State
from orders.placing import session, settlement
from orders.placing.choices import chosen_instructions, chosen_products
from orders.placing.errors import AlreadySent, NoSuchChoice
from orders.placing.users import find_user
from properties.models import Property


def prepare(
    workspace: Workspace,
    *,
    reference: str,
    user: str,
    products: Sequence[str],
    instructions: Mapping[str, str | None] | None = None,
    now: datetime,
    is_kept: bool = True,
) -> Placement:
    """Choose everything that an order needs; the placement is READY, and nothing is ordered.

    Args:
        user: a platform user id or a userReferenceId.
        products: product ids or values such as GROUND_PHOTO; one named twice is ordered twice.
        instructions: "billing", "organization", "delivery" to the id of an option; the first option
            where one is left out.
        is_kept: whether the placement is saved, step by step.

    Raises:
        NoSuchChoice: a thing that was named does not exist.
        SyncError: the session could not be opened. A placement that is kept is FAILED then.
    """
    placement = _draft(workspace, reference=reference, user=user, now=now)
    if is_kept:
        placement.save(force_insert=True)
    try:
        placement.offered = session.offered_products(placement)
        placement.products = chosen_products(placement.offered, products)
        _keep(placement, "offered", "products", is_kept=is_kept)
        placement.options = session.read_options(placement)
        placement.instructions = chosen_instructions(placement.options, instructions or {})
        placement.state = State.READY
        _keep(placement, "options", "instructions", "not_before", "state", is_kept=is_kept)
    except (NoSuchChoice, SyncError) as error:
        if is_kept:
            settlement.end(placement, State.FAILED, problem_of(error))
        raise
    return placement


def _draft(workspace: Workspace, *, reference: str, user: str, now: datetime) -> Placement:
    """Find the user and open the session (A30); the placement is not saved yet."""
    person = find_user(workspace, user)
    mine = Property.objects.filter(workspace=workspace, object_reference_id=reference).first()
    placement = Placement(
        workspace=workspace,
        real_estate_property=mine,
        object_reference_id=reference,
        property_platform_id=(mine.platform_id if mine else None) or "",
        user_platform_id=person.platform_id,
        user_reference_id=person.user_reference_id,
        not_before=now,
        created_at=now,
    )
    session.open_session(placement)
    return placement


def _keep(placement: Placement, *columns: str, is_kept: bool) -> None:
    """Remember a step, as long as it is still a draft."""
    values = {column: getattr(placement, column) for column in columns}
    mine = Placement.objects.filter(pk=placement.pk, state=State.DRAFT)
    if is_kept and mine.update(**values) != 1:
        raise AlreadySent(f"{placement} is no draft any more")

"""An order that a program or a command wishes: prepared, confirmed and stored at once (I9).

A wish for a property that is not on the platform yet has no session. A worker pushes the property
first, then finds the products by the names of the wish. Nothing is stored if the platform is known
to refuse a choice.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from crm_sync.models import Workspace
from orders.models import Placement, PlacementState as State
from orders.placing import confirmation, session
from orders.placing.acting_user import find_user
from orders.placing.dispatch import is_on_platform
from orders.placing.failures import KeyReused
from orders.placing.session_offer import chosen_instructions, chosen_products
from properties.models import Property


def prepare(
    workspace: Workspace,
    *,
    reference: str,
    user: str,
    products: Sequence[str],
    instructions: Mapping[str, str | None] | None = None,
    now: datetime,
) -> Placement:
    """Choose everything that an order needs. Return a placement that is READY and not saved.

    Args:
        user: a platform user id or a userReferenceId.
        products: product ids or values such as GROUND_PHOTO. A product that is named twice is
            ordered twice.
        instructions: the id of an option for "billing", "organization", "delivery". If one is
            missing, the first option is used.

    Raises:
        NoSuchChoice: a named choice does not exist.
        SyncError: the session could not be opened.
    """
    person, chosen = find_user(workspace, user), instructions or {}
    mine = Property.objects.filter(workspace=workspace, object_reference_id=reference).first()
    placement = Placement(
        workspace=workspace,
        real_estate_property=mine,
        object_reference_id=reference,
        property_platform_id=(mine.platform_id if mine else None) or "",
        user_platform_id=person.platform_id,
        user_reference_id=person.user_reference_id,
        state=State.READY,
        not_before=now,
        created_at=now,
    )
    if is_on_platform(mine):
        columns = _of_session(placement, products, chosen)
    else:
        columns = _by_name(products, chosen)
    for column, value in columns.items():
        setattr(placement, column, value)
    return placement


def _of_session(
    placement: Placement, products: Sequence[str], instructions: Mapping[str, str | None]
) -> dict[str, Any]:
    """Open a session, and return its columns with the choices found in its offer."""
    columns = session.open_session(placement)
    workspace, opened = placement.workspace, columns["session_id"]
    offered = session.offered_products(workspace, opened)
    picked = chosen_products(offered, products)
    columns |= {"offered": offered, "products": picked}
    columns |= session.read_options(workspace, opened, picked)
    return columns | {"instructions": chosen_instructions(columns["options"], instructions)}


def _by_name(products: Sequence[str], instructions: Mapping[str, str | None]) -> dict[str, Any]:
    """Return the columns for the names alone: a worker finds them once there is a session."""
    named = Counter(products)
    return {
        "products": [{"id": one, "product": one, "quantity": named[one]} for one in named],
        "instructions": {part: key for part, key in instructions.items() if key is not None},
    }


def submit(ready: Placement, *, now: datetime) -> None:
    """Store a prepared placement and confirm it, in one transaction.

    Raises:
        IntegrityError: its key was used before.
    """
    with transaction.atomic():
        ready.save(force_insert=True)
        mine = Placement.objects.filter(pk=ready.pk)
        confirmation.confirm(mine, workspace_id=ready.workspace_id, now=now)
    ready.refresh_from_db()


def place_once(
    workspace: Workspace,
    *,
    key: str,
    program: str,
    reference: str,
    user: str,
    products: Sequence[str],
    instructions: Mapping[str, str | None],
    now: datetime,
) -> tuple[Placement, bool]:
    """Return the placement of this key, and whether it is new.

    Args:
        key: identifies this order in the workspace. A second call with it places nothing.
        program: the name that the pages show.
        reference, user, products, instructions: as for `prepare`.

    Raises:
        KeyReused: the key names another order.
        NoSuchChoice, SyncError: it cannot be ordered. Nothing was stored, and the key is free.
    """
    wish = [reference, user, sorted(products), dict(instructions)]
    digest = hashlib.sha256(json.dumps(wish, sort_keys=True).encode()).hexdigest()
    mine = Placement.objects.filter(workspace=workspace, idempotency_key=key)
    for is_last in (False, True):
        if (known := mine.first()) is not None:
            return _same(known, digest), False
        ready = prepare(
            workspace,
            reference=reference,
            user=user,
            products=products,
            instructions=instructions,
            now=now,
        )
        ready.idempotency_key, ready.idempotency_digest, ready.program = key, digest, program
        try:
            submit(ready, now=now)
            break
        except IntegrityError:
            # The same call arrived twice, or its property was linked and is another row now (I36).
            if is_last:
                raise
    return ready, True


def _same(known: Placement, digest: str) -> Placement:
    if known.idempotency_digest != digest:
        raise KeyReused(f"this key was used before, for another order: {known}")
    return known

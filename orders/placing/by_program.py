"""An order that a program places: prepared, confirmed and stored in one call (I9).

Nothing is stored before everything can be ordered. Then one INSERT takes the key of the caller,
which is unique in the workspace, and confirms the placement. A worker sends it like any other.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db import IntegrityError, transaction

from crm_sync.models import Workspace
from crm_sync.work.doorbell import doorbell
from orders.models import Placement
from orders.placing import placement
from orders.placing.confirmation import QUEUE
from orders.placing.errors import KeyReused, NoSuchChoice
from orders.placing.first_push import has_to_be_pushed
from properties.models import Property


def place_once(
    workspace: Workspace,
    *,
    key: str,
    program: str,
    property_: Property,
    user: str,
    products: Sequence[str],
    instructions: Mapping[str, str | None],
    now: datetime,
) -> tuple[Placement, bool]:
    """Return the placement of this key, and whether it is new.

    Args:
        key: names this order in the workspace; a second call with it places nothing.
        program: what the pages show as who placed it.
        user, products, instructions: as for `placement.prepare`.

    Raises:
        KeyReused: the key names another order.
        NoSuchChoice, SyncError: it cannot be ordered; nothing was stored, and the key is free.
    """
    reference = property_.object_reference_id or ""
    wish = [reference, user, sorted(products), dict(instructions)]
    digest = hashlib.sha256(json.dumps(wish, sort_keys=True).encode()).hexdigest()
    mine = Placement.objects.filter(workspace=workspace, idempotency_key=key)
    if (known := mine.first()) is not None:
        return _same(known, digest), False
    if has_to_be_pushed(property_, now=now):
        raise NoSuchChoice(f"{property_} is not on the platform yet and is pushed now: try again.")
    ready = placement.prepare(
        workspace,
        reference=reference,
        user=user,
        products=products,
        instructions=instructions,
        now=now,
        is_kept=False,
    )
    ready.idempotency_key, ready.idempotency_digest, ready.program = key, digest, program
    ready.confirmed_at = ready.due_at = now
    try:
        with transaction.atomic():
            ready.save(force_insert=True)
    except IntegrityError:  # the same call came twice at once: the other one was stored
        return _same(mine[0], digest), False
    doorbell.ring(QUEUE, workspace.pk)
    return ready, True


def _same(known: Placement, digest: str) -> Placement:
    if known.idempotency_digest != digest:
        raise KeyReused(f"this key was used before, for another order: {known}")
    return known

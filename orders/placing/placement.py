"""Placing an order: at most once (I9, A30-A33).

Session, products and instructions are read first and remembered step by step. Then the one POST
goes out behind a conditional UPDATE. Where its outcome stays unclear no machine repeats it: the
placement waits for the order that settles it (see `settlement`), or for a person.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User

from crm_sync.models import Workspace
from crm_sync.platform.client import Client
from crm_sync.platform.errors import (
    AuthError,
    NotFoundError,
    RejectedError,
    SyncError,
    TransientError,
)
from crm_sync.platform.responses import Answer
from crm_sync.text import clean
from crm_sync.webhook import schedule
from orders.models import Placement
from orders.models import PlacementState as State
from orders.placing import settlement
from orders.placing.errors import AlreadySent, NoSuchChoice
from orders.placing.users import find_user
from properties.models import Property

READ_DEADLINE = 8.0  # seconds for each of the reads: a person waits for them
PARTS = ("billing", "organization", "delivery")  # of the instructions (A32)


def place(
    workspace: Workspace,
    *,
    reference: str,
    user: str,
    products: Sequence[str],
    billing: str | None = None,
    organization: str | None = None,
    delivery: str | None = None,
    now: datetime,
    actor: User | None = None,
) -> Placement:
    """Place an order for the property with `reference`, and say how it ended.

    Args:
        user: a platform user id or a userReferenceId.
        products: product ids or values such as GROUND_PHOTO; one named twice is ordered twice.
        billing, organization, delivery: ids of instructions; the first option where left out.
        actor: who of our people places it.

    Returns:
        the placement, PLACED with its order, FAILED (nothing was ordered) or UNCERTAIN.

    Raises:
        NoSuchChoice: a thing that was named does not exist; nothing was sent.
        SyncError: the session could not be prepared; nothing was ordered.
    """
    placement = draft(workspace, reference=reference, user=user, now=now, actor=actor)
    placement.save(force_insert=True)
    chosen = {"billing": billing, "organization": organization, "delivery": delivery}
    try:
        add_products(placement, products)
        _keep(placement, "products")
        add_instructions(placement, chosen, now=now)
        _keep(placement, "instructions", "not_before", state=State.READY)
    except (NoSuchChoice, SyncError) as error:
        settlement.end(placement, State.FAILED, f"{error}")
        raise
    return send(placement, now=now)


def draft(
    workspace: Workspace,
    *,
    reference: str,
    user: str,
    now: datetime,
    actor: User | None = None,
) -> Placement:
    """Find the user and open the session (A30); the placement is not saved yet."""
    client = workspace.client(deadline=READ_DEADLINE)
    person = find_user(client, user)
    mine = Property.objects.filter(workspace=workspace, object_reference_id=reference).first()
    placement = Placement(
        workspace=workspace,
        real_estate_property=mine,
        object_reference_id=reference,
        property_platform_id=(mine.platform_id if mine else None) or "",
        user_platform_id=str(person["id"]),
        user_reference_id=str(person.get("userReferenceId") or ""),
        created_at=now,
        created_by=actor,
    )
    try:
        session = client.open_session(session_body(placement)).cleaned
    except NotFoundError as error:
        hint = "push it first" if mine else "import and push it first"
        raise NoSuchChoice(
            f"no property {reference!r} on the platform: {hint} ({error})"
        ) from error
    if not isinstance(session, dict) or not session.get("id"):
        raise TransientError("POST /v1/sessions answered without a session", unclear=False)
    placement.session_id = str(session["id"])
    property_id = session.get("realEstatePropertyId") or placement.property_platform_id
    placement.property_platform_id = str(property_id)
    return placement


def add_products(placement: Placement, names: Sequence[str]) -> None:
    """Choose products of the session by id or value, with their quantity (A31)."""
    offered = clean(_reader(placement).get_products(placement.session_id))[0]
    if not names:
        raise NoSuchChoice(f"name at least one product; there is: {_offer(offered)}")
    chosen = Counter(_product_id(name, offered) for name in names)
    placement.products = [
        item | {"quantity": chosen[str(item.get("id"))]}
        for item in offered
        if str(item.get("id")) in chosen
    ]


def _product_id(name: str, offered: list[dict[str, Any]]) -> str:
    for key in ("id", "product"):
        found = [str(item.get("id")) for item in offered if str(item.get(key) or "") == name]
        if len(found) == 1:
            return found[0]
        if found:
            raise NoSuchChoice(f"product {name!r} is several: say which of {', '.join(found)}")
    raise NoSuchChoice(f"no product {name!r} in this session; there is: {_offer(offered)}")


def _offer(offered: list[dict[str, Any]]) -> str:
    return ", ".join(f"{item.get('product')} ({item.get('id')})" for item in offered) or "none"


def add_instructions(
    placement: Placement, chosen: Mapping[str, str | None], *, now: datetime
) -> None:
    """Choose the instructions, the first option where one is left out (A32)."""
    answer = _reader(placement).get_instructions(placement.session_id, _lines(placement))
    document = answer.cleaned
    options = document if isinstance(document, dict) else {}
    picked = {part: _option(part, chosen.get(part), options.get(part)) for part in PARTS}
    placement.instructions = {part: key for part, key in picked.items() if key is not None}
    # The platform's own clock before the sending: what it places later may be ours (I29).
    placement.not_before = answer.as_of or now


def _option(part: str, wanted: str | None, options: Any) -> str | None:
    listed = options if isinstance(options, list) else []
    keys = {
        str(one["id"]): one.get("label") for one in listed if isinstance(one, dict) and "id" in one
    }
    if wanted is None:
        return next(iter(keys), None)
    if wanted in keys:
        return wanted
    there = ", ".join(f"{key} ({label})" if label else key for key, label in keys.items())
    raise NoSuchChoice(f"no {part} instruction {wanted!r}; there is: {there or 'none'}")


def session_body(placement: Placement) -> dict[str, Any]:
    """The body of POST /v1/sessions (A30); by platform id once we know that (A44)."""
    mine = placement.real_estate_property
    if mine is not None and mine.platform_id:
        return {"userId": placement.user_platform_id, "realEstatePropertyId": mine.platform_id}
    return {
        "userId": placement.user_platform_id,
        "objectReferenceId": placement.object_reference_id,
    }


def order_body(placement: Placement) -> dict[str, Any]:
    """The body of POST /v1/orders (A33)."""
    return {
        "sessionId": placement.session_id,
        "products": _lines(placement),
        "instructions": placement.instructions,
    }


def send(placement: Placement, *, now: datetime) -> Placement:
    """Send a READY placement, once, whoever else tries.

    Returns:
        the placement as it stands then: PLACED, FAILED or UNCERTAIN.

    Raises:
        AlreadySent: it is not READY (any more).
        AuthError: the workspace has no credentials; it stays READY.
    """
    client = placement.workspace.client()
    ready = Placement.objects.filter(pk=placement.pk, state=State.READY)
    if ready.update(state=State.SENDING, sent_at=now) != 1:
        raise AlreadySent(f"{placement} is not ready to be sent")
    answer = _post(placement, client, now=now)
    if answer is not None:
        settlement.placed(placement, answer, now=now)
    schedule.poll_soon(placement.workspace_id, now=now)
    placement.refresh_from_db()
    return placement


def _post(placement: Placement, client: Client, *, now: datetime) -> Answer | None:
    """Make the one call; None when it failed or is unclear, which is then written to the row."""
    try:
        return client.place_order(order_body(placement))
    except (RejectedError, NotFoundError, AuthError, TransientError) as error:
        placement.workspace.pause_for(error, now)
        if isinstance(error, TransientError) and error.unclear:
            settlement.uncertain(placement, f"{error}")
        else:
            settlement.end(placement, State.FAILED, f"{error}")
        return None


def _lines(placement: Placement) -> list[dict[str, Any]]:
    return [{"id": str(item["id"]), "quantity": item["quantity"]} for item in placement.products]


def _reader(placement: Placement) -> Client:
    return placement.workspace.client(deadline=READ_DEADLINE)


def _keep(placement: Placement, *columns: str, state: State = State.DRAFT) -> None:
    """Remember a step, as long as it is still a draft."""
    values = {column: getattr(placement, column) for column in columns}
    mine = Placement.objects.filter(pk=placement.pk, state=State.DRAFT)
    if mine.update(**values, state=state) != 1:
        raise AlreadySent(f"{placement} is no draft any more")
    placement.state = state

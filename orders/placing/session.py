"""The reads before an order: its session, what it offers, the instructions for it (A30-A32)."""

from typing import Any

from django.utils import timezone

from crm_sync.platform.client import Client
from crm_sync.platform.errors import NotFoundError, RejectedError, TransientError
from crm_sync.text import clean, plain
from orders.mirror.platform_reading import key
from orders.models import Placement
from orders.placing.choices import (
    Document,
    kept_instructions,
    kept_products,
    lines,
    session_body,
)
from orders.placing.errors import NoSuchChoice
from orders.platform_users import user_list

READ_DEADLINE = 8.0  # seconds for each of the reads: a person waits for them
# What `renew` writes on the placement.
RENEWED = (
    *("session_id", "property_platform_id", "user_platform_id", "not_before"),
    *("offered", "options", "products", "instructions"),
)


def renew(placement: Placement) -> list[str]:
    """Note on the placement what can be ordered now; it is not saved.

    A session that is gone is opened anew, with the same choices: products by id, else by value,
    instructions by id, else by label. Prices are those of now.

    Returns:
        in words, each choice that is not offered any more; it is left out.

    Raises:
        NoSuchChoice: the platform does not know the property, or the user.
        SyncError: the platform did not answer well.
    """
    if placement.session_id:
        try:
            return _read(placement)
        except (NotFoundError, RejectedError) as error:
            if not _is_gone(error):
                raise
    open_session(placement)
    return _read(placement)


def renewed(placement: Placement) -> dict[str, Any]:
    """Return the columns that `renew` has filled."""
    return {column: getattr(placement, column) for column in RENEWED}


def _is_gone(error: NotFoundError | RejectedError) -> bool:
    """Tell whether a session has expired or has served its order (A31, A33); none was placed."""
    return isinstance(error, NotFoundError) or error.status == 409


def _read(placement: Placement) -> list[str]:
    offered = offered_products(placement)
    placement.products, missing = kept_products(placement.products, offered)
    placement.offered = offered
    options = read_options(placement) if placement.products else _all_options(placement)
    before = placement.options
    placement.instructions, unknown = kept_instructions(placement.instructions, before, options)
    placement.options = options
    return [*missing, *unknown]


def _all_options(placement: Placement) -> Document:
    """Return the options for all that is offered, as long as nothing is chosen."""
    everything = Placement(workspace=placement.workspace, session_id=placement.session_id)
    everything.products = [item | {"quantity": 1} for item in placement.offered]
    try:
        return read_options(everything) if everything.products else {}
    except RejectedError as error:
        if _is_gone(error):
            raise
        return {}  # not all of them go together: the options come with the choice


def open_session(placement: Placement) -> None:
    """Open a session and note it on the placement, which is not saved (A30).

    Raises:
        NoSuchChoice: the platform does not know the property, or the user.
        SyncError: the platform did not answer well.
    """
    try:
        session = reader(placement).open_session(session_body(placement)).cleaned
    except NotFoundError as error:
        user_list.ask(placement.workspace_id, timezone.now())  # the user that we know may be gone
        hint = "push it first" if placement.real_estate_property_id else "import and push it first"
        reference, user = placement.object_reference_id, placement.user_reference_id
        raise NoSuchChoice(
            f"no property {reference!r} on the platform: {hint};"
            f" or no user {user or placement.user_platform_id!r} any more ({error})"
        ) from error
    if not isinstance(session, dict) or not (session_id := key(session, "id")):
        raise TransientError("POST /v1/sessions answered without a session", unclear=False)
    placement.session_id = session_id
    property_id = key(session, "realEstatePropertyId") or placement.property_platform_id
    placement.property_platform_id = property_id
    placement.user_platform_id = placement.user_platform_id or key(session, "userId")


def offered_products(placement: Placement) -> list[Document]:
    """Return the products of the session as it lists them (A31); raises SyncError.

    One without an id is left out: nothing could order it (A33).
    """
    listed: list[Document] = clean(reader(placement).get_products(placement.session_id))[0]
    return [item for item in listed if plain(item.get("id"))]


def read_options(placement: Placement) -> Document:
    """Return the options of the instructions for the chosen products (A32); raises SyncError.

    Notes on the placement the platform's own clock before the sending: what it places later may be
    ours (I29).
    """
    chosen = lines(placement.products)
    answer = reader(placement).get_instructions(placement.session_id, chosen)
    if answer.as_of is not None:
        placement.not_before = answer.as_of
    return answer.cleaned if isinstance(answer.cleaned, dict) else {}


def reader(placement: Placement) -> Client:
    """Return the client for reads that a person waits for."""
    return placement.workspace.client(deadline=READ_DEADLINE)

"""The reads before an order: its session, the offer, and the instructions (A30-A32).

The functions take values and return columns. Nothing is written to the placement.
"""

from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from crm_sync.models import Workspace
from crm_sync.platform.client import Client
from crm_sync.platform.errors import NotFoundError, RejectedError, TransientError
from crm_sync.sentence import Sentence, Value, sentence
from crm_sync.text import clean, plain
from orders.mirror.platform_reading import key
from orders.models import Placement
from orders.placing.failures import NoSuchChoice
from orders.placing.session_offer import (
    Document,
    kept_instructions,
    kept_products,
    lines,
    session_body,
)
from orders.platform_users import user_list

READ_DEADLINE = 8.0  # seconds for each read, because a person is waiting


@dataclass(frozen=True)
class Renewal:
    """What can be ordered now.

    Attributes:
        columns: of the placement: its session, the offer, and the choices found in it.
        missing: the name of each choice that is not offered and therefore left out.
    """

    columns: dict[str, Any]
    missing: list[str]


def renew(placement: Placement) -> Renewal:
    """Read what can be ordered now, with the choices of a placement and the present prices.

    If its session is gone, a new one is opened, with the same choices. Products are found by id,
    else by value. Instructions are found by label, or by id where there is none.

    Raises:
        NoSuchChoice: the platform does not know the property, or the user.
        SyncError: the platform did not answer well.
    """
    if placement.session_id:
        try:
            return _read(placement, {"session_id": placement.session_id})
        except (NotFoundError, RejectedError) as error:
            if not _is_gone(error):
                raise
    return _read(placement, open_session(placement))


def _is_gone(error: NotFoundError | RejectedError) -> bool:
    """Return whether a session has expired or has served its order (A31, A33).

    The read that found this out has placed nothing.
    """
    return isinstance(error, NotFoundError) or error.status == 409


def _read(placement: Placement, columns: dict[str, Any]) -> Renewal:
    workspace, session_id = placement.workspace, columns["session_id"]
    offered = offered_products(workspace, session_id)
    products, missing = kept_products(placement.products, offered)
    columns |= {"offered": offered, "products": products}
    # While nothing is chosen, the options for the whole offer are shown.
    everything = [item | {"quantity": 1} for item in offered]
    options: Document = {}
    try:
        if products or everything:
            columns |= read_options(workspace, session_id, products or everything)
            options = columns["options"]
    except RejectedError as error:
        if products or _is_gone(error):
            raise
        # Not all products can be ordered together. The options are read once some are chosen.
    chosen = placement.instructions
    instructions, unknown = kept_instructions(chosen, placement.options, options)
    columns |= {"options": options, "instructions": instructions}
    return Renewal(columns, [*missing, *unknown])


def open_session(placement: Placement) -> dict[str, Any]:
    """Open a session, and return the columns that it gives to the placement (A30).

    Raises:
        NoSuchChoice: the platform does not know the property, or the user.
        SyncError: the platform did not answer well.
    """
    try:
        session = _reader(placement.workspace).open_session(session_body(placement)).cleaned
    except NotFoundError as error:
        user_list.ask(placement.workspace_id, timezone.now())  # the user that we know may be gone
        raise NoSuchChoice(_neither(placement, error)) from error
    if not isinstance(session, dict) or not (session_id := key(session, "id")):
        raise TransientError(
            sentence("POST /v1/sessions answered without a session"), unclear=False
        )
    return {
        "session_id": session_id,
        "property_platform_id": key(session, "realEstatePropertyId")
        or placement.property_platform_id,
        "user_platform_id": placement.user_platform_id or key(session, "userId"),
    }


def _neither(placement: Placement, error: NotFoundError) -> Sentence:
    """Return that the platform does not know the property, or does not know the user."""
    named: dict[str, Value] = {
        "property": repr(placement.object_reference_id),
        "user": repr(placement.user_reference_id or placement.user_platform_id),
        "error": str(error),
    }
    if placement.real_estate_property_id:
        return sentence(
            "no property %(property)s on the platform: push it first; or no user %(user)s any more"
            " (%(error)s)",
            **named,
        )
    return sentence(
        "no property %(property)s on the platform: import and push it first; or no user %(user)s"
        " any more (%(error)s)",
        **named,
    )


def offered_products(workspace: Workspace, session_id: str) -> list[Document]:
    """Return the products of the session as it lists them (A31). Raises SyncError.

    A product without an id is left out, because it cannot be ordered (A33).
    """
    listed: list[Document] = clean(_reader(workspace).get_products(session_id))[0]
    return [item for item in listed if plain(item.get("id"))]


def read_options(workspace: Workspace, session_id: str, products: list[Document]) -> dict[str, Any]:
    """Return the columns with the options of the instructions (A32). Raises SyncError.

    `not_before` is the platform's clock before the order is sent: an order that it places later may
    be ours (I29).
    """
    answer = _reader(workspace).get_instructions(session_id, lines(products))
    options = answer.cleaned if isinstance(answer.cleaned, dict) else {}
    return {"options": options} | ({"not_before": answer.as_of} if answer.as_of else {})


def _reader(workspace: Workspace) -> Client:
    """Return the client for reads while a person waits."""
    return workspace.client(deadline=READ_DEADLINE)

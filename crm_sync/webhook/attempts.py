"""The platform's last attempts to call us, matched with the inbox (§2.2)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from crm_sync.inbox import store
from crm_sync.inbox.masking import masked_text
from crm_sync.models import ReceivedEvent, Workspace
from crm_sync.webhook import history
from crm_sync.webhook.history import Document


@dataclass(frozen=True)
class Attempt:
    """One attempt, as the platform records it.

    Attributes:
        at: the time by the platform's clock, or None if it cannot be read.
        order: the order id in the payload, "" if there is none.
        answer: the status or the failure that the platform recorded, with our secrets masked.
        is_success: None if the record has no such value.
        ours: the row of the event here, from any source, or None if we did not receive it.
    """

    at: datetime | None
    event: str
    order: str
    answer: str
    is_success: bool | None
    ours: ReceivedEvent | None


def attempts(workspace: Workspace, documents: Iterable[Document]) -> list[Attempt]:
    """Match the records of the trigger history with our received events, newest first."""
    records = [history.record(one) for one in documents]
    digests = {one.digest for one in records if one.payload is not None}
    ours = _received(workspace.pk, digests)
    return [
        Attempt(
            at=one.at,
            event=history.words((one.payload or {}).get("event")),
            order=history.words((one.payload or {}).get("orderId")),
            answer=masked_text(_answer(one), workspace),
            is_success=one.is_success,
            ours=None if one.payload is None else ours.get(one.digest),
        )
        for one in reversed(history.in_order(records))
    ]


def _answer(one: history.HistoryRecord) -> str:
    return one.failure if one.is_success is False else str(one.status or "")


def _received(workspace_id: int, digests: set[str]) -> dict[str, ReceivedEvent]:
    mine = ReceivedEvent.objects.filter(workspace_id=workspace_id, replay_of=None)
    known = mine.filter(canonical_digest__in=digests).defer("body", "headers").order_by("-pk")
    found = {one.canonical_digest: one for one in known}  # the first one received wins
    if digests - found.keys():
        # A worker has not applied these yet, or could not parse or apply them.
        for one in mine.filter(canonical_digest="").order_by("-pk")[: store.UNDIGESTED]:
            found.setdefault(store.digest_of(bytes(one.body)), one)
    return found

"""Orders for many properties at once: the same choices, one placement each, one review.

Placements that belong together have one `group`. The first placement, the lead, is chosen like any
other. A worker then prepares the others with its choices. Nothing is sent before a person has
confirmed the review.
"""

import hashlib
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, F, Q, QuerySet
from django.utils.translation import gettext

from crm_sync.translated import number
from crm_sync.work.doorbell import doorbell
from orders.models import Placement, PlacementState as State
from orders.models.placement import OPEN_STATES, TO_BE_SENT
from orders.placing import confirmation, drafts
from orders.placing.confirmation import QUEUE
from orders.placing.failures import NoSuchChoice
from orders.placing.transitions import move
from properties.models import Property

MOST = 1_000  # properties in one selection
CHUNK = 200  # rows in one INSERT
# The columns that the others get from the lead.
SHARED = ("user_platform_id", "user_reference_id", *drafts.CHOSEN)


@dataclass(frozen=True)
class Counts:
    """The numbers of placements of a group, by state.

    Attributes:
        preparing: a worker opens their sessions.
        not_ready: nothing was chosen yet, or they have the reason why they cannot be ordered.
        to_review: they can be confirmed.
        sending: they are confirmed, and not settled yet.
    """

    total: int
    preparing: int
    not_ready: int
    to_review: int
    sending: int
    placed: int
    uncertain: int
    failed: int

    @property
    def moves(self) -> bool:
        """Whether a worker still has something to do."""
        return bool(self.preparing or self.sending)


def begin(properties: QuerySet[Property], *, account: User, now: datetime) -> Placement:
    """Make a draft for each property. Return the lead, whose property is on the platform if any is.

    Raises:
        NoSuchChoice: they are too many, or of several workspaces. Nothing was made.
    """
    count = properties.order_by().count()
    if not 0 < count <= MOST:
        text = gettext("choose at most %(most)s properties at once, not %(count)s")
        raise NoSuchChoice(text % {"most": number(MOST), "count": number(count)})
    if properties.order_by().values("workspace").distinct().count() > 1:
        text = gettext("choose properties of one workspace: each has users of its own")
        raise NoSuchChoice(text)
    drafts.forget_old(account, now=now)
    columns = ("object_reference_id", "platform_id", "workspace")
    rows = list(properties.order_by().only(*columns))
    rows.sort(key=lambda row: (row.platform_id is None, row.object_reference_id or "", row.pk))
    choices = drafts.first_choices(rows[0].workspace, account) | {"group": uuid.uuid4()}
    made = [drafts.new_draft(row, choices, now=now) for row in rows]
    Placement.objects.bulk_create(made, batch_size=CHUNK)
    return members(choices["group"])[0]


def members(group: uuid.UUID) -> QuerySet[Placement]:
    """Return the placements of a group. The first one is the lead."""
    return Placement.objects.filter(group=group).order_by("pk")


def is_lead(placement: Placement) -> bool:
    """Return whether it is the lead of its group."""
    return placement.group is not None and members(placement.group)[0] == placement


def is_chosen(lead: Placement) -> bool:
    """Return whether the choices of its group were already made once."""
    if lead.group is None or lead.state != State.DRAFT:
        return True
    return members(lead.group).exclude(pk=lead.pk).filter(revision__gt=0).exists()


def spread(lead: Placement, *, now: datetime) -> int:
    """Copy the choices of the lead to the unconfirmed placements of its group. Return the number.

    A worker prepares them: a session for each, with products found by their value.
    """
    if lead.group is None:
        return 0
    shared = {column: getattr(lead, column) for column in SHARED}
    count = move(
        members(lead.group).exclude(pk=lead.pk).order_by(),
        *OPEN_STATES,
        to=State.PREPARING,
        session_id="",
        offered=[],
        problem="",
        attempts=0,
        due_at=now,
        revision=F("revision") + 1,
        **shared,
    )
    doorbell.ring(QUEUE, lead.workspace_id)
    return count


def leave_out(group: uuid.UUID, keys: list[int]) -> int:
    """Remove unconfirmed placements from a group. Return their number."""
    rows = members(group).filter(state__in=OPEN_STATES, pk__in=keys)
    return rows.delete()[0]


def fingerprint(group: uuid.UUID, **where: Any) -> str:
    """Return a fingerprint that shows whether a review is what can be confirmed now."""
    rows = members(group).filter(**(where or {"state": State.READY}))
    seen = ",".join(f"{pk}:{revision}" for pk, revision in rows.values_list("pk", "revision"))
    return hashlib.sha256(seen.encode()).hexdigest()


def confirm(group: uuid.UUID, *, seen: str, account: User, now: datetime) -> int:
    """Let workers place everything that a person has reviewed, once (I9).

    Args:
        seen: the fingerprint of the review that the person has seen.

    Returns:
        the number of placements; 0 if they were confirmed before, or have changed since the review.
    """
    with transaction.atomic():
        rows = members(group)
        workspace_id = rows.values_list("workspace_id", flat=True).first() or 0
        count = confirmation.confirm(
            rows.order_by(), workspace_id=workspace_id, account=account, now=now
        )
        # Compared after the UPDATE, which locks these rows until the commit.
        if fingerprint(group, confirmed_at=now, state=State.CONFIRMED) != seen:
            transaction.set_rollback(True)
            return 0
    return count


def counts(group: uuid.UUID) -> Counts:
    """Count the placements of a group by state, in one query."""
    states = {
        "preparing": [State.PREPARING],
        "not_ready": [State.DRAFT],
        "to_review": [State.READY],
        "sending": TO_BE_SENT,
        "placed": [State.PLACED],
        "uncertain": [State.UNCERTAIN],
        "failed": [State.FAILED],
    }
    each = {name: Count("pk", filter=Q(state__in=some)) for name, some in states.items()}
    return Counts(**members(group).aggregate(total=Count("pk"), **each))

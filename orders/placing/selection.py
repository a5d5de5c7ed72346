"""Orders for many properties at once: the same choices, a placement each, one review.

What belongs together has one `group`. The first placement, the lead, is chosen like any other; a
worker then prepares all others with its choices. Nothing is sent before a person has confirmed what
the review shows.
"""

import hashlib
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, F, Q, QuerySet

from crm_sync.work.doorbell import doorbell
from orders.models import Placement
from orders.models import PlacementState as State
from orders.placing import confirmation, drafts
from orders.placing.confirmation import QUEUE, TO_REVIEW, WAITING
from orders.placing.errors import NoSuchChoice
from properties.models import Property

MOST = 1_000  # properties in one selection
CHUNK = 200  # rows in one INSERT
# What the lead gives to all others.
SHARED = ("user_platform_id", "user_reference_id", "products", "options", "instructions")

NOT_CONFIRMED = Q(state__in=drafts.OPEN, confirmed_at=None)
PREPARING = Q(state=State.DRAFT, due_at__isnull=False)
SENDING = Q(state=State.SENDING) | WAITING


@dataclass(frozen=True)
class Counts:
    """How many placements of a group stand where.

    Attributes:
        preparing: a worker opens their sessions.
        not_ready: they say why they cannot be ordered, or nothing was chosen yet.
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
        """Whether a worker has still something to do."""
        return bool(self.preparing or self.sending)


def begin(properties: QuerySet[Property], *, account: User, now: datetime) -> Placement:
    """Make a draft for each property; return the lead, for one that is on the platform if any.

    Raises:
        NoSuchChoice: they are too many, or of several workspaces; nothing was made.
    """
    count = properties.order_by().count()
    if not 0 < count <= MOST:
        raise NoSuchChoice(f"choose at most {MOST:,} properties at once, not {count:,}")
    if properties.order_by().values("workspace").distinct().count() > 1:
        raise NoSuchChoice("choose properties of one workspace: each has users of its own")
    drafts.forget_old(account, now=now)
    columns = ("object_reference_id", "platform_id", "workspace")
    rows = list(properties.order_by().only(*columns))
    rows.sort(key=lambda row: (row.platform_id is None, row.object_reference_id or "", row.pk))
    choices = drafts.last_choices(rows[0].workspace, account) | {"group": uuid.uuid4()}
    made = [drafts.new_draft(row, choices, now=now) for row in rows]
    Placement.objects.bulk_create(made, batch_size=CHUNK)
    return members(choices["group"])[0]


def members(group: uuid.UUID) -> QuerySet[Placement]:
    """Return the placements of a group; the first one leads."""
    return Placement.objects.filter(group=group).order_by("pk")


def is_lead(placement: Placement) -> bool:
    """Tell whether its choices count for its group."""
    return placement.group is not None and members(placement.group)[0] == placement


def is_chosen(lead: Placement) -> bool:
    """Tell whether the choices of its group were made once."""
    if lead.group is None or lead.state != State.DRAFT or lead.due_at is not None:
        return True
    return members(lead.group).exclude(pk=lead.pk).filter(revision__gt=0).exists()


def spread(lead: Placement, *, now: datetime) -> int:
    """Give the choices of the lead to all others that nobody has confirmed; return how many.

    A worker prepares them: a session each, products by their value.
    """
    if lead.group is None:
        return 0
    shared = {column: getattr(lead, column) for column in SHARED}
    others = members(lead.group).filter(NOT_CONFIRMED).exclude(pk=lead.pk)
    count = others.order_by().update(
        state=State.DRAFT,
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
    """Take placements out of a group that nobody has confirmed; return how many."""
    rows = members(group).filter(NOT_CONFIRMED, pk__in=keys)
    return rows.delete()[0]


def fingerprint(group: uuid.UUID, **where: Any) -> str:
    """Return what tells whether a review shows what can be confirmed now."""
    rows = members(group).filter(**where) if where else members(group).filter(TO_REVIEW)
    seen = ",".join(f"{pk}:{revision}" for pk, revision in rows.values_list("pk", "revision"))
    return hashlib.sha256(seen.encode()).hexdigest()


def confirm(group: uuid.UUID, *, seen: str, account: User, now: datetime) -> int:
    """Let workers place all that a person has reviewed, once (I9).

    Args:
        seen: the fingerprint of what she has seen.

    Returns:
        how many; 0 when it was confirmed before, or is not as she saw it any more.
    """
    with transaction.atomic():
        count = confirmation.confirm_all(members(group).order_by(), account=account, now=now)
        # Compared after the UPDATE, which lets nobody change these rows until the commit.
        if fingerprint(group, confirmed_at=now, state=State.READY) != seen:
            transaction.set_rollback(True)
            return 0
        doorbell.ring_each(QUEUE, members(group).values_list("workspace_id", flat=True)[:1])
    return count


def counts(group: uuid.UUID) -> Counts:
    """Count where the placements of a group stand, in one query."""
    found = members(group).aggregate(
        total=Count("pk"),
        preparing=Count("pk", filter=PREPARING),
        not_ready=Count("pk", filter=Q(state=State.DRAFT, due_at=None)),
        to_review=Count("pk", filter=TO_REVIEW),
        sending=Count("pk", filter=SENDING),
        placed=Count("pk", filter=Q(state=State.PLACED)),
        uncertain=Count("pk", filter=Q(state=State.UNCERTAIN)),
        failed=Count("pk", filter=Q(state=State.FAILED)),
    )
    return Counts(**found)

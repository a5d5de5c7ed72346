"""Writes the users from the platform's list if they differ (§2.5, A41)."""

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import QuerySet

from crm_sync.text import clean
from orders.mirror import forgotten_people
from orders.mirror.platform_reading import word
from orders.models import PlatformUser, UserList

LONGEST = 255  # characters of a column
COLUMNS = {  # our column → the platform's name
    "user_reference_id": "userReferenceId",
    "name": "name",
    "email": "email",
    "language": "language",
    "phone": "phone",
    "country": "country",
}
CONTACT = ("name", "email", "language", "phone", "country")
FILLED = (*COLUMNS, "gone_at", "account")
KEYS = ("id", "userReferenceId")  # a key that is cut could belong to another user

Item = Mapping[str, Any]
Columns = dict[str, str]
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PageCounts:
    """The counts of one page.

    Attributes:
        fresh: users that this walk had not shown before.
        set_aside: entries that cannot be stored.
    """

    fresh: int
    set_aside: int


def keep(workspace_id: int, items: Sequence[Item], *, walk: int, now: datetime) -> PageCounts:
    """Write the users of one page, with a constant number of queries, and tie them to accounts.

    Args:
        walk: the number of the walk that shows them.
    """
    fresh = 0
    told, set_aside = _readable(workspace_id, items)
    mine = PlatformUser.objects.filter(workspace_id=workspace_id, platform_id__in=told)
    with transaction.atomic():
        # In one sequence, so that workers neither wait for each other nor undo a tie by hand.
        known = {row.platform_id: row for row in mine.select_for_update().order_by("pk")}
        # Read last: whoever is forgotten from now on is blanked once these rows are written (S23).
        for key in _forgotten(workspace_id, told):
            told[key] |= dict.fromkeys(CONTACT, "")
        owners = _owners(columns["email"] for columns in told.values())
        new, changed = [], []
        for key, columns in sorted(told.items()):
            row = known.get(key)
            if row is None:
                row = PlatformUser(workspace_id=workspace_id, platform_id=key, created_at=now)
                new.append(row)
            elif row.seen_in < walk:
                fresh += 1
            if _fill(row, columns, owners) and row.pk:
                changed.append(row)
        # If another worker writes the same user at this moment, that row does not change.
        PlatformUser.objects.bulk_create(new, ignore_conflicts=True)
        PlatformUser.objects.bulk_update(changed, FILLED)
        mine.filter(seen_in__lte=walk).update(seen_in=walk, seen_at=now)
    return PageCounts(fresh + len(new), set_aside)


def keep_found(workspace_id: int, items: Sequence[Item], *, now: datetime) -> None:
    """Write users that were read outside the walks. No walk counts them as shown."""
    walk = UserList.objects.filter(workspace_id=workspace_id).values_list("walk", flat=True).first()
    keep(workspace_id, items, walk=max(0, (walk or 1) - 1), now=now)


def tie_by_hand(user: PlatformUser, account_id: int | None) -> bool:
    """Tie a user to an account, or to nobody, for good. Return False if it has changed since.

    Args:
        user: the row that the deciding person has seen.
    """
    return _as_seen(user).update(account=account_id, is_tied_by_hand=True) == 1


def tie_by_email(user: PlatformUser) -> bool:
    """Tie a user to the account with its e-mail. Return False if it has changed since."""
    account_id = _owners([user.email]).get(_folded(user.email))
    return _as_seen(user).update(account=account_id, is_tied_by_hand=False) == 1


def _as_seen(user: PlatformUser) -> QuerySet[PlatformUser]:
    columns = {"account": user.account_id, "is_tied_by_hand": user.is_tied_by_hand}
    return PlatformUser.objects.filter(pk=user.pk, **columns)


def read_item(item: Item) -> tuple[str, Columns]:
    """Return the id of a user, or "", and its columns."""
    document = clean(dict(item))[0]
    return word(document, "id", LONGEST), {
        column: word(document, name, LONGEST) for column, name in COLUMNS.items()
    }


def _readable(workspace_id: int, items: Sequence[Item]) -> tuple[dict[str, Columns], int]:
    """Return the columns by id, and the number of entries without an id or with a too long key."""
    told, set_aside = {}, 0
    for item in items:
        platform_id, columns = read_item(item)
        too_long = [key for key in KEYS if len(str(item.get(key) or "")) > LONGEST]
        if platform_id and not too_long:
            told[platform_id] = columns
            continue
        set_aside += 1
        what = f"its {too_long[0]} is too long" if too_long else "it has no id"
        key = f"{columns['user_reference_id'] or platform_id:.80}"
        log.warning("workspace %s: a user is set aside, %s: %s", workspace_id, what, key)
    return told, set_aside


def _forgotten(workspace_id: int, told: Iterable[str]) -> list[str]:
    """Return the ids of the users whom we were asked to forget (S23)."""
    known = forgotten_people.marks(workspace_id)
    return (
        [key for key in told if forgotten_people.digest(forgotten_people.USER, key) in known]
        if known
        else []
    )


def _fill(row: PlatformUser, columns: Columns, owners: Mapping[str, int]) -> bool:
    """Set the columns, and the account unless it was tied by hand. Return whether they differ."""
    values: dict[str, Any] = {**columns, "gone_at": None}  # a user in the list is not gone
    if not row.is_tied_by_hand:
        values["account_id"] = owners.get(_folded(columns["email"]))
    differs = [column for column, value in values.items() if getattr(row, column) != value]
    for column in differs:
        setattr(row, column, values[column])
    return bool(differs)


def _owners(emails: Iterable[str]) -> dict[str, int]:
    """Return the id of the only active account for each e-mail, without regard to case."""
    wanted = {_folded(email) for email in emails} - {""}
    # Compared here, because SQLite folds only ASCII letters.
    active = get_user_model().objects.filter(is_active=True).exclude(email="")
    accounts = [(_folded(email), pk) for pk, email in active.values_list("pk", "email")]
    count = Counter(email for email, _ in accounts)
    return {email: pk for email, pk in accounts if email in wanted and count[email] == 1}


def _folded(email: str) -> str:
    return email.strip().casefold()

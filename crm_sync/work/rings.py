"""Messages to the workers: at most one waits for each queue of a workspace, and none is the record.

A worker that takes a message first calls `taken`. Once a second `tick` compares the due rows with
the waiting messages, and sends each message that was lost or never sent (I12).
"""

import random
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from crm_sync import durability
from crm_sync.models import Ring
from crm_sync.work import commits, fast_sql, turn
from crm_sync.work.fast_sql import RowUpdate

# A mark that is older counts as lost while fewer messages wait than there are marks. By its age
# alone none is sent again: under a backlog of messages that would only make it longer.
LOST_AFTER = timedelta(seconds=3)
NEW = timedelta(0)
TOGETHER = 5_000  # pairs in one statement; a database takes only so many values

Pair = tuple[str, int]  # a queue, and the id of a workspace
Publish = Callable[[str, int], object]


def mark(pairs: Sequence[Pair], now: datetime) -> list[Pair]:
    """Note that a message waits for each of these, and return those for which none did."""
    parts = [pairs[n : n + TOGETHER] for n in range(0, len(pairs), TOGETHER)]
    return [pair for part in parts for pair in _mark(part, now)]


def _mark(pairs: Sequence[Pair], now: datetime) -> list[Pair]:
    rows = fast_sql.table(Ring)
    values = ", ".join(["(%s, %s, %s)"] * len(pairs))
    unwaited = f" AND {fast_sql.NOT_WAITED_FOR}" if connection.vendor == "postgresql" else ""
    sql = (
        f"INSERT INTO {rows} (workspace_id, queue, rung_at) VALUES {values}"  # noqa: S608
        f" ON CONFLICT (workspace_id, queue) DO UPDATE SET rung_at = excluded.rung_at"
        f" WHERE {rows}.rung_at IS NULL{unwaited} RETURNING queue, workspace_id"
    )
    column: Any = Ring._meta.get_field("rung_at")
    moment = column.get_db_prep_save(now, connection)
    given = [value for queue, workspace_id in pairs for value in (workspace_id, queue, moment)]
    # A power cut may take marks back: then a message comes twice, or three seconds later.
    with durability.lazily(), connection.cursor() as cursor:
        cursor.execute(sql, given)
        return [(queue, workspace_id) for queue, workspace_id in cursor.fetchall()]


def waits(queue: str, workspace_id: int) -> bool:
    """Tell whether a message waits: a look that takes no lock, unlike `mark`."""
    expression, values = waiting(queue, workspace_id)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {expression}", values)
        return bool(cursor.fetchone()[0])


def waiting(queue: str, workspace_id: int) -> fast_sql.Expression:
    """Return `waits` as SQL, for a statement that is run anyway."""
    rows = fast_sql.table(Ring)
    mine = f"SELECT 1 FROM {rows} WHERE workspace_id = %s AND queue = %s AND rung_at IS NOT NULL"  # noqa: S608
    return f"EXISTS ({mine})", [workspace_id, queue]


def taken(queue: str, workspace_id: int) -> None:
    """Note that no message waits any more: a worker has it, or it could not be published."""
    with durability.working():
        commits.update(Ring, _unmarking(queue, workspace_id))


def fresh(now: datetime) -> set[Pair]:
    """Return for what a message was sent within the last seconds: work on it goes on."""
    lately = (now - LOST_AFTER, now + LOST_AFTER)
    return set(Ring.objects.filter(rung_at__range=lately).values_list("queue", "workspace_id"))


def tick(
    now: datetime,
    publish: Publish,
    *,
    messages: Callable[[], int],
    shuffle: Callable[[list[Pair]], object] = random.shuffle,
) -> list[Pair]:
    """Publish a message for each queue with due rows for which none waits.

    Args:
        messages: how many wait in the broker.
        shuffle: puts the messages into any order: of two queues that share a limit, such as the
            reads of orders and of assignments, none is to be the first each time.

    Returns:
        for what a message was published.
    """
    due = turn.waiting(now)
    if not due:
        return []
    columns = ("queue", "workspace_id", "rung_at")
    marked = Ring.objects.filter(rung_at__isnull=False).values_list(*columns)
    # A time ahead of now was written by a wrong clock (I29).
    ages = {(queue, workspace_id): abs(now - rung_at) for queue, workspace_id, rung_at in marked}
    old = [pair for pair in due if ages.get(pair, NEW) > LOST_AFTER]
    if old and messages() >= len(ages):
        old = []
    _unmark(old)
    unmarked = [pair for pair in due if pair not in ages]
    found = mark([*unmarked, *old], now) if unmarked or old else []
    shuffle(found)
    sent = 0
    try:
        for pair in found:
            publish(*pair)
            sent += 1
    finally:
        _unmark(found[sent:])  # the next tick sends what the broker did not take
    return found


def _unmark(pairs: Sequence[Pair]) -> None:
    """Note that no message waits for these."""
    if pairs:
        with durability.relaxed():
            fast_sql.update_many(Ring, (_unmarking(*pair) for pair in pairs))


def _unmarking(queue: str, workspace_id: int) -> RowUpdate:
    return RowUpdate({"rung_at": None}, {"queue": queue, "workspace_id": workspace_id})

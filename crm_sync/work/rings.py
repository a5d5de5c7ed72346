"""Messages to the workers: at most one waits for each queue of a workspace. It may get lost.

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

# The message of an older mark counts as lost if fewer messages wait than there are marks. Age alone
# is not enough: with a backlog of messages, sending more would only make it longer.
LOST_AFTER = timedelta(seconds=3)
NEW = timedelta(0)
TOGETHER = 5_000  # pairs in one statement; databases limit the number of values

Pair = tuple[str, int]  # a queue, and the id of a workspace
Publish = Callable[[str, int], object]


def mark(pairs: Sequence[Pair], now: datetime) -> list[Pair]:
    """Mark that a message waits for each pair, and return the pairs that had no mark."""
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
    # A power cut may undo marks: then a message comes twice, or three seconds later.
    with durability.lazily(), connection.cursor() as cursor:
        cursor.execute(sql, given)
        return [(queue, workspace_id) for queue, workspace_id in cursor.fetchall()]


def waits(queue: str, workspace_id: int) -> bool:
    """Return whether a message waits. Unlike `mark`, this takes no lock."""
    expression, values = waiting(queue, workspace_id)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {expression}", values)
        return bool(cursor.fetchone()[0])


def waiting(queue: str, workspace_id: int) -> fast_sql.Expression:
    """Return `waits` as SQL, to be part of another statement."""
    rows = fast_sql.table(Ring)
    mine = f"SELECT 1 FROM {rows} WHERE workspace_id = %s AND queue = %s AND rung_at IS NOT NULL"  # noqa: S608
    return f"EXISTS ({mine})", [workspace_id, queue]


def taken(queue: str, workspace_id: int) -> None:
    """Remove the mark: a worker has the message, or it could not be published."""
    with durability.working():
        commits.update(Ring, _unmarking(queue, workspace_id))


def tick(
    now: datetime,
    publish: Publish,
    *,
    messages: Callable[[], int],
    shuffle: Callable[[list[Pair]], object] = random.shuffle,
) -> list[Pair]:
    """Publish a message for each queue with due rows for which no message waits.

    Args:
        messages: returns the number of messages that wait in the broker.
        shuffle: changes the order of the messages at random. Otherwise, of two queues that share a
            limit, such as the reads of orders and of assignments, one would always be first.

    Returns:
        the pairs for which a message was published.
    """
    due = turn.waiting(now)
    if not due:
        return []
    columns = ("queue", "workspace_id", "rung_at")
    marked = Ring.objects.filter(rung_at__isnull=False).values_list(*columns)
    # A wrong clock may have written a time in the future (I29).
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
        _unmark(found[sent:])  # the next tick sends the messages that the broker did not accept
    return found


def _unmark(pairs: Sequence[Pair]) -> None:
    """Remove the marks of these pairs."""
    if pairs:
        with durability.relaxed():
            fast_sql.update_many(Ring, (_unmarking(*pair) for pair in pairs))


def _unmarking(queue: str, workspace_id: int) -> RowUpdate:
    return RowUpdate({"rung_at": None}, {"queue": queue, "workspace_id": workspace_id})

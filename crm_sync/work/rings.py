"""Messages to the workers: at most one waits for each queue of a workspace, and none is the record.

`taken` is the first act of whoever takes a message. Each second beat has `tick` compare what is due
with what waits, so that a message that was lost, or never sent, comes after all (I12).
"""

import random
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from crm_sync.models import Ring
from crm_sync.work import fast_sql, turn

# A message that waits for longer, while none waits in the broker, was lost there. By age alone
# nothing is sent again: under a backlog of messages that would only make it longer.
LOST_AFTER = timedelta(seconds=3)

Pair = tuple[str, int]  # a queue, and the id of a workspace
Publish = Callable[[str, int], object]


def mark(pairs: Sequence[Pair], now: datetime) -> list[Pair]:
    """Note that a message waits for each of these, and return those for which none did."""
    rows = fast_sql.table(Ring)
    values = ", ".join(["(%s, %s, %s)"] * len(pairs))
    sql = (
        f"INSERT INTO {rows} (workspace_id, queue, rung_at) VALUES {values}"  # noqa: S608
        f" ON CONFLICT (workspace_id, queue) DO UPDATE SET rung_at = excluded.rung_at"
        f" WHERE {rows}.rung_at IS NULL RETURNING queue, workspace_id"
    )
    column: Any = Ring._meta.get_field("rung_at")
    moment = column.get_db_prep_save(now, connection)
    given = [value for queue, workspace_id in pairs for value in (workspace_id, queue, moment)]
    with connection.cursor() as cursor:
        cursor.execute(sql, given)
        return [(queue, workspace_id) for queue, workspace_id in cursor.fetchall()]


def waits(queue: str, workspace_id: int) -> bool:
    """Tell whether a message waits: a look that takes no lock, unlike `mark`."""
    mine = Ring.objects.filter(workspace_id=workspace_id, queue=queue)
    return mine.filter(rung_at__isnull=False).exists()


def taken(queue: str, workspace_id: int) -> None:
    """Note that no message waits any more: a worker has it, or it could not be published."""
    Ring.objects.filter(workspace_id=workspace_id, queue=queue).update(rung_at=None)


def fresh(now: datetime) -> set[Pair]:
    """Return for what a message was sent within the last seconds: work on it goes on."""
    lately = (now - LOST_AFTER, now + LOST_AFTER)
    return set(Ring.objects.filter(rung_at__range=lately).values_list("queue", "workspace_id"))


def tick(
    now: datetime,
    publish: Publish,
    *,
    is_broker_empty: Callable[[], bool],
    shuffle: Callable[[list[Pair]], object] = random.shuffle,
) -> list[Pair]:
    """Publish a message for each queue with due rows for which none waits.

    Args:
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
    since = {(queue, workspace_id): rung_at for queue, workspace_id, rung_at in marked}
    # A time ahead of now was written by a wrong clock (I29).
    old = [pair for pair in due if (at := since.get(pair)) and abs(now - at) > LOST_AFTER]
    if old and is_broker_empty():
        for pair in old:
            taken(*pair)
            del since[pair]
    unmarked = [pair for pair in due if pair not in since]
    found = mark(unmarked, now) if unmarked else []
    shuffle(found)
    for pair in found:
        publish(*pair)
    return found

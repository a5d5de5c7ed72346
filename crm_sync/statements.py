"""SQL that is made once, for what happens at each event and each push (docs/decisions/0006).

The same as `bulk_create(ignore_conflicts=True)` and `filter().update()`, for plain values: a
QuerySet takes longer to make its SQL than the database to run it.
"""

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.models import BinaryField, CharField, ForeignKey, Model, TextField

NOWHERE: tuple[str, list[Any]] = ("", [])
PLAIN = (str, bytes, int)


def insert(
    model: type[Model], columns: Mapping[str, Any], *, source: tuple[str, list[Any]] = NOWHERE
) -> bool:
    """Insert one row; False where one is there that excludes it, or where the source has no row.

    Args:
        columns: field → value; the database fills in the others.
        source: a FROM clause with its values, if the row is to depend on one.
    """
    clause, more = source
    sql = _insertion(model, tuple(columns), clause)
    return run(sql, [*_stored(model, columns.items()), *more]) == 1


def insert_many(model: type[Model], rows: Iterable[Mapping[str, Any]]) -> None:
    """Insert rows as `insert` does, in one trip for those with the same columns."""
    _run_many((_insertion(model, tuple(row), ""), _stored(model, row.items())) for row in rows)


@dataclass(frozen=True)
class Change:
    """What to change in which rows.

    Attributes:
        columns: field → value, one at least.
        where: field → value, all of which have to be so.
        unless_moved: field → (old, new): it becomes the new value where it has the old one still.
    """

    columns: Mapping[str, Any]
    where: Mapping[str, Any]
    unless_moved: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)


def update(model: type[Model], change: Change) -> int:
    """Make one change; in how many rows that is."""
    return run(*made(model, change))


def update_many(model: type[Model], changes: Iterable[Change]) -> int:
    """Make many changes, in one trip for those of one form; in how many rows that is."""
    return _run_many(made(model, change) for change in changes)


def table(model: type[Model]) -> str:
    """Return the name of its table as SQL takes it."""
    return connection.ops.quote_name(model._meta.db_table)


def run(sql: str, values: list[Any]) -> int:
    """Run a statement with its values; of how many rows that is."""
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return int(cursor.rowcount)


def _run_many(runs: Iterable[tuple[str, list[Any]]]) -> int:
    alike: dict[str, list[list[Any]]] = {}
    for sql, values in runs:
        alike.setdefault(sql, []).append(values)
    count = 0
    for sql, rows in alike.items():
        with connection.cursor() as cursor:
            cursor.executemany(sql, rows)
            count += int(cursor.rowcount)
    return count


def _stored(model: type[Model], columns: Iterable[tuple[str, Any]]) -> list[Any]:
    database = connections[DEFAULT_DB_ALIAS]  # `connection` looks it up anew each time
    return [
        value
        if type(value) in PLAIN and _takes_plain(model, name)
        else _field(model, name).get_db_prep_save(value, database)
        for name, value in columns
    ]


@functools.cache
def _takes_plain(model: type[Model], name: str) -> bool:
    """Tell whether the field stores text, bytes and numbers as they are."""
    return isinstance(_field(model, name), CharField | TextField | BinaryField | ForeignKey)


# Names of our own models and nothing else; values travel as parameters.


@functools.cache
def _insertion(model: type[Model], names: tuple[str, ...], clause: str) -> str:
    marks = ", ".join(["%s"] * len(names))
    row = f"SELECT {marks} {clause}" if clause else f"VALUES ({marks})"
    columns = ", ".join(_columns(model, names))
    return f"INSERT INTO {table(model)} ({columns}) {row} ON CONFLICT DO NOTHING"


def made(model: type[Model], change: Change) -> tuple[str, list[Any]]:
    """Return the UPDATE and its values as `run` takes them; it ends in its condition."""
    columns, where, moving = change.columns, change.where, change.unless_moved
    moves = [(name, value) for name, both in moving.items() for value in both]
    sql = _change(model, tuple(columns), tuple(where), tuple(moving))
    return sql, _stored(model, [*columns.items(), *moves, *where.items()])


@functools.cache
def _change(
    model: type[Model], names: tuple[str, ...], where: tuple[str, ...], moving: tuple[str, ...]
) -> str:
    set_to = [f"{column} = %s" for column in _columns(model, names)]
    move = "{0} = CASE WHEN {0} = %s THEN %s ELSE {0} END"
    changes = ", ".join(set_to + [move.format(column) for column in _columns(model, moving)])
    conditions = " AND ".join(f"{column} = %s" for column in _columns(model, where))
    return f"UPDATE {table(model)} SET {changes} WHERE {conditions}"  # noqa: S608


def _columns(model: type[Model], names: tuple[str, ...]) -> list[str]:
    return [connection.ops.quote_name(_field(model, name).column) for name in names]


def _field(model: type[Model], name: str) -> Any:
    return model._meta.get_field(name)

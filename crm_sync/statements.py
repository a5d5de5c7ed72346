"""SQL that is made once, for what happens at each event and each push (docs/decisions/0006).

The same as `bulk_create(ignore_conflicts=True)` and `filter().update()`, for plain values: a
QuerySet takes longer to make its SQL than the database to run it.
"""

import functools
from collections.abc import Iterable, Mapping
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.models import Model

NOWHERE: tuple[str, list[Any]] = ("", [])


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
    return _run(sql, [*_stored(model, columns.items()), *more]) == 1


def update(
    model: type[Model],
    columns: Mapping[str, Any],
    where: Mapping[str, Any],
    *,
    below: Mapping[str, Any] | None = None,
) -> int:
    """Set columns, one at least, in the rows where all of `where` is so; how many those are.

    Args:
        below: fields that, one after the other as in a dictionary, are less than these values.
    """
    below = below or {}
    sql = _change(model, tuple(columns), tuple(where), tuple(below))
    return _run(sql, _stored(model, [*columns.items(), *where.items(), *below.items()]))


def table(model: type[Model]) -> str:
    """Return the name of its table as SQL takes it."""
    return connection.ops.quote_name(model._meta.db_table)


def _run(sql: str, values: list[Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return int(cursor.rowcount)


def _stored(model: type[Model], columns: Iterable[tuple[str, Any]]) -> list[Any]:
    database = connections[DEFAULT_DB_ALIAS]  # `connection` looks it up anew each time
    return [_field(model, name).get_db_prep_save(value, database) for name, value in columns]


# Names of our own models and nothing else; values travel as parameters.


@functools.cache
def _insertion(model: type[Model], names: tuple[str, ...], clause: str) -> str:
    marks = ", ".join(["%s"] * len(names))
    row = f"SELECT {marks} {clause}" if clause else f"VALUES ({marks})"
    columns = ", ".join(_columns(model, names))
    return f"INSERT INTO {table(model)} ({columns}) {row} ON CONFLICT DO NOTHING"


@functools.cache
def _change(
    model: type[Model], names: tuple[str, ...], where: tuple[str, ...], below: tuple[str, ...]
) -> str:
    changes = ", ".join(f"{column} = %s" for column in _columns(model, names))
    conditions = [f"{column} = %s" for column in _columns(model, where)]
    if below:
        marks = ", ".join(["%s"] * len(below))
        conditions.append(f"({', '.join(_columns(model, below))}) < ({marks})")
    return f"UPDATE {table(model)} SET {changes} WHERE {' AND '.join(conditions)}"  # noqa: S608


def _columns(model: type[Model], names: tuple[str, ...]) -> list[str]:
    return [connection.ops.quote_name(_field(model, name).column) for name in names]


def _field(model: type[Model], name: str) -> Any:
    return model._meta.get_field(name)

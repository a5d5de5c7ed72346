"""SQL that is built once, for the tick and the writes of each event and each push (decision 6).

It does the same as `bulk_create(ignore_conflicts=True)` and `filter().update()`, for plain values.
A QuerySet takes longer to build its SQL than the database to run it.

On PostgreSQL many rows are sent in one statement, as one JSON document. A statement for each row
costs several times as much, here and on the server. SQLite runs in our own process, so there is no
round trip to save.
"""

import functools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.models import (
    BinaryField,
    BooleanField,
    CharField,
    DateTimeField,
    ForeignKey,
    IntegerField,
    JSONField,
    Model,
    QuerySet,
    TextField,
    UUIDField,
)
from django.utils.functional import cached_property

from crm_sync.models.problem import SentenceField

Expression = tuple[str, list[Any]]  # SQL, and its values
NOWHERE: Expression = ("", [])
YES: Expression = ("TRUE", [])
# The last part of a condition on PostgreSQL, evaluated once a row is found. It holds only for this
# transaction.
NOT_WAITED_FOR = "set_config('synchronous_commit', 'off', true) = 'off'"

Names = tuple[str, ...]
Form = tuple[Names, Names, Names, Names]  # what a change sets, moves, compares, and finds NULL


class TimedSelect:
    """A query that depends on nothing but the time, with its SQL built once.

    Attributes:
        query: returns the query at a moment. Its SQL must be the same at each moment, and each
            value that depends on the moment must be a time at a fixed distance from it.
    """

    FIRST, SECOND = datetime(2001, 1, 1, tzinfo=UTC), datetime(2002, 2, 2, 2, 2, 2, tzinfo=UTC)

    def __init__(self, query: Callable[[datetime], QuerySet[Any, Any]]) -> None:
        self.query = query

    def at(self, now: datetime) -> Expression:
        """Return the SQL and its values at a moment."""
        sql, values, distances = self._built
        moved = list(values)
        for index, distance in distances.items():
            moved[index] = connection.ops.adapt_datetimefield_value(now + distance)
        return sql, moved

    @cached_property
    def _built(self) -> tuple[str, Sequence[Any], Mapping[int, timedelta]]:
        """Compare the query at two moments: the values that differ are times."""
        sql, values = self.query(self.FIRST).query.sql_with_params()
        later_sql, later = self.query(self.SECOND).query.sql_with_params()
        distances = {
            index: _moment(value) - self.FIRST
            for index, value in enumerate(values)
            if value != later[index]
        }
        if later_sql != sql or any(
            _moment(later[index]) - self.SECOND != distance for index, distance in distances.items()
        ):
            raise ValueError(f"the time does not only move the values of: {sql}")
        return sql, values, distances


def _moment(value: Any) -> datetime:
    """Return a time as the database takes it, with its zone."""
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def insert(
    model: type[Model],
    columns: Mapping[str, Any],
    *,
    source: Expression = NOWHERE,
    returning: Expression = YES,
) -> Any:
    """Insert one row.

    Args:
        columns: field → value; the database fills in the others.
        source: a FROM clause, if the row depends on one.

    Returns:
        the value of `returning`, or None if an existing row conflicts, or the source has no row.
    """
    (clause, more), (expression, last) = source, returning
    sql = f"{_insertion(model, tuple(columns), clause)} RETURNING {expression}"
    with connection.cursor() as cursor:
        cursor.execute(sql, [*_stored(model, columns.items()), *more, *last])
        found = cursor.fetchall()
    return found[0][0] if found else None


class RowInsert(NamedTuple):
    """A row to insert: field → value, without bytes."""

    model: type[Model]
    columns: Mapping[str, Any]


@dataclass(frozen=True)
class RowUpdate:
    """A change, and the rows to change.

    Attributes:
        columns: field → value, at least one.
        where: field → value, which must all match; None is NULL, as in a filter of Django.
        unless_moved: field → (old, new). The field gets the new value if it still has the old one.
        beside: rows that `commits` inserts in the same transaction, if the change was made.
    """

    columns: Mapping[str, Any]
    where: Mapping[str, Any]
    unless_moved: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    beside: Sequence[RowInsert] = ()


def insert_many(model: type[Model], rows: Iterable[Mapping[str, Any]]) -> None:
    """Insert rows as `insert` does, in one round trip for all rows with the same columns.

    Args:
        rows: field → value, without bytes.
    """
    if connection.vendor == "postgresql":
        _run_together((_insertion_of_many(model, tuple(row)), list(row.values())) for row in rows)
    else:
        _run_many((_insertion(model, tuple(row), ""), _stored(model, row.items())) for row in rows)


def update(model: type[Model], change: RowUpdate, *, waits: bool = True) -> int:
    """Make one change, and return the number of changed rows.

    Args:
        waits: False if the commit on PostgreSQL need not wait for the disk.
    """
    sql, values = made(model, change)
    return run(sql if waits else f"{sql} AND {NOT_WAITED_FOR}", values)


def update_unlocked(
    model: type[Model], changes: Sequence[RowUpdate], *, waits: bool = True
) -> set[int]:
    """Make changes of one form, each of a row by its id, in one statement of PostgreSQL.

    It skips rows that another transaction has locked, so that two transactions never wait for each
    other.

    Returns:
        the numbers of the changes that were made. A missing change had no row, a locked row, or
        the same row as another change.
    """
    form = form_of(changes[0])
    rows = [_as_json(model, form, one) for one in changes]
    with connection.cursor() as cursor:
        sql = _change_of_unlocked(model, form, waits)
        cursor.execute(sql, [[one.where["id"] for one in changes], _document(rows)])
        return {number - 1 for (number,) in cursor.fetchall()}


def update_many(model: type[Model], changes: Iterable[RowUpdate]) -> int:
    """Make changes, in one round trip for each form, and return the number of changed rows.

    Args:
        changes: each of a different row, without bytes.
    """
    if connection.vendor == "postgresql":
        formed = ((form_of(one), one) for one in changes)
        return _run_together(
            (_change_of_many(model, form), _as_json(model, form, one)) for form, one in formed
        )
    return _run_many(made(model, change) for change in changes)


def having(model: type[Model], name: str, texts: Iterable[str]) -> list[int]:
    """Return the keys of the rows in which an indexed field has one of these texts.

    One index lookup for each text. Without good statistics, or with a thousand copies of one
    value, PostgreSQL's planner expects a hundred texts to match half of the rows, and reads the
    whole table. This query leaves it no choice.
    """
    if connection.vendor != "postgresql":
        found = model._default_manager.filter(**{f"{name}__in": texts}).order_by()
        return list(found.values_list("pk", flat=True))
    with connection.cursor() as cursor:
        cursor.execute(_look(model, name), [json.dumps(list(texts))])
        return [key for (key,) in cursor.fetchall()]


def table(model: type[Model]) -> str:
    """Return the quoted name of the model's table."""
    return connection.ops.quote_name(model._meta.db_table)


def run(sql: str, values: list[Any]) -> int:
    """Run a statement with its values, and return the number of its rows."""
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return int(cursor.rowcount)


Runs = Iterable[tuple[str, list[Any]]]


def _run_many(runs: Runs) -> int:
    count = 0
    for sql, rows in _alike(runs).items():
        with connection.cursor() as cursor:
            cursor.executemany(sql, rows)
            count += int(cursor.rowcount)
    return count


def _run_together(runs: Runs) -> int:
    return sum(run(sql, [_document(rows)]) for sql, rows in _alike(runs).items())


def _alike(runs: Runs) -> dict[str, list[list[Any]]]:
    alike: dict[str, list[list[Any]]] = {}
    for sql, values in runs:
        alike.setdefault(sql, []).append(values)
    return alike


def _document(rows: Sequence[Sequence[Any]]) -> str:
    """Return rows as JSON for `_recordset`."""
    names = [f"v{n}" for n in range(len(rows[0]))]
    return json.dumps([dict(zip(names, row, strict=True)) for row in rows], default=_as_text)


def _as_text(value: Any) -> str:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"no column of ours takes a {type(value).__name__} as text")


def _stored(model: type[Model], columns: Iterable[tuple[str, Any]]) -> list[Any]:
    return [
        None if value is None else _ways(model, name).get(type(value), _slowly(model, name))(value)
        for name, value in columns
    ]


@functools.cache
def _slowly(model: type[Model], name: str) -> Callable[[Any], Any]:
    """Return what makes any value of a field into what the database takes, as Django does it."""
    field = _field(model, name)
    return lambda value: field.get_db_prep_save(value, connections[DEFAULT_DB_ALIAS])


@functools.cache
def _ways(model: type[Model], name: str) -> Mapping[type, Callable[[Any], Any]]:
    """Return, by the type of a value, what does the same as Django in a fraction of the time."""
    slowly = _slowly(model, name)
    types: tuple[type, ...] = ()
    way: Callable[[Any], Any] = _same
    match connection.vendor, _field(model, name):
        case _, SentenceField():
            pass
        case _, CharField() | TextField() | BinaryField() | ForeignKey():
            types = (str, bytes, int)
        case "postgresql", DateTimeField():
            types = (datetime,)
        case "sqlite", DateTimeField():
            types, way = (datetime,), lambda at: _naive(at) if at.tzinfo is UTC else slowly(at)
        case "sqlite", IntegerField() | BooleanField():
            types = (int, bool)
        case "sqlite", UUIDField():
            types, way = (UUID,), lambda key: key.hex
        case "sqlite", JSONField(encoder=None):
            types, way = (dict, list), json.dumps
    return dict.fromkeys(types, way)


def _naive(moment: datetime) -> str:
    return str(moment.replace(tzinfo=None))


def _same(value: Any) -> Any:
    return value


# The SQL below contains only names of our own models. Values are sent as parameters.


@functools.cache
def _insertion(model: type[Model], names: tuple[str, ...], clause: str) -> str:
    marks = ", ".join(["%s"] * len(names))
    row = f"SELECT {marks} {clause}" if clause else f"VALUES ({marks})"
    columns = ", ".join(_columns(model, names))
    return f"INSERT INTO {table(model)} ({columns}) {row} ON CONFLICT DO NOTHING"


def made(model: type[Model], change: RowUpdate) -> tuple[str, list[Any]]:
    """Return the UPDATE and its values for `run`. The SQL ends with its condition."""
    form = form_of(change)
    return _change(model, form), _stored(model, zip(_of_values(form), _values(change), strict=True))


def form_of(change: RowUpdate) -> Form:
    """Return the fields of a change. Changes of one form share one statement."""
    where = change.where
    nulls = tuple(name for name in where if where[name] is None)
    compared = tuple(name for name in where if name not in nulls)
    return tuple(change.columns), tuple(change.unless_moved), compared, nulls


def _of_values(form: Form) -> list[str]:
    """Return the field of each value in `_values`."""
    names, moving, where, _ = form
    return [*names, *(name for name in moving for _ in range(2)), *where]


def _values(change: RowUpdate) -> list[Any]:
    moves = [value for both in change.unless_moved.values() for value in both]
    compared = (value for value in change.where.values() if value is not None)
    return [*change.columns.values(), *moves, *compared]


def _as_json(model: type[Model], form: Form, change: RowUpdate) -> list[Any]:
    """Return the values for `_document`. A sentence has a stored form, other texts have none."""
    return [
        _field(model, name).get_prep_value(value) if _is_sentence(model, name) else value
        for name, value in zip(_of_values(form), _values(change), strict=True)
    ]


@functools.cache
def _is_sentence(model: type[Model], name: str) -> bool:
    return isinstance(_field(model, name), SentenceField)


@functools.cache
def _change(model: type[Model], form: Form) -> str:
    changes, conditions = _change_to(model, form, ["%s"] * len(_of_values(form)))
    return f"UPDATE {table(model)} SET {changes} WHERE {conditions}"  # noqa: S608


@functools.cache
def _change_of_many(model: type[Model], form: Form) -> str:
    names = _of_values(form)
    changes, conditions = _change_to(model, form, [f"given.v{n}" for n in range(len(names))])
    source = _recordset(model, names)
    return f"UPDATE {table(model)} SET {changes} FROM {source} WHERE {conditions}"  # noqa: S608


@functools.cache
def _change_of_unlocked(model: type[Model], form: Form, waits: bool) -> str:
    names = _of_values(form)
    changes, conditions = _change_to(model, form, [f"given.v{n}" for n in range(len(names))])
    (key,) = _columns(model, ("id",))
    rows = table(model)
    free = f"SELECT {key} FROM {rows} WHERE {key} = ANY(%s::bigint[]) FOR UPDATE SKIP LOCKED"  # noqa: S608
    given = f"ROWS FROM ({_recordset(model, names, '')}) WITH ORDINALITY"
    values = ", ".join(f"v{n}" for n in range(len(names)))
    if not waits:
        conditions = f"{conditions} AND {NOT_WAITED_FOR}"
    return (
        f"WITH free AS MATERIALIZED ({free}) UPDATE {rows} SET {changes}"  # noqa: S608
        f" FROM {given} AS given({values}, number), free"
        f" WHERE {rows}.{key} = free.{key} AND {conditions} RETURNING given.number"
    )


def _change_to(model: type[Model], form: Form, values: Sequence[str]) -> tuple[str, str]:
    """Return the SET clause and the condition, with these expressions for the `_values`."""
    names, moving, where, nulls = form
    value = iter(values)
    stands = f"{table(model)}.{{0}}"
    changes = [f"{column} = {next(value)}" for column in _columns(model, names)]
    move = f"{{0}} = CASE WHEN {stands} = {{1}} THEN {{2}} ELSE {stands} END"
    changes += [move.format(one, next(value), next(value)) for one in _columns(model, moving)]
    conditions = [f"{stands.format(one)} = {next(value)}" for one in _columns(model, where)]
    conditions += [f"{stands.format(one)} IS NULL" for one in _columns(model, nulls)]
    return ", ".join(changes), " AND ".join(conditions)


@functools.cache
def _insertion_of_many(model: type[Model], names: Names) -> str:
    columns = ", ".join(_columns(model, names))
    head = f"INSERT INTO {table(model)} ({columns}) SELECT given.*"
    return f"{head} FROM {_recordset(model, names)} ON CONFLICT DO NOTHING"


def _recordset(model: type[Model], names: Sequence[str], alias: str = " given") -> str:
    """Return a FROM clause for rows with values of these fields, sent as a `_document`."""
    kinds = [_field(model, name).db_type(connection) for name in names]
    columns = ", ".join(f"v{n} {kind}" for n, kind in enumerate(kinds))
    return f"json_to_recordset(%s::json) AS{alias}({columns})"


@functools.cache
def _look(model: type[Model], name: str) -> str:
    (column,) = _columns(model, (name,))
    (key,) = _columns(model, ("id",))
    given = "json_array_elements_text(%s::json) AS given(value)"
    # OFFSET 0 prevents a join, in which the planner could read the whole table.
    rows = f"SELECT {key} FROM {table(model)} WHERE {column} = given.value OFFSET 0"  # noqa: S608
    return f"SELECT found.* FROM {given} CROSS JOIN LATERAL ({rows}) AS found"  # noqa: S608


def _columns(model: type[Model], names: tuple[str, ...]) -> list[str]:
    return [connection.ops.quote_name(_field(model, name).column) for name in names]


def _field(model: type[Model], name: str) -> Any:
    return model._meta.get_field(name)

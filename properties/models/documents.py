"""Conditions on documents that the database itself enforces, and numbers that it reads in them."""

from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BooleanField, FloatField, Func, Q
from django.db.models.sql.compiler import SQLCompiler

MOST = "1e15"  # a larger number is no price, and might not fit into the column


class IsObject(Func):
    """Whether a JSON column holds an object, and not a list, text, number or null."""

    template = "JSONB_TYPEOF(%(expressions)s) = 'object'"
    output_field = BooleanField()

    def as_sqlite(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any
    ) -> Any:
        """Return the same condition for SQLite."""
        template = "JSON_TYPE(%(expressions)s) = 'object'"
        return self.as_sql(compiler, connection, template=template, **context)


def are_objects(*names: str) -> Q:
    """Return the condition that all of these columns hold an object."""
    return Q(*(IsObject(name) for name in names))


class NumberAt(Func):
    """The number at a path of a JSON column, NULL if there is none: no cast can fail.

    `NumberAt("desired", path="prices.buy.price")`. The path is a constant of ours.
    """

    template = (
        "CASE WHEN JSONB_TYPEOF(%(expressions)s #> '{%(keys)s}') = 'number' THEN"
        " CASE WHEN ABS((%(expressions)s #>> '{%(keys)s}')::numeric) < %(most)s"
        " THEN (%(expressions)s #>> '{%(keys)s}')::double precision END END"
    )
    output_field = FloatField(null=True)

    def __init__(self, column: str, path: str) -> None:
        super().__init__(column, path=path, keys=path.replace(".", ","), most=MOST)

    def as_sqlite(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any
    ) -> Any:
        """Return the same number for SQLite."""
        template = (
            "CASE WHEN JSON_TYPE(%(expressions)s, '$.%(path)s') IN ('integer', 'real')"
            " AND ABS(JSON_EXTRACT(%(expressions)s, '$.%(path)s')) < %(most)s"
            " THEN CAST(JSON_EXTRACT(%(expressions)s, '$.%(path)s') AS REAL) END"
        )
        return self.as_sql(compiler, connection, template=template, **context)

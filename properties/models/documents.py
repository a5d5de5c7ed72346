"""Conditions on documents that the database itself enforces."""

from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BooleanField, Func, Q
from django.db.models.sql.compiler import SQLCompiler


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

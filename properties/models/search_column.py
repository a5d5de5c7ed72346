"""The column that a search reads, its index, and the condition that a query becomes.

PostgreSQL finds the words in a GIN index. SQLite reads the index of this column instead of the wide
rows, in the order of the list. Neither needs an extension.
"""

from typing import Any, TypeVar

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import Q
from django.db.models.sql.compiler import SQLCompiler

from properties.search_text import alternatives, search_text

FEW = 3_000  # rows whose keys a query can name

Rows = TypeVar("Rows", bound=models.QuerySet[Any])

# The columns that the text is made of.
SOURCES = frozenset({"desired", "object_reference_id", "platform_id"})
# Lexemes are the words as they are: a parser would split them again, in its own way.
_LEXEMES = "array_to_tsvector(string_to_array(ltrim({}), ' '))"


class SearchField(models.Field):  # type: ignore[type-arg] # generic for the checker only
    """The words by which a row is found. A new row gets them by itself, an UPDATE has to set them.

    It is no `TextField`, because it is derived from the document, as a generated column is: whoever
    looks for texts finds them there.
    """

    def get_internal_type(self) -> str:
        return "TextField"

    def pre_save(self, model_instance: Any, add: bool) -> str:
        """Return the words of the row that is saved."""
        text = text_of(model_instance)
        setattr(model_instance, self.attname, text)
        return text


def text_of(row: Any, **columns: Any) -> str:
    """Return the words of a row, each behind a space, by which SQLite finds its beginning.

    Args:
        columns: newer values of columns of the row.
    """
    desired, *names = (
        columns.get(name, getattr(row, name))
        for name in ("desired", "object_reference_id", "platform_id")
    )
    return stored(search_text(desired, *names))


def stored(text: str) -> str:
    """Return the form in which the column has the words."""
    return f" {text}" if text else ""


@SearchField.register_lookup
class HasWord(models.Lookup):
    """`search__word="zur"`: the row has a word that begins with these letters or digits."""

    lookup_name = "word"
    prepare_rhs = False

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> Any:
        """Return the condition for SQLite. No word contains a wildcard."""
        column, params = self.process_lhs(compiler, connection)
        return f"{column} LIKE %s", [*params, f"% {self.rhs}%"]

    def as_postgresql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> Any:
        """Return the condition that the index answers. No word contains a quotation mark."""
        column, params = self.process_lhs(compiler, connection)
        return f"{_LEXEMES.format(column)} @@ %s::tsquery", [*params, f"'{self.rhs}':*"]


class SearchIndex(models.Index):
    """The index of the words: GIN on PostgreSQL; on SQLite a B-tree that ends with them."""

    def create_sql(
        self, model: Any, schema_editor: BaseDatabaseSchemaEditor, using: str = "", **kwargs: Any
    ) -> Any:
        """Return the statement for this database."""
        if schema_editor.connection.vendor != "postgresql":
            return super().create_sql(model, schema_editor, using, **kwargs)
        quote = schema_editor.quote_name
        lexemes = _LEXEMES.format(quote(model._meta.get_field(self.fields[-1]).column))
        table = quote(model._meta.db_table)
        return f"CREATE INDEX {quote(self.name)} ON {table} USING gin ({lexemes})"


def _matching(query: str) -> Q:
    """Return the condition that a row has all words of a query, in any order."""
    found = Q(pk__in=[])
    for words in alternatives(query):
        found |= Q(*(Q(search__word=word) for word in words))
    return found


def search(rows: Rows, query: str) -> Rows:
    """Return the rows that have all words of a query, in any order.

    If few properties have them, their keys are looked up first, because both databases would
    otherwise guess how many there are, and read all rows in the order of the list if they guess
    wrong. If many have them, the first ones in that order are found soon.
    """
    found = _matching(query)
    whole = rows.model._default_manager.filter(found)
    keys = list(whole.values_list("pk", flat=True)[: FEW + 1])
    return rows.filter(pk__in=keys) if len(keys) <= FEW else rows.filter(found)

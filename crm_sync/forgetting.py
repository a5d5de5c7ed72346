"""Removes people from all texts, documents and events that our apps store (S23).

Each app declares its free text, and only this is changed. A name in any other place is reported and
not changed.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any, TypeAlias

from django.apps import apps
from django.db import transaction
from django.db.models import CharField, Field, JSONField, Model, Q, QuerySet, TextField
from django.db.models.functions import Cast

from crm_sync import hooks
from crm_sync.inbox import event_retention
from crm_sync.models import ReceivedEvent
from crm_sync.naming import NameSearch, text_of
from crm_sync.secrets import EncryptedTextField
from crm_sync.sentence import Sentence

Column: TypeAlias = tuple[type[Model], str]


@dataclass(frozen=True)
class Mention:
    """A row that names the person.

    Attributes:
        where: the model and the column, in words.
        texts: the name with the words around it.
        is_left: whether it was not changed, or would not be.
    """

    where: str
    row: Any
    texts: list[str]
    is_left: bool


def places(
    names: NameSearch, *, without: Mapping[Column, Iterable[Any]], write: bool, now: datetime
) -> Iterator[Mention]:
    """Yield each place that names the person, and blank the name in free text, row by row.

    Args:
        without: the keys of rows to skip, by column.
        write: whether to change the rows.
    """
    for model in apps.get_models():
        for column in model._meta.concrete_fields:
            if isinstance(column, CharField | TextField | JSONField) and not isinstance(
                column, EncryptedTextField
            ):
                skipped = without.get((model, column.name), ())
                yield from _in_column(model, column, names, skipped, write=write)
    yield from _in_events(names, write=write, now=now)


def _in_column(
    model: type[Model],
    column: "Field[Any, Any]",
    names: NameSearch,
    skipped: Iterable[Any],
    *,
    write: bool,
) -> Iterator[Mention]:
    where = f"{model._meta.verbose_name}: {column.verbose_name}"
    all_rows: QuerySet[Any] = model._default_manager.exclude(pk__in=list(skipped))
    as_texts = all_rows.annotate(as_text=Cast(column.name, TextField()))
    for key in list(as_texts.filter(_may_hold(names)).values_list("pk", flat=True)):
        with transaction.atomic():
            row = model._default_manager.filter(pk=key)
            before = row.select_for_update().values_list(column.name, flat=True).first()
            texts = names.shown(before)
            if not texts:
                continue
            is_free = row.filter(_free(model, column.name)).exists()
            after, left = _blanked(names, before) if is_free else (before, texts)
            if write and after != before:
                row.update(**{column.name: _fitting(column, after, key)})
        if after != before:
            yield Mention(where, key, texts, is_left=False)
        if left:
            yield Mention(where, key, left, is_left=True)


def _blanked(names: NameSearch, value: Any) -> tuple[Any, list[str]]:
    if not isinstance(value, Sentence):
        return names.blanked(value)
    stored, left = names.blanked(value.stored)
    return type(value).of(stored), left


def _free(model: type[Model], column: str) -> Q:
    """Select the rows in which a column is free text; no rows if no app declares it."""
    named = hooks.plugged().free_text
    found = [one.rows for one in named if one.model is model and column in one.columns]
    return found[0] if found else Q(pk__in=[])


def _may_hold(names: NameSearch) -> Q:
    """Select the rows that may hold a name. SQLite ignores case only in ASCII."""
    pieces = list(names.pieces())
    if not all(pieces):
        return Q()
    found = Q(pk__in=[])
    for piece in pieces:
        found |= Q(as_text__icontains=piece)
    return found


def _fitting(column: "Field[Any, Any]", value: Any, key: Any) -> Any:
    """Return a value that the column can hold. A name that is unique ends with the row's key."""
    limit = getattr(column, "max_length", None)
    if not limit or not isinstance(value, str):
        return value
    unique = column.model._meta.total_unique_constraints
    end = f" {key}" if any(column.name in one.fields for one in unique) else ""
    return f"{value[: limit - len(end)]}{end}"


def _in_events(names: NameSearch, *, write: bool, now: datetime) -> Iterator[Mention]:
    """Search the bytes of received events. A pending event retains them, or it would be lost.

    Replays are searched twice: one may copy the bytes of an event while this comes to it.
    """
    rows = ReceivedEvent.objects.filter(cleared_at=None).only("pk", "body", "state", "due_at")
    found = set()
    for row in chain(rows.iterator(500), rows.filter(replay_of__gt=0).iterator(500)):
        texts = names.shown(text_of(bytes(row.body)))
        if not texts or row.pk in found:
            continue
        found.add(row.pk)
        is_settled = row.state in ReceivedEvent.SETTLED and row.due_at is None
        if write and is_settled:
            is_settled = event_retention.clear_now([row.pk], now=now) == 1
        yield Mention("received event: body", row.pk, texts, is_left=not is_settled)

"""Removes a person from all that is stored here, and marks whom no read may store again (S23).

Whom the words name is looked up first: among the users of the platform, the photographers and our
own accounts; what stands there of the same person (e-mail, phone, whole name) is looked for as
well. Then each text, JSON document and stored event of our apps is searched. Keys stay, since rows
hang on them, and so do the documents of properties: those are changed by an edit, which reaches
the platform, too.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import CharField, Field, JSONField, Model, Q, TextField
from django.db.models.functions import Cast

from crm_sync import second_factor
from crm_sync.inbox import retention
from crm_sync.models import ReceivedEvent
from crm_sync.secrets import EncryptedTextField
from orders.mirror import forgotten
from orders.models import Assignment, CalendarFeed, Look, PersonSettings, PlatformUser

FORGOTTEN = "[forgotten]"
SHORTEST = 4  # characters of a word that is looked for: shorter ones are in everything
CONTACT = ("name", "email", "phone")
APPS = ("crm_sync", "orders", "properties")
KEYS = frozenset(
    {
        *("platform_id", "user_reference_id", "user_platform_id", "object_reference_id", "slug"),
        *("property_platform_id", "order_platform_id", "digest", "canonical_digest", "base_url"),
    }
)
# Whoever is named there was found by it, and is blanked whole.
CONTACTS = {*((PlatformUser, name) for name in CONTACT), (Assignment, "photographer")}
# What describes a property: an edit changes it, here and on the platform.
OF_PROPERTIES = "properties"

Found: TypeAlias = Counter[str]


@dataclass
class Person:
    """Who is meant.

    Attributes:
        words: what is looked for, in lower case: e-mails, phones, whole names.
        users: keys of the users of the platform.
        photographers: workspace and the platform's id of each.
        accounts: keys of our own.
    """

    words: set[str]
    users: set[int] = field(default_factory=set)
    photographers: set[tuple[int, str]] = field(default_factory=set)
    accounts: set[int] = field(default_factory=set)

    def take(self, texts: Iterable[Any]) -> None:
        """Look for more of the same person; a single name is in too many texts."""
        known = {str(text or "").strip().casefold() for text in texts}
        self.words |= {one for one in known if len(one) >= SHORTEST and not one.isalpha()}

    @property
    def pattern(self) -> re.Pattern[str]:
        """Finds each of the words as a whole."""
        longest_first = sorted(self.words, key=len, reverse=True)
        either = "|".join(map(re.escape, longest_first))
        return re.compile(rf"(?<!\w)(?:{either})(?!\w)", re.IGNORECASE)


def find(words: Iterable[str]) -> Person:
    """Return who is named by an e-mail, a phone or a name, as a whole and in any case.

    Raises:
        ValueError: a word is too short to be looked for.
    """
    person = Person({word.strip().casefold() for word in words})
    for word in person.words:
        if len(word) < SHORTEST:
            raise ValueError(f"{word!r} is too short: give an e-mail, a phone or a whole name")
    known = -1
    while known != len(person.words):
        known = len(person.words)
        _find_users(person)
        _find_photographers(person)
        _find_accounts(person)
    return person


def forget(person: Person, *, now: datetime, dry_run: bool) -> tuple[Found, Found]:
    """Blank what is stored of a person; each row in a transaction of its own.

    Returns:
        how many places were changed, and how many are left, by model and column.
    """
    changed, left = Counter[str](), Counter[str]()
    write = not dry_run
    if write:
        _mark(person, now)
    changed.update(_blank_contacts(person, write=write))
    for place, is_kept in _search(person, write=write, now=now):
        (left if is_kept else changed)[place] += 1
    changed.update(_close_accounts(person, write=write))
    return changed, left


def _find_users(person: Person) -> None:
    for row in PlatformUser.objects.exclude(name="", email="", phone=""):
        texts = [getattr(row, name) for name in CONTACT]
        if _is_named(person, texts):
            person.users.add(row.pk)
            person.take(texts)


def _find_photographers(person: Person) -> None:
    rows = Assignment.objects.exclude(photographer={}).values_list("workspace_id", "photographer")
    for workspace_id, known in rows.iterator():
        texts = [known.get(name) for name in CONTACT] if isinstance(known, dict) else []
        if _is_named(person, texts):
            person.photographers.add((workspace_id, str(known.get("id"))))
            person.take(texts)


def _find_accounts(person: Person) -> None:
    for row in User.objects.exclude(username__startswith=FORGOTTEN):
        texts = [row.username, row.email, row.get_full_name()]
        if _is_named(person, texts):
            person.accounts.add(row.pk)
            person.take(texts)


def _is_named(person: Person, texts: Iterable[Any]) -> bool:
    return any(str(text or "").strip().casefold() in person.words for text in texts)


def _mark(person: Person, now: datetime) -> None:
    """Mark them before anything is blanked: a read may come in between."""
    for workspace_id, platform_id in person.photographers:
        forgotten.remember(workspace_id, forgotten.PHOTOGRAPHER, platform_id, now=now)
    rows = PlatformUser.objects.filter(pk__in=person.users)
    for workspace_id, platform_id in rows.values_list("workspace_id", "platform_id"):
        forgotten.remember(workspace_id, forgotten.USER, platform_id, now=now)


def _blank_contacts(person: Person, *, write: bool) -> Found:
    """Blank users and photographers whole: their language and country say who it is, too."""
    users = PlatformUser.objects.filter(pk__in=person.users)
    found = Counter({"platform user": users.count()})
    if write:
        users.update(name="", email="", phone="", language="", country="", account=None)
    for workspace_id, platform_id in person.photographers:
        rows = Assignment.objects.filter(
            workspace_id=workspace_id,
            photographer__id=platform_id,  # ids are kept as texts (A7)
        )
        found["photographer of an assignment"] += rows.count()
        if write:
            rows.update(photographer={"id": platform_id})
    return +found


def _search(person: Person, *, write: bool, now: datetime) -> Iterator[tuple[str, bool]]:
    """Yield each place where a word stands, and whether it is left; blank the others."""
    models: list[type[Model]] = [LogEntry]
    for app in APPS:
        models += apps.get_app_config(app).get_models()
    for model in models:
        for column in model._meta.concrete_fields:
            if isinstance(column, EncryptedTextField) or (model, column.name) in CONTACTS:
                continue
            if isinstance(column, CharField | TextField | JSONField):
                yield from _in_column(model, column, person, write=write)
    yield from _in_events(person, write=write, now=now)


def _in_column(
    model: type[Model], column: "Field[Any, Any]", person: Person, *, write: bool
) -> Iterator[tuple[str, bool]]:
    place = f"{model._meta.verbose_name}: {column.verbose_name}"
    pattern = person.pattern
    is_kept = column.name in KEYS or column.unique or model._meta.app_label == OF_PROPERTIES
    rows = model._default_manager.annotate(as_text=Cast(column.name, TextField()))
    for row_id in list(rows.filter(_may_hold(person)).values_list("pk", flat=True)):
        with transaction.atomic():
            row = model._default_manager.select_for_update().filter(pk=row_id).first()
            before = getattr(row, column.name, None)
            after = _blanked(before, pattern, getattr(column, "max_length", None))
            if row is None or after == before:
                continue
            if write and not is_kept:
                model._default_manager.filter(pk=row_id).update(**{column.name: after})
        yield place, is_kept


def _may_hold(person: Person) -> Q:
    """Select what the database finds of the words; JSON may have them in escapes."""
    forms = {form for word in person.words for form in (word, json.dumps(word)[1:-1])}
    found = Q()
    for form in forms:
        found |= Q(as_text__icontains=form)
        # SQLite folds the letters of ASCII alone.
        found |= Q(as_text__contains=form.title()) | Q(as_text__contains=form.upper())
    return found


def _blanked(value: Any, pattern: re.Pattern[str], limit: int | None) -> Any:
    if isinstance(value, str):
        return pattern.sub(FORGOTTEN, value)[:limit]
    if isinstance(value, list):
        return [_blanked(one, pattern, None) for one in value]
    if isinstance(value, dict):
        return {name: _blanked(one, pattern, None) for name, one in value.items()}
    return value


def _in_events(person: Person, *, write: bool, now: datetime) -> Iterator[tuple[str, bool]]:
    """Search the bytes of received events; one that waits keeps them, else it would be lost."""
    pattern, place = person.pattern, "received event: body"
    rows = ReceivedEvent.objects.filter(cleared_at=None).only("pk", "body", "state", "due_at")
    for row in rows.iterator(500):
        body = bytes(row.body).decode(errors="replace")
        if not (pattern.search(body) or pattern.search(_unescaped(body))):
            continue
        is_settled = row.state in ReceivedEvent.SETTLED and row.due_at is None
        if write and is_settled:
            is_settled = retention.clear_now([row.pk], now=now) == 1
        yield place, not is_settled


def _unescaped(body: str) -> str:
    try:
        return json.dumps(json.loads(body), ensure_ascii=False)
    except ValueError:
        return body


def _close_accounts(person: Person, *, write: bool) -> Found:
    """Blank our own accounts; the log names the account by its key, which now says nothing."""
    rows = User.objects.filter(pk__in=person.accounts)
    found = Counter({"account": rows.count()})
    if write:
        for row in rows:
            with transaction.atomic():
                for model in (PersonSettings, CalendarFeed, Look):
                    model._default_manager.filter(person=row).delete()
                second_factor.remove([row.pk])
                row.groups.clear()
                row.user_permissions.clear()
                row.workspaces.clear()
                row.set_unusable_password()
                row.username = f"{FORGOTTEN} {row.pk}"
                row.first_name = row.last_name = row.email = ""
                row.is_active = row.is_staff = row.is_superuser = False
                row.save()
    return +found

"""Removes a person from all that is stored here, and marks whom no read may store again (S23).

Whom the words name is looked up first: among the users of the platform, the photographers and our
own accounts; what stands there of the same person (e-mail, phone, whole name) is looked for as
well. Then all that our apps store is searched (`crm_sync.forgetting`).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from crm_sync import forgetting, second_factor
from crm_sync.forgetting import Column, Place
from crm_sync.naming import FORGOTTEN, Names, fault, folded
from orders.mirror import forgotten
from orders.models import Assignment, CalendarFeed, Look, Order, PersonSettings, PlatformUser

CONTACT = ("name", "email", "phone")


@dataclass
class Person:
    """Who is meant.

    Attributes:
        words: what is looked for, folded: e-mails, phones, whole names.
        not_looked_for: what is known of them too, and stands in too many texts: single names.
        users: keys of the users of the platform.
        photographers: workspace and the platform's id of each.
        accounts: keys of our own.
    """

    words: set[str]
    not_looked_for: set[str] = field(default_factory=set)
    users: set[int] = field(default_factory=set)
    photographers: set[tuple[int, str]] = field(default_factory=set)
    accounts: set[int] = field(default_factory=set)

    def take(self, texts: Iterable[Any]) -> None:
        """Look for more of the same person; a single name is in too many texts."""
        for word in {folded(str(text or "")) for text in texts} - {""}:
            (self.not_looked_for if fault(word) else self.words).add(word)


def find(words: Iterable[str]) -> Person:
    """Return who is named by an e-mail, a phone or a whole name, in any case and composition.

    Raises:
        ValueError: a word does not tell who is meant.
    """
    person = Person({folded(word) for word in words})
    for problem in filter(None, map(fault, sorted(person.words))):
        raise ValueError(problem)
    known = -1
    while known != len(person.words):
        known = len(person.words)
        _find_users(person)
        _find_photographers(person)
        _find_accounts(person)
    return person


def forget(person: Person, *, now: datetime, dry_run: bool) -> list[Place]:
    """Blank what is stored of a person, each row in a transaction of its own; return where it was.

    What is left is among them. A dry run returns the same places, and changes nothing.
    """
    write = not dry_run
    if write:
        _mark(person, now)
    contacts = _blank_contacts(person, write=write)
    names = Names(frozenset(person.words))
    texts = list(forgetting.places(names, without=_contacts(person), write=write, now=now))
    documents = _blank_documents(person, write=write)
    return [*contacts, *texts, *documents, *_close_accounts(person, write=write)]


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
    return any(folded(str(text or "")) in person.words for text in texts)


def _mark(person: Person, now: datetime) -> None:
    """Mark them before anything is blanked: a read may come in between."""
    for workspace_id, platform_id in person.photographers:
        forgotten.remember(workspace_id, forgotten.PHOTOGRAPHER, platform_id, now=now)
    rows = PlatformUser.objects.filter(pk__in=person.users)
    for workspace_id, platform_id in rows.values_list("workspace_id", "platform_id"):
        forgotten.remember(workspace_id, forgotten.USER, platform_id, now=now)


def _contacts(person: Person) -> dict[Column, list[int]]:
    """Return the rows that are blanked whole in the columns of contacts; others are searched."""
    found: dict[Column, list[int]] = {(PlatformUser, name): list(person.users) for name in CONTACT}
    found[Assignment, "photographer"] = [
        key
        for workspace_id, platform_id in person.photographers
        for key in _assignments(workspace_id, platform_id).values_list("pk", flat=True)
    ]
    return found


def _blank_contacts(person: Person, *, write: bool) -> list[Place]:
    """Blank users and photographers whole: their language and country say who it is, too."""
    users = PlatformUser.objects.filter(pk__in=person.users)
    found = [
        Place(
            "platform user",
            row.pk,
            ["; ".join(filter(None, (row.name, row.email, row.phone)))],
            is_left=False,
        )
        for row in users.exclude(name="", email="", phone="")
    ]
    if write:
        users.update(name="", email="", phone="", language="", country="", account=None)
    for workspace_id, platform_id in person.photographers:
        for row in _assignments(workspace_id, platform_id).exclude(
            photographer={"id": platform_id}
        ):
            said = ", ".join(str(row.photographer.get(name) or "") for name in CONTACT)
            found.append(Place("photographer of an assignment", row.pk, [said], is_left=False))
            if write:
                # Only as long as it is the same person.
                mine = _assignments(workspace_id, platform_id).filter(pk=row.pk)
                mine.update(photographer={"id": platform_id})
    return found


def _assignments(workspace_id: int, platform_id: str) -> QuerySet[Assignment]:
    # Ids are kept as texts (A7).
    mine = Assignment.objects.filter(workspace_id=workspace_id)
    return mine.filter(photographer__id=platform_id)


def _blank_documents(person: Person, *, write: bool) -> list[Place]:
    """Blank photographers in the documents of orders, where a single name says who it is, too."""
    found = []
    for workspace_id, platform_id in person.photographers:
        marks = frozenset({forgotten.digest(forgotten.PHOTOGRAPHER, platform_id)})
        theirs = _assignments(workspace_id, platform_id).values_list("order", flat=True)
        for key in sorted(set(theirs)):
            with transaction.atomic():
                row = Order.objects.select_for_update(no_key=True).only("observed").get(pk=key)
                after = forgotten.without_contacts(row.observed, marks)
                if after == row.observed:
                    continue
                if write:
                    Order.objects.filter(pk=key).update(observed=after)
            found.append(Place("photographer in an order", key, [], is_left=False))
    return found


def _close_accounts(person: Person, *, write: bool) -> list[Place]:
    """Blank our own accounts; the log names the account by its key, which now says nothing."""
    rows = list(User.objects.filter(pk__in=person.accounts))
    if write:
        for row in rows:
            _close(row)
    return [Place("account", row.pk, [row.username], is_left=False) for row in rows]


def _close(row: User) -> None:
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

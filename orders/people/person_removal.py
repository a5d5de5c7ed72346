"""Removes a person from everything stored here, and marks them against later reads (S23).

Their contacts are blanked completely. Then everything that our apps store is searched
(`crm_sync.forgetting`).
"""

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any

from axes.models import AccessAttempt
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.db.models import Model, QuerySet
from django_otp.plugins.otp_static.models import StaticDevice

from crm_sync import forgetting, row_locks
from crm_sync.forgetting import Column, Mention
from crm_sync.models import AuthenticatorApp, NamedView, ProviderAccount
from crm_sync.naming import FORGOTTEN, NameSearch
from orders.mirror import forgotten_people
from orders.models import (
    Assignment,
    CalendarFeed,
    Look,
    Order,
    PersonSettings,
    PlatformUser,
    Reminder,
    ReminderSettings,
)
from orders.people.person_search import ACCOUNT, CONTACT, PHOTOGRAPHER, USER, Person

# What a person chose or looked at. It goes, although the row of the account stays.
OF_AN_ACCOUNT: tuple[type[Model], ...] = (
    *(PersonSettings, ReminderSettings, Reminder, CalendarFeed, Look),
    NamedView,
)
NAMES_OF_AN_ACCOUNT = ("username", "first_name", "last_name", "email")


def forget(person: Person, *, now: datetime, dry_run: bool) -> list[Mention]:
    """Blank the stored data of a person, each row in its own transaction. Return the places.

    The places include data that remains. A dry run returns the same places and changes nothing.
    """
    write = not dry_run
    if write:
        _mark(person, now)
    contacts = _blank_contacts(person, write=write)
    names = NameSearch(frozenset(person.words))
    texts = list(forgetting.places(names, without=_contacts(person), write=write, now=now))
    documents = _blank_documents(person, write=write)
    others = [Mention(one.what, one.key, [str(one)], is_left=True) for one in person.others]
    return [*contacts, *texts, *documents, *_close_accounts(person, write=write), *others]


@transaction.atomic
def _mark(person: Person, now: datetime) -> None:
    """Mark the person before anything is blanked, because a read may happen in between.

    A read that did not find the mark has written when this returns, also where they are new.
    """
    for workspace_id, platform_id in person.keys(PHOTOGRAPHER):
        forgotten_people.remember(workspace_id, forgotten_people.PHOTOGRAPHER, platform_id, now=now)
    rows = PlatformUser.objects.filter(pk__in=person.keys(USER))
    for workspace_id, platform_id in rows.values_list("workspace_id", "platform_id"):
        forgotten_people.remember(workspace_id, forgotten_people.USER, platform_id, now=now)
    row_locks.lock_table(Assignment)


def _contacts(person: Person) -> dict[Column, list[int]]:
    """Return the rows that go or are blanked completely, by column. Other rows are searched."""
    found: dict[Column, list[int]] = {
        (PlatformUser, name): list(person.keys(USER)) for name in CONTACT
    }
    found[Assignment, "photographer"] = [
        key
        for workspace_id, platform_id in person.keys(PHOTOGRAPHER)
        for key in _assignments(workspace_id, platform_id).values_list("pk", flat=True)
    ]
    accounts = list(User.objects.filter(pk__in=person.keys(ACCOUNT)))
    found |= {(User, name): list(person.keys(ACCOUNT)) for name in NAMES_OF_AN_ACCOUNT}
    for rows in _gone_with(accounts):
        keys = list(rows.values_list("pk", flat=True))
        found |= {(rows.model, one.name): keys for one in rows.model._meta.fields}
    return found


def _gone_with(accounts: Collection[User]) -> Iterator[QuerySet[Any]]:
    """Yield the rows that go when the accounts are closed."""
    yield _failed_logins(accounts)
    for model in OF_AN_ACCOUNT:
        yield model._default_manager.filter(person__in=accounts)
    for model in (ProviderAccount, AuthenticatorApp, StaticDevice):
        yield model._default_manager.filter(user__in=accounts)


def _failed_logins(accounts: Collection[User]) -> QuerySet[AccessAttempt]:
    # A failed login has a name only if it is that of an account (`login.name_kept`).
    mine: QuerySet[AccessAttempt] = AccessAttempt.objects.filter(
        username__in=[row.username for row in accounts]
    )
    return mine


def _blank_contacts(person: Person, *, write: bool) -> list[Mention]:
    """Blank users and photographers completely: language and country can identify them, too."""
    users = PlatformUser.objects.filter(pk__in=person.keys(USER))
    found = [
        Mention(
            "platform user",
            row.pk,
            ["; ".join(filter(None, (row.name, row.email, row.phone)))],
            is_left=False,
        )
        for row in users.exclude(name="", email="", phone="")
    ]
    if write:
        users.update(name="", email="", phone="", language="", country="", account=None)
    for workspace_id, platform_id in person.keys(PHOTOGRAPHER):
        for row in _assignments(workspace_id, platform_id).exclude(
            photographer={"id": platform_id}
        ):
            said = ", ".join(str(row.photographer.get(name) or "") for name in CONTACT)
            found.append(Mention("photographer of an assignment", row.pk, [said], is_left=False))
            if write:
                # Only if it is still the same person.
                mine = _assignments(workspace_id, platform_id).filter(pk=row.pk)
                mine.update(photographer={"id": platform_id})
    return found


def _assignments(workspace_id: int, platform_id: str) -> QuerySet[Assignment]:
    # Ids are stored as texts (A7).
    mine = Assignment.objects.filter(workspace_id=workspace_id)
    return mine.filter(photographer__id=platform_id)


def _blank_documents(person: Person, *, write: bool) -> list[Mention]:
    """Blank photographers in the documents of orders, where a name alone can identify them, too."""
    found = []
    for workspace_id, platform_id in person.keys(PHOTOGRAPHER):
        marks = frozenset({forgotten_people.digest(forgotten_people.PHOTOGRAPHER, platform_id)})
        theirs = _assignments(workspace_id, platform_id).values_list("order", flat=True)
        for key in sorted(set(theirs)):
            with transaction.atomic():
                row = Order.objects.select_for_update(no_key=True).only("observed").get(pk=key)
                after = forgotten_people.without_contacts(row.observed, marks)
                if after == row.observed:
                    continue
                if write:
                    Order.objects.filter(pk=key).update(observed=after)
            found.append(Mention("photographer in an order", key, [], is_left=False))
    return found


def _close_accounts(person: Person, *, write: bool) -> list[Mention]:
    """Blank our own accounts. The log names an account by its key, which now reveals nothing."""
    rows = list(User.objects.filter(pk__in=person.keys(ACCOUNT)))
    failed = _failed_logins(rows)
    found = [
        Mention(str(one._meta.verbose_name), one.pk, [str(one)], is_left=False) for one in failed
    ]
    found += [Mention("account", row.pk, [row.username], is_left=False) for row in rows]
    if write:
        for row in rows:
            _close(row)
    return found


def _close(row: User) -> None:
    with transaction.atomic():
        for rows in _gone_with([row]):
            rows.delete()
        row.groups.clear()
        row.user_permissions.clear()
        row.workspaces.clear()
        row.set_unusable_password()
        row.username = f"{FORGOTTEN} {row.pk}"
        row.first_name = row.last_name = row.email = ""
        row.is_active = row.is_staff = row.is_superuser = False
        row.save()
        # A user name of one word is found in no text, but the history of the account has it.
        mine = LogEntry.objects.filter(content_type=ContentType.objects.get_for_model(row))
        mine.filter(object_id=row.pk).update(object_repr=str(row))

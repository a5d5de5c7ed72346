"""The settings of a person: mails, the orders that they are about, time zone and language."""

import zoneinfo
from collections.abc import Collection
from datetime import datetime
from functools import cache
from typing import Any

from django.contrib.auth.models import User

from crm_sync.models import AlarmKind
from orders.models import PersonSettings
from orders.models.news import News
from orders.models.person_settings import alarm_switch_of, switch_of

OTHER_NAMES = ("Etc/", "SystemV/", "posix/", "right/")  # prefixes of second names of time zones
TRIES = 8  # tries if another form of the same person is saved at the same time


def settings_of(person: User) -> PersonSettings:
    """Return the settings of the person, or the default settings if there is no row."""
    return PersonSettings.objects.filter(person=person).first() or PersonSettings(person=person)


@cache
def time_zones() -> tuple[str, ...]:
    """Return the names of the time zones that a person can choose, such as Europe/Zurich."""
    named = (name for name in zoneinfo.available_timezones() if "/" in name)
    return ("UTC", *sorted(name for name in named if not name.startswith(OTHER_NAMES)))


def choose(
    person: User,
    *,
    kinds: Collection[News],
    alarms: Collection[str] = (),
    only_mine: bool,
    time_zone: str,
    language: str,
    now: datetime,
) -> None:
    """Write the choices. Events from a time in which the person wanted no mail are never mailed.

    Args:
        alarms: the kinds of alarms about which an operator wants mail.
        time_zone: one of `time_zones()`, or "" for the zone of the installation.
        language: one of `LANGUAGES`, or "" for that of the account on the platform or the browser.
    """
    columns: dict[str, Any] = {switch_of(kind): kind in kinds for kind in News}
    columns |= {alarm_switch_of(kind): kind in alarms for kind in AlarmKind}
    columns |= {"only_mine": only_mine, "time_zone": time_zone, "language": language}
    columns["zone_answered"] = True
    PersonSettings.objects.get_or_create(person=person)
    mine = PersonSettings.objects.filter(person=person)
    for _ in range(TRIES):
        is_off = settings_of(person).told_until is None
        if kinds and is_off:
            columns |= {"due_at": now, "told_until": now, "attempts": 0}
        elif not kinds:
            # A worker that is sending has its lease until the end, but finds no watermark to move.
            columns |= {"due_at": None, "told_until": None, "telling_until": None, "problem": ""}
        if mine.filter(told_until__isnull=is_off).update(**columns):
            return
    raise RuntimeError(f"the settings of {person} change all the time")


def answer_zone(person: User, time_zone: str | None) -> None:
    """Record that the person has seen which zone their browser has, and take it unless None.

    Raises:
        ValueError: it is not one of `time_zones()`.
    """
    if time_zone is not None and time_zone not in time_zones():
        raise ValueError("no time zone that can be chosen")
    columns = {} if time_zone is None else {"time_zone": time_zone}
    PersonSettings.objects.get_or_create(person=person)
    PersonSettings.objects.filter(person=person).update(zone_answered=True, **columns)


def dismiss(person: User, *, until: datetime) -> None:
    """Record that the person has seen the news on the overview until this moment."""
    PersonSettings.objects.get_or_create(person=person)
    PersonSettings.objects.filter(person=person).update(seen_until=until)

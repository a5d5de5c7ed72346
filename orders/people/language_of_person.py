"""The language of a person: of their pages, mails and calendar, whoever caused them."""

from collections.abc import Collection

from django.contrib.auth.models import User
from django.db.models import FilteredRelation, Q
from django.db.models.functions import Lower
from django.utils.translation import get_supported_language_variant

from orders.models import PersonSettings


def reader(person_id: int) -> tuple[PersonSettings, str | None]:
    """Return the zone and language that a person chose, and `language_of` them, by one query."""
    tied = FilteredRelation("platform_users", condition=Q(platform_users__gone_at=None))
    columns = ("person_settings__time_zone", "person_settings__language", "tied__language")
    rows = User.objects.filter(pk=person_id).annotate(tied=tied).order_by("tied__pk")
    found = list(rows.values_list(*columns))
    zone, chosen, _language = found[0]
    mine = PersonSettings(person_id=person_id, time_zone=zone or "", language=chosen or "")
    known = [mine.language, *(language or "" for _zone, _chosen, language in found)]
    return mine, next(filter(None, map(_offered, known)), None)


def language_of(mine: PersonSettings) -> str | None:
    """Return the language that a person chose, else that of their account on the platform.

    Only languages that are offered count. None if neither is known: then it is up to the browser,
    or to `LANGUAGE_CODE` where there is none. At most one query.
    """
    return _offered(mine.language) or reader(mine.person_id)[1]


def language_by_account(person: User) -> str | None:
    """Return `language_of` for an account."""
    return reader(person.pk)[1]


def languages_of(addresses: Collection[str]) -> dict[str, str]:
    """Return the language of each mail address that belongs to an account, in lower case."""
    people = User.objects.filter(is_active=True).annotate(address=Lower("email")).order_by("-pk")
    mine = people.filter(address__in={one.lower() for one in addresses})
    found = {address: reader(pk)[1] for pk, address in mine.values_list("pk", "address")}
    return {address: language for address, language in found.items() if language}


def _offered(code: str) -> str | None:
    """Return the language of ours for a code as people and programs write it: `de_CH`, `DE`."""
    try:
        return get_supported_language_variant(code.replace("_", "-").lower())
    except LookupError:
        return None

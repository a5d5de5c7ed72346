"""The pages of `finding` as JSON: python -m lab.benchmarks.finding_rounds

A line `{"what": text, "milliseconds": [of each request]}` for each search: the whole answer, as an
agent gets it. A quarter of the properties belongs to another workspace.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from urllib.parse import urlencode

import django

django.setup()

from django.contrib.auth.models import Group, User  # noqa: E402 - Django is set up only now
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402
from django.utils import timezone  # noqa: E402

from crm_sync.models import Workspace  # noqa: E402
from lab.benchmarks.visits import visit  # noqa: E402
from properties.models import Property  # noqa: E402

SIZES = (1_000, 10_000, 100_000)
ROUNDS = 7
LIST, CHOICE = "/admin/properties/property/", "/admin/orders/placement/search/"
PALETTE = "/admin/search/"
TEXT = "Hell und ruhig, mit Blick auf den See. " * 50
STREETS = ("Seestrasse", "Bahnhofstrasse", "Dorfweg", "Kirchgasse", "Im Grünen Hof")
PLACES = ("Zürich", "Bern", "Winterthur", "Basel", "Luzern", "Genève", "Thun")
NAMES = ("Müller", "Meier", "Schmid", "Keller", "Weber", "Huber", "Favre", "Rossi")
CHOSEN = random.Random(7)


def main() -> None:
    """Fill the database step by step; after each step search as an agent does."""
    call_command("migrate", verbosity=0)
    mine = Workspace.objects.create(slug="main", base_url="https://platform.test")
    other = Workspace.objects.create(slug="other", base_url="https://platform.test")
    agent = User.objects.create(username="agent", is_staff=True)
    agent.groups.add(Group.objects.get(name="Agents"))
    agent.workspaces.add(mine)
    client = Client(SERVER_NAME="localhost")
    client.force_login(agent)
    there = 0
    for size in SIZES:
        numbers = range(there, size)
        rows = (a_row(mine if number % 4 else other, number) for number in numbers)
        Property.objects.bulk_create(rows, batch_size=1_000)
        there = size
        with connection.cursor() as cursor:
            cursor.execute("vacuum analyze" if connection.vendor == "postgresql" else "analyze")
        for what, address in searches(size):
            visit(client, f"{size:,} properties, {what}", address, rounds=ROUNDS)


def a_row(workspace: Workspace, number: int) -> Property:
    """Return a property of some 3 KB, in step."""
    name = CHOSEN.choice(NAMES)
    phone = f"044 {CHOSEN.randrange(10**7):07}"
    document = {
        "objectReferenceId": f"ZH-{number}",
        "title": f"Wohnung {number}, {CHOSEN.choice(('hell', 'ruhig', 'modern'))}",
        "descriptionText": TEXT,
        "propertyType": "APARTMENT",
        "address": {
            "street": CHOSEN.choice(STREETS) if number % 2 else f"Strasse {number}",
            "streetNumber": str(number % 120),
            "postalCode": str(1_000 + number % 9_000),
            "locality": CHOSEN.choice(PLACES),
        },
        "owner": {"givenName": "Anna", "familyName": f"{name}{number}"},
        "seller": {
            "organization": {"legalName": "Musterhaus AG", "phone": "044 000 01 02"},
            "contactPerson": {"familyName": name, "phone": phone},
        },
    }
    now = timezone.now()
    return Property(
        workspace=workspace,
        object_reference_id=f"ZH-{number}",
        platform_id=f"{number}",
        desired=document,
        observed=document,
        read_at=now,
    )


def searches(size: int) -> Iterator[tuple[str, str]]:
    """Yield the searches: what one, many and no property has."""
    one = Property.objects.get(object_reference_id=f"ZH-{size // 2 + 1}").desired
    person, place = one["seller"]["contactPerson"], one["address"]
    for what, words in {
        "its address": f"{place['locality']} {place['street']} {place['postalCode']}",
        "its reference": one["objectReferenceId"],
        "its phone": person["phone"],
        "its owner": f"{one['owner']['familyName']} anna",
        "a place, a street and a name": "zurich seestr muller",
        "a word of all": "wohnung",
        "a letter": "z",
        "a word of none": "nirgends",
    }.items():
        yield what, f"{LIST}?{urlencode({'q': words})}"
    yield (
        "its reference, as a choice",
        f"{CHOICE}?{urlencode({'term': 'ZH-' + str(size // 2 + 1)})}",
    )
    yield "its reference, everywhere", f"{PALETTE}?{urlencode({'s': one['objectReferenceId']})}"
    yield "a word of all, everywhere", f"{PALETTE}?{urlencode({'s': 'wohnung'})}"
    yield "a word of all, as a choice", f"{CHOICE}?{urlencode({'term': 'wohnung'})}"


if __name__ == "__main__":
    main()

"""The pages of `finding` as JSON: python -m lab.benchmarks.finding_rounds

A line of `visits.visit` for each search and each filter of the list: the whole answer, as an agent
gets it. A quarter of the properties belongs to another
workspace. Every second one has an order: 6 % of these are open, the others have three photos.
"""

import random
from collections.abc import Iterator
from urllib.parse import urlencode

import django

django.setup()

from django.contrib.auth.models import Group, User  # noqa: E402 - Django is set up only now
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402
from django.utils import timezone  # noqa: E402

from crm_sync.models import Workspace  # noqa: E402
from lab.benchmarks.visits import visit  # noqa: E402
from orders.models import Material, MaterialSet, Order  # noqa: E402
from properties.models import Property  # noqa: E402

SIZES = (1_000, 10_000, 100_000)
ROUNDS = 7
LIST, CHOICE = "/admin/properties/property/", "/admin/orders/placement/search/"
PALETTE = "/admin/search/"
OPEN = 0.06  # of all orders
PHOTOS = 3  # of each order that has ended
TEXT = "Hell und ruhig, mit Blick auf den See. " * 50
STREETS = ("Seestrasse", "Bahnhofstrasse", "Dorfweg", "Kirchgasse", "Im Grünen Hof")
PLACES = ("Zürich", "Bern", "Winterthur", "Basel", "Luzern", "Genève", "Thun")
RARE = "Soglio"  # one property in a thousand
NAMES = ("Müller", "Meier", "Schmid", "Keller", "Weber", "Huber", "Favre", "Rossi")
CHOSEN = random.Random(7)


def main() -> None:
    """Fill the database step by step; after each step search as an agent does."""
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
        deliver(there)
        there = size
        with connection.cursor() as cursor:
            cursor.execute("vacuum analyze" if connection.vendor == "postgresql" else "analyze")
        for what, address in (*searches(size), *filters()):
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
            "locality": CHOSEN.choice(PLACES) if number % 1_000 != 1 else RARE,
        },
        "numberOfRooms": number % 15 / 2,
        **an_offer(number),
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


def an_offer(number: int) -> dict[str, object]:
    """Return the offer of a property and its price: two of three are for rent."""
    if number % 3:
        rent = {"net": 500 + number % 4_000, "interval": "MONTH"}
        return {"offerType": "RENT", "prices": {"currency": "CHF", "rent": rent}}
    buy = {"price": 200_000 + number % 2_000 * 1_000}
    return {"offerType": "BUY", "prices": {"currency": "CHF", "buy": buy}}


def deliver(there: int) -> None:
    """Give an order, and its photos, to every second of the properties behind the first ones."""
    now = timezone.now()
    homes = Property.objects.order_by("pk").values_list("pk", "workspace")[there::2]
    orders = Order.objects.bulk_create(
        (
            Order(
                workspace_id=workspace,
                real_estate_property_id=home,
                platform_id=f"{home}",
                status="COMPLETED" if CHOSEN.random() > OPEN else "IN_PROGRESS",
            )
            for home, workspace in homes
        ),
        batch_size=1_000,
    )
    sets = MaterialSet.objects.bulk_create(
        (
            MaterialSet(
                workspace_id=one.workspace_id,
                order=one,
                ready_at=now,
                fetched_at=now,
                property_platform_id=one.platform_id,
                target_platform="x",
            )
            for one in orders
            if one.status == "COMPLETED"
        ),
        batch_size=1_000,
    )
    photos = (
        Material(material_set=one, platform_id=f"{number}", product="GROUND_PHOTO")
        for one in sets
        for number in range(PHOTOS)
    )
    Material.objects.bulk_create(photos, batch_size=1_000)


def filters() -> Iterator[tuple[str, str]]:
    """Yield the filters of the list: what many, few and no properties have."""
    for what, query in {
        "the list": {},
        "for rent": {"offer": "RENT"},
        "2,000 to 2,500": {"asking_price_from": 2_000, "asking_price_to": 2_500},
        "2,000 to 2,001": {"asking_price_from": 2_000, "asking_price_to": 2_001},
        "no such price": {"asking_price_from": 5_000, "asking_price_to": 5_001},
        "3.5 rooms": {"number_of_rooms_from": 3.5, "number_of_rooms_to": 3.5},
        "in Zurich": {"locality": "zuri"},
        "in a small place": {"locality": RARE},
        "without an open order": {"order": "none"},
        "with an open order": {"order": "open"},
        "without pictures": {"pictures": "none"},
        "all of it": {
            **{"offer": "RENT", "locality": "zuri", "order": "none", "pictures": "none"},
            **{"asking_price_from": 2_000, "number_of_rooms_from": 3, "number_of_rooms_to": 5},
        },
        "all of it, in a small place": {
            **{"offer": "RENT", "locality": RARE, "order": "none", "pictures": "none"},
            **{"asking_price_from": 2_000, "number_of_rooms_from": 3, "number_of_rooms_to": 5},
        },
    }.items():
        yield f"filter: {what}", f"{LIST}?{urlencode(query)}"


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

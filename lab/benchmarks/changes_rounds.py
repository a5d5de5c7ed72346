"""The pages of `changes` as JSON: python -m lab.benchmarks.changes_rounds

A line of `visits.visit` for each page over the history of all properties, as an agent
opens it: 100,000 properties with ten changes each.
"""

from datetime import timedelta

import django

django.setup()

from django.contrib.auth.models import Group, User  # noqa: E402 - Django is set up only now
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402
from django.utils import timezone  # noqa: E402

from crm_sync.models import Workspace  # noqa: E402
from lab.benchmarks.stock import a_property, copies  # noqa: E402
from lab.benchmarks.visits import visit  # noqa: E402
from properties.models import Change, Property  # noqa: E402

PROPERTIES, EACH, ROUNDS = 100_000, 10, 5
AN_IMPORT = 10_000  # changes of each import
YEARS = timedelta(days=3 * 365)
FIELDS = ("title", "prices.rent", "numberOfRooms", "address", "availabilityState")
LIST = "/admin/properties/property/changes/"
UNDO = "/admin/properties/property/changes/undo/"


def main() -> None:
    """Fill the database, then open each page."""
    workspace = Workspace.objects.create(slug="main", base_url="https://platform.test")
    people = [User.objects.create(username=f"agent-{n}", is_staff=True) for n in range(20)]
    for person in people:
        person.groups.add(Group.objects.get(name="Agents"))
        person.workspaces.add(workspace)
    copies(a_property(workspace, "A"), PROPERTIES - 1, "object_reference_id", "platform_id")
    keys = list(Property.objects.values_list("pk", flat=True))
    count = PROPERTIES * EACH
    began = timezone.now() - YEARS
    Change.objects.bulk_create(
        (
            Change(
                real_estate_property_id=keys[n % PROPERTIES],
                path=FIELDS[n % len(FIELDS)],
                old=f"before {n}",
                new=f"after {n}",
                origin="ADMIN" if n % 3 else "FEED",
                actor=people[n % len(people)] if n % 3 else None,
                cause="" if n % 3 else f"import:{1 + n // (3 * AN_IMPORT)}",
                revision=n // PROPERTIES,
                at=began + YEARS * (n / count),
            )
            for n in range(count)
        ),
        batch_size=5_000,
    )
    with connection.cursor() as cursor:
        cursor.execute("vacuum analyze" if connection.vendor == "postgresql" else "analyze")
    client = Client(SERVER_NAME="localhost")
    client.force_login(people[0])
    mine = people[0].pk
    for what, query in {
        "all": "",
        "today": "time=today",
        "of a person": f"person={mine}",
        "of a field": "field=title",
        "of the oldest import": "cause=import:1",
        "of an import and a field": "cause=import:7&field=title",
        "of one that made none": "cause=import:9999999",
    }.items():
        visit(client, f"changes {what}", f"{LIST}?{query}", rounds=ROUNDS)
    for what, query in {
        "of an import of 10,000": "workspace=main&cause=import:3",
        "of all that a person did": f"person={mine}",
    }.items():
        visit(client, f"what an undo {what} would do", f"{UNDO}?{query}", rounds=ROUNDS)


if __name__ == "__main__":
    main()

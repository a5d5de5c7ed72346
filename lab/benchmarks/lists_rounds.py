"""The pages of `lists` as JSON: python -m lab.benchmarks.lists_rounds

A line of `visits.visit` for each list: the whole page, as an agent with many orders of their own
opens it.
"""

import random
from datetime import timedelta

import django

django.setup()

from django.contrib.auth.models import Group, User  # noqa: E402 - Django is set up only now
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402
from django.utils import timezone  # noqa: E402

from crm_sync.models import Workspace  # noqa: E402
from lab.benchmarks.visits import visit  # noqa: E402
from orders.models import (  # noqa: E402
    Assignment,
    Look,
    MaterialSet,
    Order,
    Placement,
    PlatformUser,
    StatusChange,
)

ORDERS, PEOPLE, ROUNDS = 50_000, 20, 7
LINES = 4  # of the timeline of each order
YEARS = timedelta(days=3 * 365)
OPEN = 0.06  # of all orders
LOOKED = 0.9  # of what was delivered
LIST = "/admin/orders/order/"
PAGES = {
    "all": LIST,
    "mine": f"{LIST}?whose=mine",
    "needs action": f"{LIST}?what=action",
    "appointment this week": f"{LIST}?what=week",
    "overdue": f"{LIST}?what=overdue",
    "delivered, not looked at": f"{LIST}?what=new",
    "mine, not looked at": f"{LIST}?what=new&whose=mine",
    "calendar of a month": f"{LIST}calendar/",
}
CHOSEN = random.Random(7)


def main() -> None:
    """Fill the database, then open each list."""
    workspace = Workspace.objects.create(slug="main", base_url="https://platform.test")
    people = [_agent(number, workspace) for number in range(PEOPLE)]
    _orders(workspace, people)
    with connection.cursor() as cursor:
        cursor.execute("analyze")
    client = Client(SERVER_NAME="localhost")
    client.force_login(people[0])
    for what, address in PAGES.items():
        visit(client, what, address, rounds=ROUNDS)


def _agent(number: int, workspace: Workspace) -> User:
    joined = timezone.now() - YEARS
    person = User.objects.create(username=f"agent-{number}", is_staff=True, date_joined=joined)
    person.groups.add(Group.objects.get(name="Agents"))
    PlatformUser.objects.create(
        workspace=workspace, platform_id=str(number), name=f"Agent {number}", account=person
    )
    return person


def _orders(workspace: Workspace, people: list[User]) -> None:
    now = timezone.now()
    orders = Order.objects.bulk_create(
        [_order(workspace, number, now) for number in range(ORDERS)], batch_size=2_000
    )
    assignments = [_assignment(one, part, now) for one in orders for part in (1, 2)]
    assignments = Assignment.objects.bulk_create(assignments, batch_size=1_000)
    ended = [one for one in assignments if one.status == "DELIVERED"]
    MaterialSet.objects.bulk_create([_materials(one) for one in ended], batch_size=2_000)
    done = [one for one in orders if one.status == "COMPLETED"]
    StatusChange.objects.bulk_create(
        (_line(one, number) for one in orders for number in range(LINES)), batch_size=2_000
    )
    placed = [_placement(one, people) for one in orders if CHOSEN.random() < 0.5]
    Placement.objects.bulk_create(placed, batch_size=2_000)
    seen = [
        Look(order=one, person=person, at=now)
        for one in done
        for person in people[:2]
        if CHOSEN.random() < LOOKED
    ]
    Look.objects.bulk_create(seen, batch_size=2_000)


def _order(workspace: Workspace, number: int, now: object) -> Order:
    at = timezone.now() - YEARS * (1 - number / ORDERS)
    is_open = number > ORDERS * (1 - OPEN)
    status = CHOSEN.choice(["PLACED", "IN_PROGRESS"]) if is_open else "COMPLETED"
    if not is_open and CHOSEN.random() < 0.05:
        status = "CANCELLED"
    return Order(
        workspace=workspace,
        platform_id=f"{number}",
        object_reference_id=f"R-{number % 9_000}",
        user_platform_id=str(number % (3 * PEOPLE)),
        status=status,
        observed={"id": f"{number}", "assignments": [{"id": f"{number}-1", "status": "CREATED"}]},
        placed_at=at,
        created_at=at,
        due_at=None if status in ("COMPLETED", "CANCELLED") else at + YEARS,
    )


def _assignment(order: Order, part: int, now: object) -> Assignment:
    ended = {"COMPLETED": "DELIVERED", "CANCELLED": "CANCELLED"}.get(order.status)
    steps = ("CREATED", "SCHEDULED", "SCHEDULED", "IN_PRODUCTION", "ACTION_REQUIRED")
    at = order.created_at + timedelta(days=CHOSEN.randint(1, 14))
    return Assignment(
        workspace_id=order.workspace_id,
        order=order,
        platform_id=f"{order.platform_id}-{part}",
        status=ended or CHOSEN.choice(steps),
        scheduled_at=at,
        estimated_delivery_date=(at + timedelta(days=3)).date(),
        photographer={"id": "7", "name": "Ada Muster", "email": "ada@example.org"},
        products=["GROUND_PHOTO"] if part == 1 else ["FLOOR_PLAN"],
    )


def _materials(one: Assignment) -> MaterialSet:
    return MaterialSet(
        workspace_id=one.workspace_id,
        order_id=one.order_id,
        assignment=one,
        product=one.products[0],
        visual_type="POST",
        ready_at=one.scheduled_at,
        fetched_at=one.scheduled_at + timedelta(days=2),
    )


def _line(order: Order, number: int) -> StatusChange:
    return StatusChange(
        order=order,
        fact="ORDER_STATUS",
        new=order.status,
        occurred_at=order.created_at + timedelta(days=number),
        digest=f"{order.pk}-{number}",
        source="CALLBACK",
        created_at=order.created_at,
    )


def _placement(order: Order, people: list[User]) -> Placement:
    return Placement(
        workspace_id=order.workspace_id,
        object_reference_id=order.object_reference_id,
        state="PLACED",
        order=order,
        created_by=CHOSEN.choice(people),
        created_at=order.created_at,
        sent_at=order.created_at,
        confirmed_at=order.created_at,
    )


if __name__ == "__main__":
    main()

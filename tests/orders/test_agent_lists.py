"""The lists that an agent works through: what is in each, and what is not."""

from datetime import UTC, date, datetime, timedelta
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from orders.mirror import agent_lists
from orders.models import Look, MaterialSet, Order, Placement, PlatformUser
from tests.crm_sync.admin_pages import client_of, make_workspace, queries_of
from tests.orders.admin_rows import LIST, make_assignment, make_full_order, make_order, page

pytestmark = pytest.mark.django_db
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
def agent(db) -> Client:
    """Return the browser of an agent who has been here for years."""
    client = client_of("orders.view_order", "orders.change_order")
    User.objects.update(date_joined=LONG_AGO)
    return client


def me() -> User:
    return User.objects.get(username="user-0")


def found(client: Client, query: str) -> list[str]:
    rows = client.get(f"{LIST}?{query}").context["cl"].result_list
    return sorted(row.platform_id for row in rows)


def deliver(order: Order, at: datetime | None) -> MaterialSet:
    columns = {"ready_at": timezone.now(), "fetched_at": at, "product": uuid4().hex}
    due = {} if at else {"due_at": timezone.now()}
    assignment = make_assignment(order, uuid4().hex)
    return MaterialSet.objects.create(
        workspace=order.workspace, order=order, assignment=assignment, **columns, **due
    )


# --- mine ---
def test_mine_is_what_i_placed_or_confirmed_and_what_a_user_tied_to_me_ordered(main, agent):
    other = User.objects.create(username="other")
    make_order(main, "nobody's", user_platform_id="9")
    for name, who in (("placed", me()), ("not mine", other)):
        Placement.objects.create(
            workspace=main, order=make_order(main, name), state="PLACED", created_by=who
        )
    Placement.objects.create(
        workspace=main, order=make_order(main, "confirmed"), state="PLACED", confirmed_by=me()
    )
    make_order(main, "tied", user_platform_id="7")
    make_order(make_workspace("else"), "other workspace", user_platform_id="7")
    PlatformUser.objects.create(workspace=main, platform_id="7", account=me())
    assert found(agent, "whose=mine") == ["confirmed", "placed", "tied"]


def test_each_list_can_be_narrowed_to_mine(main, agent):
    for name, user in (("mine", "7"), ("theirs", "8")):
        order = make_order(main, name, status="IN_PROGRESS", user_platform_id=user)
        make_assignment(order, name, status="ACTION_REQUIRED")
    PlatformUser.objects.create(workspace=main, platform_id="7", account=me())
    assert found(agent, "what=action") == ["mine", "theirs"]
    assert found(agent, "what=action&whose=mine") == ["mine"]


# --- needs action ---
def test_what_needs_action_is_open_and_waits_for_somebody(main, agent):
    for name, status, work in (
        ("waits", "IN_PROGRESS", "ACTION_REQUIRED"),
        ("new status", "ON_HOLD", "ACTION_REQUIRED"),
        ("over", "CANCELLED", "ACTION_REQUIRED"),
        ("runs", "IN_PROGRESS", "SCHEDULED"),
    ):
        make_assignment(make_order(main, name, status=status), name, status=work)
    assert found(agent, "what=action") == ["new status", "waits"]


# --- appointment this week ---
def test_this_week_is_from_monday_to_sunday_in_our_zone(main, agent, settings, monkeypatch):
    settings.TIME_ZONE = "Europe/Zurich"
    # Monday 23 March, 0:00 in winter time, to Monday 30 March, 0:00 in summer time.
    assert agent_lists.week_of(date(2026, 3, 26)) == agent_lists.week_of(date(2026, 3, 29))
    first, end = agent_lists.week_of(date(2026, 3, 26))
    assert (first, end) == (
        datetime(2026, 3, 22, 23, tzinfo=UTC),
        datetime(2026, 3, 29, 22, tzinfo=UTC),
    )
    second = timedelta(seconds=1)
    for name, at, work in (
        ("before", first - second, "SCHEDULED"),
        ("first", first, "SCHEDULED"),
        ("last", end - second, "DELIVERED"),
        ("given up", first, "CANCELLED"),
        ("after", end, "SCHEDULED"),
        ("none", None, "PHOTOGRAPHER_ASSIGNED"),
    ):
        make_assignment(make_order(main, name), name, status=work, scheduled_at=at)
    held = Order.objects.filter(agent_lists.appointment_in_week_of(date(2026, 3, 26)))
    assert sorted(held.values_list("platform_id", flat=True)) == ["first", "last"]


def test_the_list_of_this_week_is_of_this_week(main, agent):
    for name, days in (("now", 0), ("in a week", 7), ("a week ago", -7)):
        at = timezone.now() + timedelta(days=days)
        make_assignment(make_order(main, name), name, status="SCHEDULED", scheduled_at=at)
    assert found(agent, "what=week") == ["now"]


# --- overdue ---
def test_overdue_is_what_was_to_be_there_before_today_and_is_not(main, agent):
    today = timezone.localdate()
    yesterday = today - timedelta(days=1)
    for name, status, work, day in (
        ("late", "IN_PROGRESS", "IN_PRODUCTION", yesterday),
        ("today", "IN_PROGRESS", "IN_PRODUCTION", today),
        ("delivered", "IN_PROGRESS", "DELIVERED", yesterday),
        ("cancelled", "CANCELLED", "IN_PRODUCTION", yesterday),
        ("no estimate", "IN_PROGRESS", "IN_PRODUCTION", None),
    ):
        order = make_order(main, name, status=status)
        make_assignment(order, name, status=work, estimated_delivery_date=day)
    assert found(agent, "what=overdue") == ["late"]


# --- delivered, and not looked at ---
def test_what_was_delivered_is_new_until_i_have_opened_the_order(main, agent):
    order, other = make_order(main, "a"), make_order(main, "b")
    make_order(main, "nothing yet")
    deliver(make_order(main, "announced"), None)
    for one in (order, other):
        deliver(one, timezone.now())
    assert found(agent, "what=new") == ["a", "b"]
    agent.get(page(order))
    assert found(agent, "what=new") == ["b"]
    colleague = client_of("orders.view_order")
    User.objects.update(date_joined=LONG_AGO)
    assert found(colleague, "what=new") == ["a", "b"]
    deliver(order, timezone.now())
    assert found(agent, "what=new") == ["a", "b"]


def test_a_page_that_is_open_counts_as_looked_at(main, agent):
    order = make_order(main)
    agent.get(page(order))
    deliver(order, timezone.now())
    assert found(agent, "what=new") == ["5000"]
    agent.get(f"{LIST}{order.pk}/live/")
    assert found(agent, "what=new") == []


def test_what_was_delivered_before_i_came_is_no_news(main, agent):
    deliver(make_order(main), LONG_AGO - timedelta(days=1))
    assert found(agent, "what=new") == []


def test_a_look_is_written_only_where_something_new_was_delivered(main, agent):
    order = make_order(main)
    agent.get(page(order))
    assert not Look.objects.exists()
    deliver(order, timezone.now())
    agent.get(page(order))
    at = Look.objects.get().at
    agent.get(page(order))
    assert Look.objects.get().at == at


# --- the list itself ---
def test_the_lists_stand_above_the_orders_and_keep_what_is_chosen(main, agent):
    make_order(main)
    response = agent.get(f"{LIST}?what=week&status=PLACED&p=2")
    context = response.context
    assert [(tab.title, tab.is_on) for tab in context["tabs"]] == [
        ("All", False),
        ("Needs action", False),
        ("Appointment this week", True),
        ("Overdue", False),
        ("Delivered, not looked at", False),
    ]
    assert context["tabs"][3].address == "?status=PLACED&what=overdue"
    assert context["only_mine"].address == "?what=week&status=PLACED&whose=mine"
    on = agent.get(f"{LIST}?whose=mine").context["only_mine"]
    assert (on.is_on, on.address) == (True, "?")


@pytest.mark.parametrize("query", ["what=action", "what=week", "what=overdue", "what=new"])
def test_each_list_takes_as_many_queries_for_many_orders_as_for_one(main, agent, query):
    def add(number: int) -> None:
        order = make_full_order(main, number)
        deliver(order, timezone.now())
        columns = {"status": "ACTION_REQUIRED", "scheduled_at": timezone.now()}
        order.assignments.update(estimated_delivery_date=date(2026, 1, 1), **columns)

    add(1)
    address = f"{LIST}?{query}&whose=mine&whose=mine"
    PlatformUser.objects.create(workspace=main, platform_id="7", account=me())
    Order.objects.update(user_platform_id="7")
    one = queries_of(agent, address)
    for number in range(2, 12):
        add(number)
    Order.objects.update(user_platform_id="7")
    assert len(found(agent, f"{query}&whose=mine")) == 11
    assert queries_of(agent, address) == one

"""A button says when what it asks for will be done: after a pause, or after whoever is at it."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.test import override_settings
from django.urls import reverse
from django.utils import timezone

from crm_sync.admin.ui.delays import delay
from crm_sync.models import WebhookMonitor, Workspace
from orders.models import Order, Placement, UserList
from properties.models import Batch, Property
from tests.crm_sync.admin_pages import make_workspace, queries_of
from tests.orders.admin_rows import LIST, make_order, page
from tests.problems import answered

pytestmark = pytest.mark.django_db
BUSY = answered("GET /v1/orders/1", 429, "slow down")
AGAIN = "when the platform accepts calls again."


def pause(problem: str = BUSY, minutes: float = 10) -> None:
    until = timezone.now() + timedelta(minutes=minutes)
    Workspace.objects.update(paused_until=until, problem=problem)


def order_page(client, order: Order) -> str:
    return client.get(page(order)).content.decode()


def said(response) -> list[str]:
    return [str(message) for message in response.context["messages"]]


def press(client, row, address: str, action: str) -> list[str]:
    chosen = {"action": action, "_selected_action": row.pk}
    return said(client.post(address, chosen, follow=True))


# --- the words
@pytest.mark.parametrize(
    ("minutes", "problem", "is_leased", "text"),
    [
        (None, "", False, ""),
        (-1, BUSY, False, ""),
        (32, BUSY, False, "Will be read after 12:32 UTC, when the platform accepts calls again."),
        (32, BUSY, True, "Will be read after 12:32 UTC, when the platform accepts calls again."),
        (
            *(1, answered("GET /v1", 401, "no"), False),
            "Will be read once the platform accepts our credentials; it is asked again after"
            " 12:01 UTC.",
        ),
        (None, "", True, "A worker is at it now. Will be read after that."),
        (
            *(24 * 60, BUSY, False),
            "Will be read after Thu 2 Jul 2026, 12:00 UTC, when the platform accepts calls again.",
        ),
    ],
)
@override_settings(TIME_ZONE="UTC")
def test_what_holds_it_back_is_said_with_its_end(minutes, problem, is_leased, text):
    now = datetime(2026, 7, 1, 12, tzinfo=UTC)
    until = None if minutes is None else now + timedelta(minutes=minutes)
    assert delay(until, problem, now=now, is_leased=is_leased) == text


# --- orders
def test_an_order_that_a_pause_holds_back_is_not_promised_now(boss):
    order = make_order(make_workspace())
    assert press(boss, order, LIST, "read_again") == ["A worker reads it again now."]
    assert "accepts calls again" not in order_page(boss, order)
    pause()
    (text,) = press(boss, order, LIST, "read_again")
    assert text.startswith("main: Will be read after ")
    assert text.endswith(AGAIN)
    assert AGAIN in order_page(boss, order)
    assert Order.objects.get().due_at is not None


def test_an_order_that_a_worker_is_at_says_so_on_its_page(boss):
    order = make_order(make_workspace())
    Order.objects.update(
        lease_token=uuid.uuid4(), lease_until=timezone.now() + timedelta(seconds=30)
    )
    assert "A worker is at it now. Will be read after that." in order_page(boss, order)


def test_orders_of_two_workspaces_are_told_apart(boss):
    make_order(make_workspace())
    pause()
    other = make_order(make_workspace("other"), "9")
    chosen = [row.pk for row in Order.objects.all()]
    response = boss.post(LIST, {"action": "read_again", "_selected_action": chosen}, follow=True)
    later, now = said(response)
    assert (later[:6], later.endswith(AGAIN)) == ("main: ", True)
    assert now == "A worker reads it again now."
    assert other.workspace.slug == "other"


def test_the_page_of_an_order_asks_the_database_the_same_in_a_pause(boss):
    order = make_order(make_workspace())
    address = reverse("admin:orders_order_change", args=[order.pk])
    before = queries_of(boss, address)
    pause()
    assert queries_of(boss, address) == before


# --- properties
@pytest.fixture
def flat() -> Property:
    return Property.objects.create(
        workspace=make_workspace(), object_reference_id="A-1", platform_id="1"
    )


def test_a_property_says_it_on_its_page_and_after_the_button(boss, flat):
    address = reverse("admin:properties_property_change", args=[flat.pk])
    read = reverse("admin:properties_property_read", args=[flat.pk])
    assert said(boss.post(read, follow=True)) == ["A worker reads it again now."]
    pause(answered("GET /v1/users", 401, "no"))
    (text,) = said(boss.post(read, follow=True))
    assert text.startswith("Will be read once the platform accepts our credentials")
    for url in (address, reverse("admin:properties_property_live", args=[flat.pk])):
        assert "once the platform accepts our credentials" in boss.get(url).content.decode()


def test_a_batch_that_is_under_way_says_what_holds_it_back(boss, flat):
    batch = Batch.objects.create(kind="PUSH", confirmed_at=timezone.now())
    batch.properties.add(flat)
    Property.objects.update(due_at=timezone.now())
    address = reverse("admin:properties_property_batch", args=[batch.pk])
    assert AGAIN not in boss.get(address).content.decode()
    pause()
    text = boss.get(address).content.decode()
    assert "Workspace main: Will be pushed after " in text
    Property.objects.update(due_at=None)
    assert AGAIN not in boss.get(address).content.decode()


# --- placements, users, webhooks
def test_a_confirmed_placement_says_when_it_is_placed(boss):
    row = Placement.objects.create(
        workspace=make_workspace(),
        object_reference_id="A-1",
        state="CONFIRMED",
        confirmed_at=timezone.now(),
        due_at=timezone.now(),
    )
    address = reverse("admin:orders_placement_change", args=[row.pk])
    assert "A worker places it now." in boss.get(address).content.decode()
    pause()
    text = boss.get(address).content.decode()
    assert ("A worker places it now." in text, "Will be placed after " in text) == (False, True)


def test_users_and_webhooks_are_not_promised_either(boss):
    workspace = make_workspace()
    pause()
    (users,) = said(boss.post(reverse("admin:orders_platformuser_read"), follow=True))
    assert users.startswith("main: Will be read after ")
    assert UserList.objects.get().due_at is not None
    WebhookMonitor.objects.create(workspace=workspace, due_at=timezone.now())
    workspaces = reverse("admin:crm_sync_workspace_changelist")
    (polled,) = press(boss, workspace, workspaces, "poll_now")
    assert polled.startswith("main: Will be polled after ")

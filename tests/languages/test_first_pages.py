"""The pages that are whole in every language: in a pseudo-language, each text is in brackets.

A page is added to a file of this folder when its last text is translated (decision 29).
"""

from datetime import timedelta

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.utils import timezone

from crm_sync.models import ReceivedEvent, Workspace
from orders.models import CalendarFeed, Order
from orders.models.statuses import AssignmentStatus, OrderStatus
from properties.models import DriftCheck
from tests.crm_sync.admin_pages import make_workspace
from tests.languages.pseudo import NAMES, longer, untranslated
from tests.orders.admin_rows import make_assignment, make_order
from tests.rows_of_pages import fill

EVENTS, WORKSPACES = "/admin/crm_sync/receivedevent/", "/admin/crm_sync/workspace/"
WHOLE = [
    "/admin/",
    "/admin/orders/personsettings/mine/",
    EVENTS,
    f"{EVENTS}causes/",
    WORKSPACES,
    f"{WORKSPACES}add/",
]
# Pages of one row, by its model, and the path behind its key.
OF_ONE = [
    ("crm_sync.receivedevent", EVENTS, "change/"),
    ("crm_sync.workspace", WORKSPACES, "change/"),
    ("crm_sync.workspace", WORKSPACES, "credentials/"),
    ("crm_sync.workspace", WORKSPACES, "webhook/"),
    ("crm_sync.workspace", WORKSPACES, "gaps/"),
    ("crm_sync.workspace", WORKSPACES, "pause/"),
]
CALENDAR = "/admin/orders/order/calendar/"
LIST = "/admin/orders/order/"
OF_ORDERS = [
    LIST,
    f"{LIST}?what=open&whose=mine",
    CALENDAR,
    f"{CALENDAR}?view=week",
    f"{CALENDAR}?view=list",
]


MONTHS = timedelta(days=90)  # so long ago that a moment is a day
EFFECTS = ("unknown event None",)  # what a worker stores, which is English so far


@pytest.mark.parametrize("is_filled", [False, True])
@pytest.mark.parametrize("page", WHOLE)
def test_each_text_of_the_page_is_translated(reader, page, is_filled):
    if is_filled:
        fill(timezone.now())
    response = reader.get(page)
    assert response.status_code == 200
    commands = ("configure_webhook", "add_workspace", "restored --status")
    own = (*NAMES, *(f"manage.py {one}" for one in commands), "https://1.2", "City")
    found = untranslated(response.content.decode(), own)
    assert found == []


@pytest.mark.parametrize(("model", "place", "page"), OF_ONE)
def test_each_text_of_a_page_of_one_row_is_translated(reader, model, place, page):
    fill(timezone.now())
    for key in apps.get_model(model).objects.values_list("pk", flat=True):
        shown = reader.get(f"{place}{key}/{page}").content.decode()
        uuids = map(str, Workspace.objects.values_list("uuid", flat=True))
        assert untranslated(shown, (*NAMES, "/webhooks/", *uuids)) == []


@pytest.mark.parametrize(
    ("page", "posted"),
    [
        ("webhook/", {"action": "may-disable"}),
        ("webhook/", {"action": "see"}),
        ("webhook/", {"action": "poll"}),
        ("pause/", {"step": "pause"}),
        ("pause/", {"step": "pause", "kind": "files", "kinds": ["files"], "reason": "7"}),
        ("pause/", {"step": "resume", "kind": "pushes"}),
        ("pause/", {"step": "go", "seen": "1"}),
        ("gaps/", {"gap": ""}),
        ("credentials/", {"step": "save", "token": "1", "client_id": "2"}),
        ("change/", {"max_under_way": "0"}),
    ],
)
def test_each_text_of_an_answer_to_a_button_is_translated(reader, page, posted):
    fill(timezone.now())
    for workspace in Workspace.objects.filter(slug__in=["1", "2"]):
        address = f"{WORKSPACES}{workspace.pk}/{page}"
        shown = reader.post(address, posted, follow=True).content.decode()
        assert untranslated(shown, (*NAMES, "/webhooks/", str(workspace.uuid))) == []


def test_each_text_of_a_drift_check_is_translated(reader):
    """Beside the name of a field it shows the platform's own."""
    fill(timezone.now())
    keys = DriftCheck.objects.values_list("pk", flat=True)
    pages = [reader.get(f"/admin/properties/driftcheck/{key}/change/") for key in keys]
    own = (*NAMES, "title", "numberOfRooms", "floor", "city", "City")
    assert [untranslated(one.content.decode(), own) for one in pages] == [[], []]


def test_each_text_of_a_replay_is_translated(reader):
    fill(timezone.now())
    keys = list(ReceivedEvent.objects.values_list("pk", flat=True))
    shown = reader.post(EVENTS, {"action": "replay", "_selected_action": keys}).content.decode()
    assert untranslated(shown, (*NAMES, *EFFECTS)) == []


@pytest.fixture
def orders(reader) -> list[Order]:
    """Return orders with all that their pages can show; the words of people are digits."""
    now, person = timezone.now(), User.objects.get()
    CalendarFeed.objects.create(person=person, digest="1", created_at=now - MONTHS)
    main, made = make_workspace("1"), []
    for number, status in enumerate(AssignmentStatus.values):
        order = make_order(main, f"{number}", object_reference_id=f"{number}")
        make_assignment(
            order, f"{number}", status=status, scheduled_at=now, photographer={"name": "1"}
        )
        made.append(order)
    long_ago = {"scheduled_at": now - MONTHS, "products": ["PLAN"], "is_confirmed": False}
    make_assignment(made[0], "10", **long_ago)
    made[1].assignments.update(withdrawn_at=now)
    for number, status in enumerate(OrderStatus.values):
        who = {"user_platform_id": "1", "problem": "5", "is_confirmed": False}
        make_order(main, f"1{number}", status=status, **who)
    return made


@pytest.mark.parametrize("page", OF_ORDERS)
def test_each_text_about_orders_is_translated(reader, orders, page):
    response = reader.get(page)
    assert response.status_code == 200
    assert untranslated(response.content.decode(), NAMES) == []


def test_a_text_that_is_not_translated_is_named():
    page = (
        f"<html><body><p>{longer('Save')} now</p><b title='Close'>{longer('a')}</b></body></html>"
    )
    assert untranslated(page) == ["now", "Close"]

"""The pages that are whole in every language: in a pseudo-language, each text is in brackets.

A page is added here when its last text is translated; the others are English so far (decision 29).
"""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from django.utils.translation import trans_real

from orders.models import CalendarFeed, Order, PersonSettings
from orders.models.statuses import AssignmentStatus, OrderStatus
from tests.crm_sync.admin_pages import client_of, let_processes_run, make_workspace
from tests.orders.admin_rows import make_assignment, make_order
from tests.pseudo import CODE, catalogues, longer, untranslated

CALENDAR = "/admin/orders/order/calendar/"
WHOLE = ["/admin/orders/personsettings/mine/"]
LIST = "/admin/orders/order/"
OF_ORDERS = [
    LIST,
    f"{LIST}?what=open&whose=mine",
    CALENDAR,
    f"{CALENDAR}?view=week",
    f"{CALENDAR}?view=list",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return catalogues(tmp_path_factory.mktemp("locale"))


@pytest.fixture
def reader(db, settings, folder) -> Client:
    """Return a client whose person reads the pseudo-language."""
    settings.LOCALE_PATHS = [folder]
    settings.LANGUAGES = [("en", "English"), (CODE, longer("Pseudo"))]
    trans_real._translations.clear()
    let_processes_run(timezone.now())
    client = client_of(superuser=True)
    PersonSettings.objects.create(person_id=client.session["_auth_user_id"], language=CODE)
    yield client
    trans_real._translations.clear()


MONTHS = timedelta(days=90)  # so long ago that a moment is a day
# Data and names, which no language changes.
NAMES = ("CRM sync", "English", "user-0", "UTC", "Ground photo", "Plan")


@pytest.mark.parametrize("page", WHOLE)
def test_each_text_of_the_page_is_translated(reader, page):
    response = reader.get(page)
    assert response.status_code == 200
    found = untranslated(response.content.decode(), NAMES)
    assert found == []


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

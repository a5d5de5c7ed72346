"""The day on the overview: the appointments of today and tomorrow, and one's own drafts."""

import re
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.contrib.auth.models import User
from django.test import Client

from crm_sync.models import Gap
from orders.models import Order, PersonSettings, Placement
from properties.models import Property
from tests.crm_sync.admin_pages import CANARY, ESCAPED, client_of, queries_of
from tests.orders.test_calendar import appointment

NOON = datetime(2026, 3, 12, 11, tzinfo=UTC)
HOUR = timedelta(hours=1)
HOME = {"street": "Seestrasse", "streetNumber": "12", "postalCode": "8001", "locality": "Zürich"}
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def noon():
    with time_machine.travel(NOON, tick=False):
        yield


@pytest.fixture
def agent(main) -> Client:
    """Return the browser of an agent who follows all orders."""
    client = client_of("orders.view_order", "orders.view_placement")
    PersonSettings.objects.create(person=User.objects.get(), only_mine=False)
    return client


def rows(client: Client, part: str) -> list[list[str]]:
    """Return the cells of each row of a part of the overview."""
    html = client.get("/admin/").text.partition(f'data-part="{part}"')[2].partition("</section>")[0]
    found = re.findall(r"<tr[^>]*>(.*?)</tr>", html, re.DOTALL)[1:]
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in found]
    return [[" ".join(re.sub(r"<[^>]*>", "", cell).split()) for cell in row] for row in cells]


def home(main, number: int) -> Property:
    document = {"title": "Flat", "address": HOME | {"streetNumber": str(number)}}
    return Property.objects.create(
        workspace=main, object_reference_id=f"R-{number}", desired=document
    )


def test_today_and_tomorrow_are_shown_by_address_and_no_other_day(main, agent):
    name = {"photographer": {"name": "Ann Lee"}, "products": ["GROUND_PHOTO"]}
    for number, hours in enumerate((-36, -1, 2, 20, 48)):
        one = appointment(main, str(number), NOON + hours * HOUR, **name)
        of_it = home(main, number)
        Order.objects.filter(pk=one.order_id).update(real_estate_property=of_it)
    assert rows(agent, "today") == [
        ["Today 10:00", "Seestrasse 1, 8001 Zürich", "Ground photo", "Ann Lee", "Scheduled"],
        ["Today 13:00", "Seestrasse 2, 8001 Zürich", "Ground photo", "Ann Lee", "Scheduled"],
        ["Tomorrow 07:00", "Seestrasse 3, 8001 Zürich", "Ground photo", "Ann Lee", "Scheduled"],
    ]


def test_a_day_without_appointments_says_so(agent):
    assert "No appointment today or tomorrow." in agent.get("/admin/").text
    assert rows(agent, "today") == []


def test_a_day_without_appointments_of_their_own_says_whose_it_looked_for(main, agent):
    appointment(main, "1", NOON)
    PersonSettings.objects.update(only_mine=True)
    assert "Your orders have no appointment today or tomorrow" in agent.get("/admin/").text
    assert rows(agent, "today") == []


def test_ten_are_shown_and_the_others_counted(main, agent):
    for number in range(12):
        appointment(main, str(number), NOON + HOUR)
    assert len(rows(agent, "today")) == 10
    assert "2 more in the calendar" in agent.get("/admin/").text


def test_one_sees_ones_own_drafts_with_a_way_to_go_on(main, agent):
    me, other = User.objects.get(), User.objects.create_user("other")
    mine = {"workspace": main, "created_by": me}
    draft = Placement.objects.create(
        object_reference_id="R-7", real_estate_property=home(main, 7), created_at=NOON, **mine
    )
    Placement.objects.create(object_reference_id="R-8", state="FAILED", **mine)
    Placement.objects.create(object_reference_id="R-9", workspace=main, created_by=other)
    assert rows(agent, "drafts") == [["Seestrasse 7, 8001 Zürich", "Draft", "just now", "Continue"]]
    assert f'href="/admin/orders/placement/{draft.pk}/change/"' in agent.get("/admin/").text


def test_without_drafts_there_is_no_such_part(agent):
    assert 'data-part="drafts"' not in agent.get("/admin/").text


def test_who_may_not_see_orders_has_no_such_day(main):
    appointment(main, "1", NOON)
    assert 'data-part="today"' not in client_of("properties.view_property").get("/admin/").text


def test_many_appointments_and_drafts_take_as_many_queries_as_one(main, agent):
    appointment(main, "1", NOON)
    me = User.objects.get()
    Placement.objects.create(workspace=main, created_by=me, object_reference_id="R-1")
    before = queries_of(agent, "/admin/")
    for number in range(2, 30):
        appointment(main, str(number), NOON)
        Placement.objects.create(
            workspace=main, created_by=me, object_reference_id=f"R-{number}", state="READY"
        )
    assert queries_of(agent, "/admin/") == before


def test_names_are_escaped(main, agent):
    appointment(main, "1", NOON, photographer={"name": CANARY})
    text = agent.get("/admin/").text
    assert (CANARY in text, ESCAPED in text) == (False, True)


def test_what_needs_a_person_comes_first_and_a_calm_day_begins_with_the_day(main, agent):
    calm = agent.get("/admin/").text
    assert calm.index('data-part="today"') < calm.index('data-part="attention"')
    appointment(main, "1", NOON, status="ACTION_REQUIRED", action_required="POWER_OF_ATTORNEY")
    busy = agent.get("/admin/").text
    assert busy.index('data-part="attention"') < busy.index('data-part="today"')


def test_a_line_whose_page_somebody_may_not_open_is_not_shown(main):
    Gap.objects.create(workspace=main, began_at=NOON - HOUR, ended_at=NOON, noticed_at=NOON)
    line = "All open orders were read since"
    assert line in client_of("crm_sync.view_workspace").get("/admin/").text
    assert line not in client_of("orders.view_order").get("/admin/").text

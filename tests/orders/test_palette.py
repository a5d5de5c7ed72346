"""One search for everything: what it finds, whose, and for how many queries."""

from html import unescape

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse
from django.utils.timezone import now

from crm_sync.models import Workspace
from orders.admin.palette import MOST
from orders.models import Order, PlatformUser
from properties.domain.editing import create
from properties.models import Property

pytestmark = pytest.mark.django_db
PLACE = {"street": "Seestrasse", "streetNumber": "12", "postalCode": "8001", "locality": "Zürich"}


@pytest.fixture
def main() -> Workspace:
    return Workspace.objects.create(slug="main", base_url="https://platform.test")


@pytest.fixture
def agent(main) -> User:
    person = User.objects.create(username="agent", is_staff=True)
    person.groups.add(Group.objects.get(name="Agents"))
    person.workspaces.add(main)
    return person


@pytest.fixture
def house(main) -> Property:
    seller = {"contactPerson": {"familyName": "Müller", "phone": "044 123 45 67"}}
    document = {"title": "Helle Wohnung", "address": PLACE, "seller": seller}
    return create(main, "ZH-2010", document, origin="ADMIN", now=now())


def client_of(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def found(person: User, query: str) -> list[tuple[str, str]]:
    """Return the title and the address of each result."""
    page = client_of(person).get("/admin/search/", {"s": query}).content.decode()
    lines = page.split('<a href="')[1:]
    titles = (one.partition('"cs-hit"><span>')[2].partition("</span>")[0] for one in lines)
    links = (one.partition('"')[0] for one in lines)
    return [(unescape(title), unescape(link)) for title, link in zip(titles, links, strict=True)]


@pytest.mark.parametrize(
    "query",
    ["ZH-2010", "zh2010", "zurich Seestrasse 8001", "mueller", "+41 44 123 45 67", "wohnung hell"],
)
def test_a_property_is_found_by_reference_address_person_and_phone(agent, house, query):
    page = reverse("admin:properties_property_change", args=[house.pk])
    assert found(agent, query) == [("ZH-2010 · Seestrasse 12, 8001 Zürich", page)]


def test_the_property_with_exactly_this_reference_comes_first(agent, main, house):
    create(main, "A-1", {"title": "Beside ZH-2010"}, origin="ADMIN", now=now())
    titles = ["ZH-2010 · Seestrasse 12, 8001 Zürich", "A-1 · Beside ZH-2010"]
    for query in ("ZH-2010", "zh-2010"):
        assert [title for title, _ in found(agent, query)] == titles
    assert [title for title, _ in found(agent, "2010 zh")] == titles[::-1]


def test_of_many_properties_the_first_are_shown_and_a_way_to_all(agent, main):
    for number in range(MOST + 1):
        create(main, f"R-{number}", {"title": "Flat & more"}, origin="FEED", now=now())
    hits = found(agent, "flat & m")
    assert [title for title, _ in hits[:MOST]] == [f"R-{n} · Flat & more" for n in range(MOST)]
    everything = "/admin/properties/property/?q=flat+%26+m"
    assert hits[MOST:] == [("All properties with “flat & m”", everything)]


def test_an_order_is_found_by_its_number_and_by_its_property(agent, main, house):
    columns = {"workspace": main, "object_reference_id": "ZH-2010", "created_at": now()}
    order = Order.objects.create(platform_id="O-7", real_estate_property=house, **columns)
    page = reverse("admin:orders_order_change", args=[order.pk])
    for query in ("O-7", "seestrasse 12"):
        assert ("O-7 · ZH-2010", page) in found(agent, query)


def test_people_and_screens_are_found(agent, main):
    user = PlatformUser.objects.create(
        workspace=main, platform_id="101", name="Eva Beispiel", created_at=now()
    )
    page = reverse("admin:orders_platformuser_change", args=[user.pk])
    assert found(agent, "beispiel eva") == [("Eva Beispiel", page)]
    assert found(agent, "calen") == [("Calendar", "/admin/orders/order/calendar/")]


def test_nobody_finds_what_is_not_theirs(agent, main, house):
    other = Workspace.objects.create(slug="other", base_url="https://other.test")
    there = create(other, "ZH-2010", {"title": "Other"}, origin="ADMIN", now=now())
    Order.objects.create(
        workspace=other, platform_id="ZH-2010", real_estate_property=there, created_at=now()
    )
    PlatformUser.objects.create(
        workspace=other, platform_id="ZH-2010", name="Eva", created_at=now()
    )
    assert [title for title, _ in found(agent, "ZH-2010")] == [
        "ZH-2010 · Seestrasse 12, 8001 Zürich"
    ]
    assert found(agent, "groups") == []
    outsider = User.objects.create(username="outsider", is_staff=True)
    assert found(outsider, "ZH-2010") == []
    assert found(User.objects.create_superuser("boss"), "groups") != []
    agent.workspaces.clear()
    assert found(agent, "ZH-2010") == []
    assert Client().get("/admin/search/", {"s": "ZH-2010"}).status_code == 302


@pytest.mark.parametrize("query", ["", "  ", "\0", "nirgends", "--", "%", "'", '"><b>', "x" * 5000])
def test_a_search_for_nothing_finds_nothing_and_breaks_no_page(agent, house, query):
    assert found(agent, query) == []


def test_text_of_a_property_is_no_markup(agent, main):
    create(main, "X-1", {"title": "<b>bold</b>"}, origin="ADMIN", now=now())
    page = client_of(agent).get("/admin/search/", {"s": "bold"}).content.decode()
    assert "&lt;b&gt;bold" in page
    assert "<b>" not in page


@pytest.mark.parametrize("count", [1, 30])
def test_it_takes_few_queries_however_much_is_found(agent, main, django_assert_num_queries, count):
    for number in range(count):
        create(main, f"R-{number}", {"title": "Flat", "address": PLACE}, origin="FEED", now=now())
    client = client_of(agent)
    with django_assert_num_queries(12):
        page = client.get("/admin/search/", {"s": "seestrasse"}).content.decode()
    assert page.count("<li>") == min(count, MOST + 1)

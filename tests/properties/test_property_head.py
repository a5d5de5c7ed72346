"""The head of a property's page and its overview: short, and right for a property with nothing."""

import pytest

from properties.models import Conflict, Property
from tests.properties.form_page import address, force, make
from tests.properties.test_admin_property import state

pytestmark = pytest.mark.once


@pytest.fixture
def flat(main) -> Property:
    where = {"street": "Seeweg", "streetNumber": "4", "postalCode": "3000", "locality": "Bern"}
    prices = {"currency": "CHF", "rent": {"net": 1950, "interval": "MONTH"}}
    return make(
        main,
        title="Flat",
        propertyType="APARTMENT",
        offerType="RENT",
        numberOfRooms=1,
        address=where,
        prices__currency=prices["currency"],
        prices__rent=prices["rent"],
    )


def test_the_head_says_what_and_where_it_is_and_what_it_costs(admin_client, flat):
    head = admin_client.get(address(flat.pk)).context["head"]
    said = {name: head[name] for name in ("title", "address", "price", "price_note", "parts")}
    assert said == {
        "title": "Flat",
        "address": "Seeweg 4, 3000 Bern",
        "price": "CHF 1,950",
        "price_note": "a month, net",
        "parts": ["1 room", "Apartment"],
    }
    assert (head["picture"], head["facts"]) == ("", [])


@pytest.mark.parametrize("odd", [{}, {"address": [1], "prices": "2", "numberOfRooms": True}])
def test_a_property_that_says_nothing_has_a_head_too(admin_client, main, odd):
    row = force(make(main), desired=odd | {"propertyType": {"x": 1}})
    response = admin_client.get(address(row.pk))
    head = response.context["head"]
    assert (head["title"], head["address"], head["price"], head["parts"]) == ("", "", "", [])
    assert "Without a title" in response.content.decode()


def test_an_open_conflict_is_decided_from_the_head(admin_client, flat):
    force(flat, problem={"CONFLICT": {"title": "both changed it"}})
    Conflict.objects.create(real_estate_property=flat, path="title", ours="a", theirs="b")
    page = admin_client.get(address(flat.pk)).content.decode()
    decide = f'href="/admin/properties/conflict/decide/{flat.pk}/">'
    assert f'<a class="cs-button" {decide}Decide 1 conflict</a>' in page


def test_the_overview_names_what_waits_and_where_it_is_settled(admin_client, flat):
    before = state(flat)
    problem = {
        "REFUSED": {"prices.rent": "too low", "newerField": "odd"},
        "GONE": {"": "not there any more"},
        "NEWER": {"title": "a newer version wrote this"},
    }
    force(flat, problem=problem)
    overview = admin_client.get(address(flat.pk)).context["overview"]
    waiting = [(one["name"], one["link"], one["text"]) for one in overview["waiting"]]
    assert waiting == [  # as the catalog has them, since PostgreSQL stores no order
        ("The property", "", "not there any more"),
        ("Title", "#texts", "a newer version wrote this"),
        ("Rent", "#prices", "The platform refused it: too low"),
        ("Newer field", "", "The platform refused it: odd"),
    ]
    assert (overview["waiting_count"], state(flat)[0]) == (4, before[0])
    facts = dict(overview["facts"])
    assert (facts["Property type"], facts["Number of rooms"]) == ("Apartment", "1")


def test_the_overview_is_short_however_much_waits(admin_client, flat):
    paths = ("title", "author", "floor", "areaUsable", "yearBuilt", "heatingType", "prices.rent")
    fields = dict.fromkeys((*paths, "offerType", "propertyType", "numberOfRooms"), "odd")
    force(flat, problem={"REFUSED": fields}, observed={"id": "1"})
    overview = admin_client.get(address(flat.pk)).context["overview"]
    assert (len(overview["waiting"]), overview["waiting_more"]) == (8, 2)
    assert (overview["differing"].count("</a>"), overview["differing_count"]) == (4, 13)
    assert overview["differing"].endswith(" and 9 more")

"""What the platform would refuse is said at its input (§4.6, §7), and nothing is saved."""

import pytest

from properties.domain.difference import planned
from properties.models import Property
from properties.ownership import Ownership
from tests.properties.form_page import address, errors, force, make, opened, post, save, state

pytestmark = pytest.mark.once


@pytest.fixture
def flat(main) -> Property:
    return make(
        main,
        title="Flat",
        heatingType="GAS",
        prices__rent={"gross": 2450, "interval": "MONTH"},
        localizations=[
            {"languageCode": "de", "title": "Wohnung"},
            {"languageCode": "en", "title": "Flat"},
        ],
        customFields={"crm": "4711"},
    )


def test_each_refused_value_is_told_at_its_input_and_nothing_is_saved(admin_client, flat):
    before = state(flat)
    touched = {
        "title": "x" * 256,
        "displayReferenceId": "x" * 256,
        "heatingType": "UNKNOWN",
        "numberOfRooms": "4-5",
        "numberOfBedrooms": "2.5",
        "availabilityStartAt": "soon",
        "energyCertificate.issuedAt": "2026-02-30",
        "prices.currency": "Fr.",
        "prices.rent.gross": "many",
        "address.geo.latitude": "47",
        "isFurnished": "perhaps",
        "conditions": ["UNKNOWN"],
        "videoLinks[0].title": "Tour",
        "publishers[0].id": "p",
        "publishers[0].options": "[{]",
        "author": "kept out",
    }
    response = save(admin_client, flat, **touched)
    assert errors(response) == {
        "title": ["Use at most 255 characters, not 256"],
        "displayReferenceId": ["Use at most 255 characters, not 256"],
        "heatingType": ["UNKNOWN cannot be sent: leave it out"],
        "numberOfRooms": ["“4-5” is not a number such as 1200 or 4.5"],
        "numberOfBedrooms": ["Write a whole number"],
        "availabilityStartAt": ["“soon” is not a time such as 2026-01-31 09:00"],
        "energyCertificate.issuedAt": ["“2026-02-30” is no day of the calendar"],
        "prices.currency": ["Use a three-letter code such as CHF"],
        "prices.rent.gross": ["“many” is not a number such as 1200 or 4.5"],
        "address.geo.longitude": ["This value is missing"],
        "isFurnished": ["“perhaps” is neither yes nor no"],
        "conditions": ["UNKNOWN cannot be sent: leave it out"],
        "videoLinks[0].url": ["This value is missing"],
        "publishers[0].options": ["This is not JSON: the mistake is at line 1, column 3"],
    }
    assert state(flat) == before
    groups = [group for tab in response.context["tabs"] for group in tab.groups]
    counts = {group.title: group.error_count for group in groups}
    assert counts == {
        "General": 1,
        "References": 1,
        "Availability": 1,
        "Classification": 2,
        "Areas and counts": 2,
        "Heating and energy": 2,
        "Prices": 2,
        "Amenities": 0,
        "Listing": 2,
        "Texts": 1,
    }
    shown = {tab.slug: tab.error_count for tab in response.context["tabs"] if tab.error_count}
    assert shown == {"data": 13, "texts": 1}
    # What was typed is still there to be mended.
    assert 'value="many"' in response.content.decode()


def test_a_list_is_refused_at_the_row_that_people_see(admin_client, flat):
    before = state(flat)
    touched = {
        "localizations[0]:remove": "on",
        "localizations[2].title": "Senza lingua",
        "localizations[3].languageCode": "en",
    }
    assert errors(save(admin_client, flat, **touched)) == {
        "localizations[2].languageCode": ["This value is missing"],
        "localizations[3].languageCode": ["“en” is there already: a language has one text"],
    }
    assert state(flat) == before


def test_custom_fields_need_names_of_their_own(admin_client, flat):
    before = state(flat)
    touched = {"customFields[1].name": "crm", "customFields[2].value": "x"}
    assert errors(save(admin_client, flat, **touched)) == {
        "customFields[1].name": ["“crm” is there already"],
        "customFields[2].name": ["A name is needed"],
    }
    assert state(flat) == before


@pytest.mark.rule("2.4 Read-only")
def test_rooms_cannot_be_posted(admin_client, flat):
    before = state(flat)
    response = save(admin_client, flat, **{"rooms[0].name": "Attic"})
    assert errors(response) == {"__all__": ["Rooms: Only the platform can change this"]}
    assert state(flat) == before


@pytest.mark.rule("2.4 Read-only")
def test_rooms_and_the_platform_id_are_shown_without_an_input(admin_client, flat):
    rooms = [{"name": "Attic room", "area": 12.5}]
    force(flat, observed={"rooms": rooms}, platform_id="p-501")
    page = admin_client.get(address(flat.pk)).content.decode()
    assert ("Attic room" in page, "12.5 m²" in page, "p-501" in page) == (True, True, True)
    assert [name for name in opened(admin_client, flat) if name.startswith(("rooms", "id"))] == []


def test_a_value_that_stands_beside_a_newer_one_can_be_edited_and_that_one_is_not_sent(
    admin_client, flat
):
    rent = {"gross": 2450, "interval": "UNKNOWN"}
    force(flat, desired=flat.desired | {"prices": {"rent": rent}})
    save(admin_client, flat, **{"prices.rent.gross": "2500"})
    flat.refresh_from_db()
    assert flat.desired["prices"]["rent"] == {"gross": 2500, "interval": "UNKNOWN"}
    assert planned(flat, Ownership("crm_wins"))[1]["prices.rent"] == {"gross": 2500}


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("", "The reference is empty"),
        ("a\tb", "The reference holds a control character"),
        ("..", 'The reference cannot be "..": that is a step in a path'),
        ("x" * 256, "The reference is longer than 255 characters (256)"),
        ("A-1", "main has a property A-1 already"),
    ],
)
def test_a_reference_that_cannot_be_is_refused(admin_client, flat, main, reference, message):
    data = {"workspace": str(main.pk), "objectReferenceId": reference, "title": "New"}
    response = admin_client.post(address(), data)
    assert errors(response) == {"objectReferenceId": [message]}
    assert list(Property.objects.all()) == [flat]


def test_a_new_property_needs_a_workspace(admin_client, flat):
    response = admin_client.post(address(), {"objectReferenceId": "A-1", "title": "New"})
    assert errors(response) == {"workspace": ["This field is required."]}
    assert list(Property.objects.all()) == [flat]


def test_what_the_platform_refused_stands_at_its_field_and_is_counted(admin_client, flat):
    problem = {
        "REFUSED": {"displayReferenceId": "too long there", "prices.rent": "gross is odd"},
        "CANNOT_CLEAR": {"localizations": "the platform keeps them"},
        "GONE": {"": "not there any more"},
        "DIFFERS": {"newerField": "reads back 2"},
    }
    force(flat, problem=problem)
    response = admin_client.get(address(flat.pk))
    groups = [group for tab in response.context["tabs"] for group in tab.groups]
    fields = [field for group in groups for block in group.blocks for field in block.places]
    assert {field.bound.name: field.problems for field in fields if field.problems} == {
        "displayReferenceId": ["The platform refused it: too long there"],
        "prices.rent.gross": ["The platform refused it: gross is odd"],
    }
    assert {group.title: group.problem_count for group in groups if group.problem_count} == {
        "References": 1,
        "Prices": 1,
        "Texts": 1,
    }
    assert response.context["general_problems"] == [
        "not there any more",
        "Newer field: reads back 2",
    ]
    for text in ("too long there", "gross is odd", "keeps them", "not there any", "reads back 2"):
        assert text in response.content.decode()


def test_editing_a_field_clears_its_problem(admin_client, flat):
    force(flat, problem={"REFUSED": {"title": "bad", "author": "bad too"}})
    save(admin_client, flat, title="Better")
    flat.refresh_from_db()
    assert flat.problem == {"REFUSED": {"author": "bad too"}}


def test_a_page_posts_far_fewer_inputs_than_the_limit(admin_client, main, settings):
    texts = [{"languageCode": f"{chr(97 + n)}a", "title": "x"} for n in range(20)]
    row = make(main, "A-2", localizations=texts, customFields={str(n): "x" for n in range(200)})
    data = opened(admin_client, row)
    assert sum(map(len, data.values())) < settings.DATA_UPLOAD_MAX_NUMBER_FIELDS / 4
    assert post(admin_client, row, data).status_code == 302

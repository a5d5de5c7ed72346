"""What a person changes on the page of a property, and nothing else, becomes an edit."""

import pytest
from django.contrib.admin.models import LogEntry

from properties.models import Change, Property
from tests.properties.form_page import address, force, make, opened, save, state

pytestmark = pytest.mark.once
LOCALIZATIONS = [
    {"languageCode": "de", "title": "Helle Wohnung", "description": "Eine\nzweite Zeile"},
    {"languageCode": "en", "title": "Bright flat", "newerMember": 7},
]


@pytest.fixture
def flat(main) -> Property:
    return make(
        main,
        title="Flat",
        propertyCategories=["MAISONETTE", "APARTMENT"],
        numberOfRooms=3.0,
        isFurnished=False,
        availabilityStartAt="2026-12-01T09:30:00Z",
        address={
            "locality": "Bern",
            "newerMember": {"a": 1},
            "geo": {"latitude": 1, "longitude": 2},
        },
        prices__rent={"gross": 2450, "net": 2200, "newerMember": True},
        prices__currency="CHF",
        characteristics__hasBalcony="APPLIES",
        characteristics__hasElevator="UNKNOWN",
        localizations=LOCALIZATIONS,
        customFields={"crm": "4711", "odd": "x"},
        publishers=[{"id": "p", "options": [{"key": "k", "value": "v"}]}],
        energyCertificate__issuedAt="2026-01-31",
        futureField={"a": [1]},
    )


def edited(row: Property) -> list[tuple]:
    """Return the changes that the admin made, newest last."""
    made = Change.objects.filter(real_estate_property=row, origin="ADMIN").order_by("pk")
    return [(change.path, change.old, change.new) for change in made]


def test_saving_an_untouched_page_changes_nothing(admin_client, flat):
    before = state(flat)
    response = save(admin_client, flat)
    assert response.status_code == 302
    assert state(flat) == before
    page = admin_client.get(address(flat.pk))
    assert [str(message) for message in page.context["messages"]] == ["Nothing was changed."]


def test_one_changed_input_is_an_edit_of_exactly_that_leaf(admin_client, admin_user, flat):
    before = flat.desired
    assert save(admin_client, flat, title=" Bright flat ").status_code == 302
    flat.refresh_from_db()
    assert flat.desired == before | {"title": "Bright flat"}
    assert edited(flat) == [("title", "Flat", "Bright flat")]
    change = Change.objects.get(origin="ADMIN")
    assert (change.actor, change.revision, flat.revision) == (admin_user, 2, 2)
    assert flat.due_at is not None


def test_an_input_of_each_kind_arrives_as_the_wire_has_it(admin_client, flat):
    kinds = {
        "numberOfRooms": ("4.5", 4.5),
        "numberOfBedrooms": ("2", 2),
        "heatingCosts": ("1'200.50", 1200.5),
        "isFurnished": ("true", True),
        "heatingType": ("GAS", "GAS"),
        "availabilityStartAt": ("2027-01-02T03:04", "2027-01-02T03:04:00Z"),
        # What was there keeps its place: the main category stands first.
        "propertyCategories": (
            ["APARTMENT", "VILLA", "MAISONETTE"],
            ["MAISONETTE", "APARTMENT", "VILLA"],
        ),
        "conditions": (["MINT_CONDITION"], ["MINT_CONDITION"]),
        "buildingZones": ("W2", "W2"),
    }
    before = flat.desired
    posted = {path: posted for path, (posted, _) in kinds.items()}
    assert save(admin_client, flat, **posted).status_code == 302
    flat.refresh_from_db()
    stored = {path: stored for path, (_, stored) in kinds.items()}
    assert flat.desired == before | stored
    assert sorted(edited(flat), key=str) == sorted(
        ((path, before.get(path), value) for path, value in stored.items()), key=str
    )


def test_another_spelling_of_the_same_value_is_no_edit(admin_client, flat):
    before = state(flat)
    touched = {
        "numberOfRooms": "3.0",
        "availabilityStartAt": "2026-12-01T09:30",
        "title": "Flat ",
        "energyCertificate.issuedAt": "2026-01-31",
        "localizations[0].description": "Eine\nzweite Zeile\n",
    }
    assert save(admin_client, flat, **touched).status_code == 302
    assert state(flat) == before


def test_a_member_of_a_price_is_sent_with_its_whole_leaf_and_loses_no_sibling(admin_client, flat):
    save(admin_client, flat, **{"prices.rent.gross": "2500", "prices.rent.interval": "MONTH"})
    rent = {"gross": 2500, "net": 2200, "newerMember": True, "interval": "MONTH"}
    assert edited(flat) == [
        ("prices.rent", {"gross": 2450, "net": 2200, "newerMember": True}, rent)
    ]
    flat.refresh_from_db()
    assert flat.desired["prices"] == {"currency": "CHF", "rent": rent}


def test_an_object_keeps_the_members_that_no_input_shows(admin_client, flat):
    save(admin_client, flat, **{"address.locality": "Basel", "address.geo.latitude": "47.5"})
    flat.refresh_from_db()
    assert flat.desired["address"] == {
        "locality": "Basel",
        "newerMember": {"a": 1},
        "geo": {"latitude": 47.5, "longitude": 2},
    }
    assert flat.desired["futureField"] == {"a": [1]}


def test_a_cleared_input_clears_its_leaf(admin_client, flat):
    save(admin_client, flat, title="", propertyCategories=None)
    flat.refresh_from_db()
    assert edited(flat) == [
        ("propertyCategories", ["MAISONETTE", "APARTMENT"], None),
        ("title", "Flat", None),
    ]
    assert "title" not in flat.desired


def test_amenities_have_three_states_and_can_be_left_unsaid(admin_client, flat):
    touched = {"hasBalcony": "", "hasElevator": "DOES_NOT_APPLY", "hasSauna": "UNKNOWN"}
    save(admin_client, flat, **{f"characteristics.{name}": v for name, v in touched.items()})
    flat.refresh_from_db()
    assert flat.desired["characteristics"] == {
        "hasElevator": "DOES_NOT_APPLY",
        "hasSauna": "UNKNOWN",
    }
    assert {path for path, _, _ in edited(flat)} == {f"characteristics.{name}" for name in touched}


def test_a_localization_is_added_in_a_blank_row(admin_client, flat):
    touched = {"localizations[3].languageCode": "fr", "localizations[3].title": "Bel appartement"}
    save(admin_client, flat, **touched)
    flat.refresh_from_db()
    assert flat.desired["localizations"] == [
        *LOCALIZATIONS,
        {"languageCode": "fr", "title": "Bel appartement"},
    ]
    assert [path for path, _, _ in edited(flat)] == ["localizations"]


def test_an_item_of_a_list_is_removed_and_the_others_stay_whole(admin_client, flat):
    touched = {"localizations[0]:remove": "on", "localizations[1].title": "Sunny flat"}
    save(admin_client, flat, **touched)
    flat.refresh_from_db()
    assert flat.desired["localizations"] == [LOCALIZATIONS[1] | {"title": "Sunny flat"}]


def test_custom_fields_are_rows_of_name_and_value(admin_client, flat):
    touched = {
        "customFields[0]:remove": "on",
        "customFields[1].value": "y",
        "customFields[2].name": "agent",
        "customFields[2].value": "Keller",
    }
    save(admin_client, flat, **touched)
    flat.refresh_from_db()
    assert flat.desired["customFields"] == {"odd": "y", "agent": "Keller"}


def test_what_an_item_holds_many_of_is_json(admin_client, flat):
    row = '[{"key": "k", "value": "w"}]'
    save(admin_client, flat, **{"publishers[0].options": row})
    flat.refresh_from_db()
    assert flat.desired["publishers"] == [{"id": "p", "options": [{"key": "k", "value": "w"}]}]


@pytest.mark.rule("2.4 rule UNKNOWN", "9 rule 3")
def test_an_unknown_enum_value_is_shown_kept_and_not_sent(admin_client, flat):
    force(flat, desired=flat.desired | {"heatingType": "UNKNOWN", "developmentState": "NEWER"})
    page = admin_client.get(address(flat.pk)).content.decode()
    assert "UNKNOWN – newer than this app" in page  # noqa: RUF001
    assert "NEWER – newer than this app" in page  # noqa: RUF001
    assert save(admin_client, flat, title="Other").status_code == 302
    flat.refresh_from_db()
    assert (flat.desired["heatingType"], flat.desired["developmentState"]) == ("UNKNOWN", "NEWER")
    assert edited(flat) == [("title", "Flat", "Other")]


def test_a_stored_value_of_a_wrong_shape_is_kept_while_nobody_touches_it(admin_client, flat):
    odd = {
        "numberOfRooms": "4 1/2",
        "title": 7,
        "availabilityStartAt": "soon",
        "isFurnished": "perhaps",
        "address": "Bern",
        "localizations": "none",
        "videoLinks": ["x", None],
        "customFields": {"n": 5},
        "conditions": [1, "NEWER"],
        "buildingZones": "line\nbreak",
    }
    force(flat, desired=flat.desired | odd)
    before = state(flat)
    assert save(admin_client, flat).status_code == 302
    assert state(flat) == before


def test_an_input_that_was_not_posted_is_not_cleared(admin_client, flat):
    before = state(flat)
    shown = opened(admin_client, flat)["shown"]
    chosen = flat.desired["propertyCategories"]
    data = {"shown": shown, "propertyCategories": chosen}
    assert admin_client.post(address(flat.pk), data).status_code == 302
    assert state(flat) == before


def test_a_new_property_is_created_with_its_reference(admin_client, admin_user, main):
    touched = {
        "workspace": str(main.pk),
        "objectReferenceId": "N 1",
        "title": "New",
        "prices.rent.gross": "1000",
        "videoLinks[0].url": "https://example.com/v",
    }
    response = save(admin_client, None, **touched)
    row = Property.objects.get()
    assert response.status_code == 302
    assert (row.workspace, row.object_reference_id, row.revision) == (main, "N 1", 1)
    assert row.desired == {
        "objectReferenceId": "N 1",
        "title": "New",
        "prices": {"rent": {"gross": 1000}},
        "videoLinks": [{"url": "https://example.com/v"}],
    }
    assert {change.actor for change in Change.objects.all()} == {admin_user}
    assert row.due_at is not None


def test_the_reference_of_a_property_cannot_be_changed(admin_client, flat):
    before = state(flat)
    save(admin_client, flat, objectReferenceId="B-1", workspace="9")
    assert state(flat) == before
    flat.refresh_from_db()
    assert flat.object_reference_id == "A-1"
    assert LogEntry.objects.get().change_message == "[]"


def test_a_blank_line_alone_begins_a_paragraph(admin_client, main):
    row = make(main, localizations=[{"languageCode": "de", "description": "Eins.\nZwei."}])
    for text in ("Eins.\n\nZwei.", "Eins.\nZwei."):
        save(admin_client, row, **{"localizations[0].description": text.replace("\n", "\r\n")})
        row.refresh_from_db()
        assert row.desired["localizations"][0]["description"] == text

"""While a page was open somebody else changed the property: nothing is lost, nothing put back."""

import pytest

from properties.models import Change, Property
from tests.properties.form_page import errors, force, make, opened, post, read, save, state


@pytest.fixture
def flat(main) -> Property:
    return make(
        main,
        title="Flat",
        numberOfRooms=3,
        address={"locality": "Bern"},
        localizations=[{"languageCode": "de", "description": "Eine\nzweite Zeile"}],
    )


def test_what_somebody_else_changed_meanwhile_is_not_put_back(admin_client, flat):
    page = opened(admin_client, flat)
    theirs = {"title": "Theirs", "localizations": [{"languageCode": "it"}], "numberOfRooms": 9}
    force(flat, desired=flat.desired | theirs, revision=flat.revision + 1)
    before = flat.desired
    assert post(admin_client, flat, page, author="Ann").status_code == 302
    flat.refresh_from_db()
    assert flat.desired == before | {"author": "Ann"}


def test_a_field_that_somebody_else_changed_meanwhile_is_asked_about(admin_client, flat):
    page = opened(admin_client, flat)
    force(flat, desired=flat.desired | {"title": "Theirs"}, revision=flat.revision + 1)
    before = state(flat)
    response = post(admin_client, flat, page, title="Ours")
    assert errors(response) == {
        "title": [
            "Title: somebody changed it while this page was open; it is Theirs now. "
            "Save again to replace it."
        ]
    }
    assert state(flat) == before
    again = read(response.content.decode())
    assert again["title"] == ["Ours"]
    assert post(admin_client, flat, again).status_code == 302
    change = Change.objects.get(origin="ADMIN")
    assert (change.path, change.old, change.new) == ("title", "Theirs", "Ours")


def test_an_object_that_somebody_else_changed_meanwhile_is_not_overwritten(admin_client, flat):
    page = opened(admin_client, flat)
    force(flat, desired=flat.desired | {"address": {"locality": "Basel"}})
    before = state(flat)
    response = post(admin_client, flat, page, **{"address.street": "Markt"})
    assert errors(response) == {
        "address.street": [
            "Address: somebody changed it while this page was open; it is "
            '{"locality": "Basel"} now. Reload the page to continue from there.'
        ]
    }
    assert state(flat) == before


def test_a_page_that_cannot_say_what_it_showed_changes_nothing(admin_client, flat, main):
    other = make(main, "A-2", title="Other")
    theirs = opened(admin_client, other)["shown"]
    before = state(flat)
    response = save(admin_client, flat, title="x", shown=theirs)
    assert errors(response) == {"__all__": ["This page cannot say what it showed: reload it."]}
    assert state(flat) == before

"""While a page was open somebody else changed the property: nothing is lost, nothing put back."""

from threading import Thread

import pytest
from django.db import connection, connections
from django.http import QueryDict
from django.utils import timezone

from crm_sync.admin.ui.cells import EMPTY
from properties.domain.editing import Outdated, edit
from properties.forms import PropertyForm
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


def question(response) -> dict[str, dict[str, list[str]]]:
    """Return what the page asks: by field and member, yours, there now, before and the choice."""
    return {
        one["name"]: {
            member["name"]: [
                *(side["text"] for side in member["sides"]),
                member["before"],
                *(side["value"] for side in member["sides"] if side["chosen"]),
            ]
            for member in one["members"]
        }
        for one in response.context["questions"]
    }


@pytest.fixture
def colleague(django_user_model):
    return django_user_model.objects.create(username="colleague")


def changes_by(colleague, flat: Property, **leaves) -> None:
    edit(flat, leaves, origin=Change.Origin.ADMIN, actor=colleague, now=timezone.now())


def test_a_field_that_somebody_else_changed_meanwhile_is_asked_about(admin_client, flat, colleague):
    page = opened(admin_client, flat)
    changes_by(colleague, flat, title="Theirs")
    before = state(flat)
    response = post(admin_client, flat, page, title="Ours")
    text = "colleague changed this while the page was open. Choose above which value is saved."
    assert errors(response) == {"title": [text]}
    assert question(response) == {"Title": {"": ["Ours", "Theirs", "Flat"]}}
    assert state(flat) == before
    again = read(response.content.decode())
    assert again["title"] == ["Ours"]
    undecided = post(admin_client, flat, again)
    assert (question(undecided), state(flat)) == (question(response), before)
    assert post(admin_client, flat, again, **{"whose:title:0": "MINE"}).status_code == 302
    change = Change.objects.get(actor__username="admin")
    assert (change.path, change.old, change.new) == ("title", "Theirs", "Ours")


def test_whoever_takes_the_value_of_the_other_saves_only_the_rest(admin_client, flat, colleague):
    page = opened(admin_client, flat)
    changes_by(colleague, flat, title="Theirs")
    response = post(admin_client, flat, page, title="Ours", author="Ann")
    again = read(response.content.decode())
    assert post(admin_client, flat, again, **{"whose:title:0": "THERE"}).status_code == 302
    flat.refresh_from_db()
    assert (flat.desired["title"], flat.desired["author"]) == ("Theirs", "Ann")
    assert not Change.objects.filter(actor__username="admin", path="title").exists()


def test_a_question_is_put_once_more_if_a_value_changes_after_it(admin_client, flat, colleague):
    page = opened(admin_client, flat)
    changes_by(colleague, flat, title="Theirs")
    again = read(post(admin_client, flat, page, title="Ours").content.decode())
    changes_by(colleague, flat, title="Theirs again")
    response = post(admin_client, flat, again, **{"whose:title:0": "MINE"})
    assert question(response) == {"Title": {"": ["Ours", "Theirs again", "Flat"]}}
    again = read(response.content.decode())
    response = post(admin_client, flat, again, title="Mine", **{"whose:title:0": "THERE"})
    assert question(response) == {"Title": {"": ["Mine", "Theirs again", "Flat"]}}
    flat.refresh_from_db()
    assert flat.desired["title"] == "Theirs again"


def test_of_an_object_that_both_changed_each_keeps_what_the_other_left_alone(
    admin_client, flat, colleague
):
    page = opened(admin_client, flat)
    changes_by(colleague, flat, address={"locality": "Basel"})
    before = state(flat)
    response = post(admin_client, flat, page, **{"address.street": "Markt"})
    text = "colleague changed this while the page was open. Choose above which value is saved."
    assert errors(response) == {"address.street": [text]}
    asked = {
        "Street": ["Markt", EMPTY, EMPTY, "MINE"],
        "Locality": ["Bern", "Basel", "Bern", "THERE"],
    }
    assert question(response) == {"Address": asked}
    assert state(flat) == before
    again = read(response.content.decode())
    assert post(admin_client, flat, again).status_code == 302
    flat.refresh_from_db()
    assert flat.desired["address"] == {"locality": "Basel", "street": "Markt"}


def test_a_row_of_a_list_is_not_put_back_by_whoever_edits_the_row_below(
    admin_client, main, colleague
):
    texts = [{"languageCode": code, "title": code.upper()} for code in ("de", "fr")]
    flat = make(main, localizations=texts)
    page = opened(admin_client, flat)
    changes_by(colleague, flat, localizations=texts[1:])
    response = post(admin_client, flat, page, **{"localizations[1].title": "Maison"})
    again = read(response.content.decode())
    assert post(admin_client, flat, again).status_code == 302
    flat.refresh_from_db()
    assert flat.desired["localizations"] == [{"languageCode": "fr", "title": "Maison"}]


def test_a_feed_beside_an_open_page_is_named_as_such(admin_client, flat):
    page = opened(admin_client, flat)
    edit(flat, {"title": "Fed"}, origin=Change.Origin.FEED, now=timezone.now())
    response = post(admin_client, flat, page, title="Ours")
    assert [one["who"] for one in response.context["questions"]] == ["A feed"]


def test_who_saves_the_value_that_is_there_by_now_is_asked_nothing(admin_client, flat, colleague):
    page = opened(admin_client, flat)
    changes_by(colleague, flat, title="Loft")
    assert post(admin_client, flat, page, title="Loft").status_code == 302


@pytest.mark.rule("I4")
def test_a_form_is_saved_at_the_revision_that_it_was_compared_with(
    admin_client, admin_user, flat, colleague
):
    data = QueryDict(mutable=True)
    for name, values in opened(admin_client, flat).items():
        data.setlist(name, values)
    data["title"] = "Ours"
    form = PropertyForm(data, person=admin_user, instance=Property.objects.get(pk=flat.pk))
    assert form.is_valid()
    changes_by(colleague, flat, title="Theirs")
    before = state(flat)
    with pytest.raises(Outdated):
        form.save(actor=admin_user, now=timezone.now())
    assert state(flat) == before


@pytest.mark.skipif("connection.vendor == 'sqlite'", reason="SQLite lets one page save at a time")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("leaf", "status"), [("title", 200), ("author", 302)])
def test_who_saves_at_the_very_moment_of_another_loses_nothing_of_either(
    admin_client, flat, colleague, leaf, status
):
    page = opened(admin_client, flat)
    row = Property.objects.get(pk=flat.pk)
    first = []

    def beside() -> None:
        changes_by(colleague, row, **{leaf: "Theirs"})
        connections.close_all()

    def faster(execute, sql, params, many, context):
        if sql.startswith('UPDATE "properties_property"') and not first:
            first.append(sql)
            thread = Thread(target=beside)
            thread.start()
            thread.join()
        return execute(sql, params, many, context)

    with connection.execute_wrapper(faster):
        response = post(admin_client, flat, page, title="Ours")
    flat.refresh_from_db()
    assert response.status_code == status
    if leaf == "title":
        assert question(response) == {"Title": {"": ["Ours", "Theirs", "Flat"]}}
        assert flat.desired["title"] == "Theirs"
    else:
        assert (flat.desired["title"], flat.desired["author"]) == ("Ours", "Theirs")


def test_a_page_that_cannot_say_what_it_showed_changes_nothing(admin_client, flat, main):
    other = make(main, "A-2", title="Other")
    theirs = opened(admin_client, other)["shown"]
    before = state(flat)
    response = save(admin_client, flat, title="x", shown=theirs)
    assert errors(response) == {"__all__": ["This page cannot say what it showed: reload it."]}
    assert state(flat) == before

"""The history of a property: readable, narrowed by field, and every change can be undone."""

from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from properties.domain.editing import edit
from properties.domain.undo import ChangedSince, undo
from properties.models import Change, Property
from tests.properties.form_page import force, make, state


def history(row: Property, query: str = "") -> str:
    return f"/admin/properties/property/{row.pk}/history/{query}"


def undo_page(row: Property, change: Change) -> str:
    page = f"/admin/properties/property/{row.pk}/history/{change.pk}/undo/"
    return f"{page}?{urlencode({'field': change.path})}"


def last(path: str) -> Change:
    return Change.objects.filter(path=path).latest("pk")


def begun(row: Property, path: str) -> Change:
    """What the creation of a property said of one field."""
    return Change.objects.get(real_estate_property=row, path=Change.CREATION).part(path)


@pytest.fixture
def flat(main, admin_user) -> Property:
    row = make(main, title="Flat", heatingType="GAS", prices__rent={"gross": 100, "net": 80})
    changes = {
        "title": "House",
        "heatingType": "DISTRICT",
        "prices.rent": {"gross": 120, "net": 80},
    }
    edit(row, changes, origin="ADMIN", actor=admin_user, now=now())
    return row


def messages_of(response) -> list[str]:
    return [str(message) for message in response.context["messages"]]


def test_the_history_says_who_changed_what_from_what_to_what(admin_client, flat):
    page = admin_client.get(history(flat))
    newest = {entry.path: (entry.values, entry.who) for entry in page.context["entries"][:3]}
    assert newest == {
        "title": (("Flat", "House"), "admin"),
        "heatingType": (("Gas", "District heating"), "admin"),
        "prices.rent": (("Gross: 100", "Gross: 120"), "admin"),
    }
    html = page.content.decode()
    for part in ("Heating type", ">Admin</span>", ">Feed</span>"):
        assert part in html


def test_the_button_of_the_page_leads_to_it(admin_client, flat):
    page = admin_client.get(f"/admin/properties/property/{flat.pk}/change/").content.decode()
    assert f'href="{history(flat)}"' in page


def test_the_history_is_narrowed_to_one_field_and_paged(admin_client, flat, main):
    make(main, "B-1", title="Another property", author="not ours")
    for n in range(120):
        edit(flat, {"title": f"House {n}"}, origin="API", now=now())
    page = admin_client.get(history(flat, "?field=title"))
    assert (page.context["page"].paginator.count, len(page.context["entries"])) == (122, 50)
    assert {entry.path for entry in page.context["entries"]} == {"title"}
    last_page = admin_client.get(history(flat, "?field=title&page=3")).context["entries"]
    assert [entry.values for entry in last_page][-1] == ("—", "Flat")
    assert len(admin_client.get(history(flat)).context["entries"]) == 50
    assert [path for path, _ in page.context["fields"]] == [
        "heatingType",
        "objectReferenceId",
        "prices.rent",
        "title",
    ]


def test_a_nul_in_the_field_of_a_history_is_left_out(admin_client, flat):
    page = admin_client.get(history(flat), {"field": "ti\0tle"})
    assert (page.status_code, page.context["chosen"]) == (200, "title")


def test_the_history_takes_the_same_queries_however_long_it_is(admin_client, flat, admin_user):
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            admin_client.get(history(flat))
        return len(captured)

    queries()
    before = queries()
    for n in range(60):
        edit(flat, {"title": f"House {n}"}, origin="ADMIN", actor=admin_user, now=now())
    assert queries() == before


def test_undo_sets_the_field_back_as_a_change_that_is_sent(admin_client, flat, admin_user):
    force(flat, due_at=None)
    change = last("heatingType")
    response = admin_client.post(undo_page(flat, change), follow=True)
    assert messages_of(response) == ["Heating type is what it was before; a worker sends it."]
    flat.refresh_from_db()
    assert (flat.desired["heatingType"], flat.due_at is not None) == ("GAS", True)
    undone = last("heatingType")
    assert (undone.old, undone.new, undone.origin) == ("DISTRICT", "GAS", "ADMIN")
    assert (undone.actor, undone.note) == (admin_user, f"undo of change {change.pk}")
    assert undone.note.message == "undo of change %(id)s"  # it is read in each language


def test_undo_of_the_first_value_clears_the_field(admin_client, flat):
    edit(flat, {"author": "Somebody"}, origin="ADMIN", now=now())
    admin_client.post(undo_page(flat, last("author")))
    flat.refresh_from_db()
    assert "author" not in flat.desired


def test_an_undo_can_be_undone(admin_client, flat):
    admin_client.post(undo_page(flat, last("title")))
    admin_client.post(undo_page(flat, last("title")))
    flat.refresh_from_db()
    assert flat.desired["title"] == "House"


def test_a_field_that_was_changed_since_is_shown_and_asked_for_first(admin_client, flat):
    change = last("title")
    edit(flat, {"title": "Villa"}, origin="FEED", now=now())
    before = state(flat)
    entry = next(
        entry
        for entry in admin_client.get(history(flat)).context["entries"]
        if entry.undo == undo_page(flat, change)
    )
    assert entry.since == "Villa"
    asked = admin_client.post(undo_page(flat, change))
    assert (asked.status_code, state(flat)) == (200, before)
    values = dict(asked.context["values"])
    assert values == {"It was": "Flat", "This change made it": "House", "It is now": "Villa"}
    admin_client.post(undo_page(flat, change), {"seen": asked.context["seen"]})
    flat.refresh_from_db()
    assert flat.desired["title"] == "Flat"


def test_what_changes_while_somebody_is_asked_is_asked_for_again(admin_client, flat):
    change = last("title")
    edit(flat, {"title": "Villa"}, origin="FEED", now=now())
    seen = admin_client.get(undo_page(flat, change)).context["seen"]
    edit(flat, {"title": "Castle"}, origin="FEED", now=now())
    before = state(flat)
    asked = admin_client.post(undo_page(flat, change), {"seen": seen})
    assert (asked.status_code, state(flat)) == (200, before)
    assert dict(asked.context["values"])["It is now"] == "Castle"


def test_what_a_person_saw_cannot_be_forged_or_taken_from_another_change(admin_client, flat):
    change = last("title")
    edit(flat, {"title": "Villa"}, origin="FEED", now=now())
    other = admin_client.get(undo_page(flat, last("heatingType"))).context["seen"]
    before = state(flat)
    for seen in ("forged", other):
        assert admin_client.post(undo_page(flat, change), {"seen": seen}).status_code == 403
    assert state(flat) == before


def test_what_stands_there_already_is_not_changed_again(flat, admin_user):
    change = last("title")
    edit(flat, {"title": "Flat"}, origin="ADMIN", now=now())
    before = state(flat)
    assert undo(change, seen="House", actor=admin_user, now=now()) is False
    assert state(flat) == before


def test_undo_refuses_what_it_was_not_shown(flat, admin_user):
    change = last("title")
    edit(flat, {"title": "Villa"}, origin="ADMIN", now=now())
    with pytest.raises(ChangedSince) as caught:
        undo(change, seen="House", actor=admin_user, now=now())
    assert caught.value.current == "Villa"


def test_an_old_value_that_may_not_be_set_stays_undone(admin_client, flat):
    change = Change.objects.create(
        real_estate_property=flat, path="heatingType", old="UNKNOWN", new="DISTRICT", revision=9
    )
    before = state(flat)
    response = admin_client.post(undo_page(flat, change), follow=True)
    (text,) = messages_of(response)
    assert text.startswith("Heating type stays as it is: ")
    assert state(flat) == before


def test_the_reference_is_chosen_once(admin_client, flat):
    change = begun(flat, "objectReferenceId")
    before = state(flat)
    assert admin_client.post(undo_page(flat, change)).status_code == 404
    *_, created = admin_client.get(history(flat)).context["entries"]
    undo = {entry.path: entry.undo for entry in created.fields}
    assert (undo["objectReferenceId"], undo["title"] != "", state(flat)) == ("", True, before)


def test_a_change_of_another_property_is_not_undone_here(admin_client, flat, main):
    other = make(main, "B-1", title="Other")
    assert admin_client.post(undo_page(flat, begun(other, "title"))).status_code == 404


def test_a_creation_is_one_row_that_tells_every_field(admin_client, main):
    row = make(main, title="Flat", heatingType="GAS", prices__rent={"gross": 100})
    (entry,) = admin_client.get(history(row)).context["entries"]
    assert (entry.name, entry.undo) == ("Created", "")
    assert [(field.name, field.values, field.since) for field in entry.fields] == [
        ("Heating type", ("—", "Gas"), ""),
        ("Object reference ID", ("—", "A-1"), ""),
        ("Rent", ("—", "Gross: 100"), ""),
        ("Title", ("—", "Flat"), ""),
    ]
    html = admin_client.get(history(row)).content.decode()
    for part in ("Created with 4 fields", "Gross: 100", undo_page(row, begun(row, "prices.rent"))):
        assert part in html
    assert (
        "Created with 4 fields"
        in admin_client.get(f"/admin/properties/property/{row.pk}/change/").content.decode()
    )


def test_each_field_of_a_creation_has_a_history_of_its_own(admin_client, flat):
    def values(field: str) -> list[tuple[str, str]]:
        page = admin_client.get(history(flat, f"?field={field}"))
        entries = page.context["entries"]
        assert page.context["page"].paginator.count == len(entries)
        assert {entry.path for entry in entries} <= {field}
        return [entry.values for entry in entries]

    edit(flat, {"author": "Somebody"}, origin="ADMIN", now=now())
    assert values("title") == [("Flat", "House"), ("—", "Flat")]
    assert values("heatingType") == [("Gas", "District heating"), ("—", "Gas")]
    assert values("prices.rent")[0] == ("Gross: 100", "Gross: 120")
    assert values("author") == [("—", "Somebody")]
    assert values("prices") == []


def test_a_field_of_a_creation_is_undone_alone_and_cleared(admin_client, flat, admin_user):
    force(flat, due_at=None)
    change, before = begun(flat, "heatingType"), flat.desired
    asked = admin_client.post(undo_page(flat, change))
    assert dict(asked.context["values"]) == {
        "It was": "—",
        "This change made it": "Gas",
        "It is now": "District heating",
    }
    admin_client.post(undo_page(flat, change), {"seen": asked.context["seen"]})
    flat.refresh_from_db()
    assert flat.desired == {k: v for k, v in before.items() if k != "heatingType"}
    undone = last("heatingType")
    assert (undone.old, undone.new, undone.note) == (
        "DISTRICT",
        None,
        f"undo of change {change.pk}",
    )


def test_a_creation_is_not_undone_as_a_whole_or_at_a_field_that_it_does_not_have(
    admin_client, flat
):
    page, before = undo_page(flat, begun(flat, "title")).partition("?")[0], state(flat)
    for query in ("", "?field=", "?field=author", "?field=prices", "?other=title"):
        assert admin_client.post(f"{page}{query}").status_code == 404
    seen = admin_client.get(undo_page(flat, begun(flat, "title"))).context["seen"]
    forged = undo_page(flat, begun(flat, "heatingType"))
    assert admin_client.post(forged, {"seen": seen}).status_code == 403
    assert state(flat) == before


def test_a_history_of_one_row_a_field_from_before_is_shown_and_undone_as_ever(admin_client, flat):
    """A property whose creation was written field by field."""
    Change.objects.filter(path=Change.CREATION).delete()
    columns = {"real_estate_property": flat, "revision": 1, "origin": "FEED"}
    Change.objects.create(path="author", new="Somebody", **columns)
    edit(flat, {"author": "Somebody"}, origin="FEED", now=now())
    entries = admin_client.get(history(flat, "?field=author")).context["entries"]
    assert [entry.values for entry in entries] == [("—", "Somebody")] * 2
    assert "created" not in {entry.name.lower() for entry in entries}
    admin_client.post(undo_page(flat, Change.objects.filter(path="author").earliest("pk")))
    flat.refresh_from_db()
    assert "author" not in flat.desired


def test_the_permission_to_change_is_the_permission_to_undo(flat):
    user = User.objects.create(username="agent", is_staff=True)
    user.user_permissions.set(
        Permission.objects.filter(codename__in=["view_property", "change_property"])
    )
    flat.workspace.people.add(user)
    client = Client()
    client.force_login(user)
    client.post(undo_page(flat, last("title")))
    flat.refresh_from_db()
    assert (flat.desired["title"], last("title").actor) == ("Flat", user)
    # S17: who may not see properties learns nothing.
    user.user_permissions.clear()
    assert client.get(history(flat)).status_code == 403

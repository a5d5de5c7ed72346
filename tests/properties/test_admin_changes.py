"""What changed: all history on one page, filtered, and undone as one from there."""

import re
from datetime import timedelta
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone

from crm_sync.admin.ui.cells import local_time
from crm_sync.models import Workspace
from properties.domain import change_selection
from properties.domain.editing import edit
from properties.models import Change, Import, Property, Undo
from properties.models.change import Cause
from tests.crm_sync.admin_pages import queries_of
from tests.properties.form_page import force, make
from tests.properties.test_undo_many import desired
from tests.properties.uploaded import CANARY, table, upload, work

PAGE = "/admin/properties/property/changes/"


def shown(client, **asked) -> list[tuple[str, str]]:
    """The changes on the page: field, and new value."""
    rows = client.get(PAGE, asked).context["rows"]
    return [(row.path, row.values[1]) for row in rows]


def undo_page(**asked) -> str:
    return f"{PAGE}undo/?{urlencode(asked)}"


def agent(*workspaces: Workspace, name="agent", codenames=("view_property", "change_property")):
    """The browser of a person of these workspaces."""
    user = User.objects.create(username=name, is_staff=True)
    user.user_permissions.add(*Permission.objects.filter(codename__in=codenames))
    for workspace in workspaces:
        workspace.people.add(user)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def anna(db) -> User:
    return User.objects.create(username="anna", is_staff=True)


@pytest.fixture
def flat(main, anna) -> Property:
    address = {"street": "Seestrasse 12", "postalCode": "8001", "locality": "Zürich"}
    row = make(main, title="Flat", address=address)
    edit(row, {"title": "House"}, origin="ADMIN", actor=anna, now=timezone.now())
    return row


@pytest.fixture
def imported(main, admin_user, data_dir) -> Import:
    """An import of one changed and one new property."""
    make(main, "A1", title="Old")
    row = upload(main, admin_user, table(["A1", "A2"]), released=True)
    while Import.objects.get(pk=row.pk).ended_at is None:
        work(row)
    return row


def test_each_change_says_who_what_from_where_and_whether_it_was_sent(admin_client, flat, anna):
    newest = admin_client.get(PAGE).context["rows"][0]
    assert (newest.name, newest.values) == ("Title", ("Flat", "House"))
    assert "Seestrasse 12, 8001 Zürich" in newest.subject
    assert f"person={anna.pk}" in newest.who
    assert (">Admin<" in newest.origin, ">Not yet<" in newest.sent) == (True, True)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"platform_id": "7", "observed": {"title": "House"}}, "Sent"),
        ({"platform_id": "7", "observed": {"title": "Flat"}}, "Not yet"),
        ({"problem": {"REFUSED": {"title": "no"}}}, "Waits for you"),
        ({"desired": {"title": "Villa"}}, "Replaced"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_the_platform_has_of_a_change_follows_from_the_row(admin_client, flat, columns, words):
    force(flat, **columns)
    assert f">{words}<" in admin_client.get(PAGE).context["rows"][0].sent


def test_the_filters_select_person_origin_field_import_workspace_and_time(
    admin_client, main, flat, anna, imported
):
    other = Workspace.objects.create(slug="other", base_url="http://other.test")
    make(other, "O-1", title="There")
    old = timezone.now() - timedelta(days=2)
    Change.objects.filter(real_estate_property__object_reference_id="A1", path="").update(at=old)
    assert shown(admin_client, person=anna.pk) == [("title", "House")]
    assert shown(admin_client, origin="ADMIN") == [("title", "House")]
    assert shown(admin_client, field="title") == [("title", "House A1"), ("title", "House")]
    assert len(shown(admin_client, cause=Cause.IMPORT.of(imported.pk))) == 3
    assert shown(admin_client, workspace="other") == [("", "2 fields")]
    assert len(shown(admin_client, time="hour")) == Change.objects.count() - 1
    assert shown(admin_client, to=(old + timedelta(minutes=1)).isoformat()) == [("", "2 fields")]
    assert shown(admin_client, time="yesterday") == []
    assert len(shown(admin_client, person="x", origin="x", to="x", time="x")) == 7


def test_pages_go_on_at_a_key_and_show_each_change_once(admin_client, main, flat):
    now = timezone.now()
    for n in range(70):
        edit(flat, {"title": f"House {n}"}, origin="API", now=now)
    found, address = [], PAGE
    while address:
        context = admin_client.get(address).context
        found += [row.values[1] for row in context["rows"]]
        address = PAGE + context["older"] if context["older"] else ""
    assert found == [*(f"House {n}" for n in reversed(range(70))), "House", "3 fields"]


def test_a_page_looks_at_a_bounded_number_of_changes_and_says_how_far(
    admin_client, main, flat, monkeypatch
):
    monkeypatch.setattr(change_selection, "LOOKED_AT", 3)
    for n in range(5):
        edit(flat, {"title": f"House {n}"}, origin="API", now=timezone.now())
    page = admin_client.get(PAGE, {"origin": "ADMIN"})
    assert (page.context["rows"], b"Look further back" in page.content) == ([], True)
    further = admin_client.get(PAGE + page.context["older"]).context
    assert [row.values[1] for row in further["rows"]] == ["House"]


def test_the_number_of_queries_does_not_depend_on_the_changes(admin_client, main, flat):
    few = queries_of(admin_client, PAGE)
    for n in range(25):
        edit(make(main, f"B-{n}"), {"title": f"House {n}"}, origin="API", now=timezone.now())
    assert queries_of(admin_client, PAGE) == few


def test_values_are_escaped(admin_client, flat):
    edit(flat, {"title": CANARY}, origin="API", now=timezone.now())
    assert CANARY not in admin_client.get(PAGE).content.decode()


# --- who sees and may what ---
@pytest.mark.rule("S12")
def test_a_person_sees_and_undoes_only_changes_of_their_workspaces(main, flat, anna):
    other = Workspace.objects.create(slug="other", base_url="http://other.test")
    client = agent(other)
    row = make(other, "O-1", title="There")
    edit(row, {"title": "Here"}, origin="ADMIN", actor=anna, now=timezone.now())
    assert shown(client) == [("title", "Here"), ("", "2 fields")]
    assert shown(client, workspace="main") == []
    page = client.get(undo_page(person=anna.pk))
    assert page.context["plan"].fields == 1
    client.post(undo_page(person=anna.pk), {"up_to": page.context["plan"].up_to})
    assert Undo.objects.get().workspace == other
    job = Undo.objects.create(workspace=main, up_to=1, due_at=timezone.now())
    assert client.get(f"/admin/properties/property/undo/{job.pk}/").status_code == 404
    assert client.get(f"/admin/properties/property/undo/{job.pk}/live/").status_code == 404


@pytest.mark.rule("S12")
def test_an_undo_in_a_workspace_that_was_lost_since_is_not_one_in_another(main, flat, anna):
    other = Workspace.objects.create(slug="other", base_url="http://platform.test")
    row = make(other, "B1", title="A")
    edit(row, {"title": "B"}, origin="ADMIN", actor=anna, now=timezone.now())
    browser = agent(main, other)
    asked = {"person": anna.pk, "workspace": "other"}
    assert len(browser.get(undo_page(**asked)).context["steps"]) == 1
    other.people.clear()
    answer = browser.post(undo_page(**asked), {"up_to": Change.objects.latest("pk").pk})
    assert (answer.status_code, Undo.objects.exists()) == (302, False)
    assert shown(browser, **asked) == []
    filters = browser.get(PAGE, asked).context["filters"]
    assert [one["value"] for one in filters if one["name"] == "workspace"] == ["other"]


@pytest.mark.rule("S17")
@pytest.mark.rule("S12")
def test_the_undo_names_nobody_of_another_workspace(main):
    other = Workspace.objects.create(slug="other", base_url="http://other.test")
    agent(other, name="stranger")
    stranger = User.objects.get(username="stranger")
    asked = {"person": stranger.pk, "workspace": "main"}
    assert "stranger" not in agent(main).get(undo_page(**asked), follow=True).text
    assert "stranger" in agent(main, other, name="both").get(undo_page(**asked), follow=True).text


@pytest.mark.parametrize(
    ("zone", "asked"),
    [
        ("Europe/Zurich", {"from": "0001-01-01T00:00"}),
        ("America/New_York", {"to": "9999-12-31T23:59"}),
    ],
)
def test_a_time_beyond_the_ends_of_the_calendar_filters_nothing(
    admin_client, flat, settings, zone, asked
):
    settings.TIME_ZONE = zone
    assert len(shown(admin_client, **asked)) == len(shown(admin_client)) > 0


@pytest.mark.parametrize("name", ["workspace", "cause", "field"])
def test_a_nul_in_the_address_of_a_page_is_refused(admin_client, flat, anna, name):
    asked = {"person": anna.pk, name: "a\0"}
    assert admin_client.get(PAGE, asked).status_code == 400
    assert admin_client.get(undo_page(**asked)).status_code == 400


def test_a_viewer_sees_the_changes_and_can_undo_none(viewer, flat, anna):
    page = viewer.get(PAGE, {"person": anna.pk})
    assert (len(page.context["rows"]), b"Undo these" in page.content) == (1, False)
    assert viewer.get(undo_page(person=anna.pk)).status_code == 403
    assert viewer.post(undo_page(person=anna.pk), {"up_to": 99}).status_code == 403
    assert not Undo.objects.exists()


def test_the_undo_is_offered_once_the_filters_name_few_enough(admin_client, main, flat, anna):
    assert admin_client.get(PAGE).context["undo"] == ""
    assert admin_client.get(PAGE, {"field": "title"}).context["undo"] == ""
    assert "person=" in admin_client.get(PAGE, {"person": anna.pk}).context["undo"]
    Workspace.objects.create(slug="other", base_url="http://other.test")
    assert admin_client.get(PAGE, {"person": anna.pk}).context["undo"] == ""
    asked = {"person": anna.pk, "workspace": "main"}
    assert "workspace=main" in admin_client.get(PAGE, asked).context["undo"]
    assert admin_client.get(undo_page(field="title")).status_code == 302


def test_an_hour_stays_the_hour_that_the_page_showed(admin_client, flat):
    address = admin_client.get(PAGE, {"time": "hour"}).context["undo"]
    assert ("time=" in address, "from=" in address) == (False, True)


# --- the undo ---
def test_looking_at_the_undo_changes_nothing_and_confirming_it_restores(
    admin_client, flat, anna, take_undos
):
    page = admin_client.get(undo_page(person=anna.pk))
    step = page.context["steps"][0]
    assert (step["fields"], desired()["A-1"]["title"]) == ([("Title", "House", "Flat")], "House")
    asked = {"up_to": page.context["plan"].up_to}
    there = admin_client.post(undo_page(person=anna.pk), asked)
    take_undos()
    assert desired()["A-1"]["title"] == "Flat"
    done = admin_client.get(there.url)
    assert done.context["counts"] == {"fields": 1, "properties": 1, "removed": 0, "kept": 0}
    assert b"data-finished" in admin_client.get(f"{there.url}live/").content
    assert str(Undo.objects.get().requested_by) == "admin"
    admin_client.post(undo_page(person=anna.pk), asked)  # a second click
    take_undos()
    assert Undo.objects.latest("pk").counts.get("fields") == 0


def test_what_is_kept_names_who_changed_it_since(admin_client, flat, anna, take_undos):
    edit(flat, {"title": "Villa"}, origin="API", now=timezone.now())
    page = admin_client.get(undo_page(person=anna.pk))
    assert page.context["plan"].is_empty
    kept = page.context["steps"][0]["kept"]
    assert kept[0][1].startswith("Changed since by Our own code, ")
    there = admin_client.post(undo_page(person=anna.pk), {"up_to": 10**6})
    take_undos()
    assert admin_client.get(there.url).context["kept"][0][2] == kept[0][1]


@pytest.mark.parametrize("up_to", ["", "x", "-1", "9" * 30])
def test_a_post_that_names_no_change_is_refused(admin_client, flat, anna, up_to):
    posted = admin_client.post(undo_page(person=anna.pk), {"up_to": up_to})
    assert (posted.status_code, Undo.objects.exists()) == (403, False)


def taken_back(client, row) -> list[tuple[str, str]]:
    """Return what the head of the page of an import says of its undos, and where that leads."""
    page = client.get(f"/admin/properties/import/{row.pk}/change/").text
    banner = r'<p class="cs-banner cs-muted">(.*?) <a class="cs-link" href="(.*?)">What undo'
    return re.findall(banner, page)


def test_the_page_of_an_import_takes_it_back(admin_client, imported, take_undos):
    page = admin_client.get(f"/admin/properties/import/{imported.pk}/change/").content.decode()
    address = undo_page(cause=Cause.IMPORT.of(imported.pk))
    assert f'href="{address}">Take it back' in page
    plan = admin_client.get(address).context["plan"]
    assert (plan.fields, plan.removed) == (2, 1)
    there = admin_client.post(address, {"up_to": plan.up_to})
    at, link = local_time(Undo.objects.get().requested_at), there.url
    said = f"Being taken back by admin, {at}: 0 fields restored, 0 kept."
    assert taken_back(admin_client, imported) == [(said, link)]
    take_undos()
    assert desired() == {"A1": {"objectReferenceId": "A1", "title": "Old"}}
    said = f"Taken back by admin, {at}: 2 fields restored, 1 property removed, 0 kept."
    assert taken_back(admin_client, imported) == [(said, link)]
    page = admin_client.get(f"/admin/properties/import/{imported.pk}/change/").text
    assert "Take it back" not in page  # nothing is left to be taken back


def test_an_import_of_which_one_field_was_undone_is_not_taken_back(
    admin_client, imported, take_undos
):
    one = undo_page(cause=Cause.IMPORT.of(imported.pk), field="title")
    admin_client.post(one, {"up_to": admin_client.get(one).context["plan"].up_to})
    take_undos()
    assert Undo.objects.get().count("fields") == 1
    assert taken_back(admin_client, imported) == []


def test_an_import_whose_changes_do_not_name_it_says_so(admin_client, imported):
    Change.objects.update(cause="")
    page = admin_client.get(f"/admin/properties/import/{imported.pk}/change/").content.decode()
    assert ("Take it back" in page, "imported by an earlier version" in page) == (False, True)


@pytest.mark.parametrize("cause", ["undo:abc", "import:abc", "import:", "undo", "other:1"])
def test_a_cause_that_names_nothing_selects_nothing_and_breaks_no_page(admin_client, flat, cause):
    for page in (PAGE, undo_page(cause=cause)):
        assert admin_client.get(page, {"cause": cause}).status_code in (200, 302)
    assert admin_client.post(undo_page(cause=cause), {"up_to": 1}).status_code == 302
    assert Undo.objects.filter(counts__fields__gt=0).count() == 0


def test_the_plan_of_an_undo_names_only_the_members_that_differ(main, flat, anna, admin_client):
    texts = [{"languageCode": "de", "title": "Haus", "description": "Lang. " * 40}]
    edit(flat, {"localizations": texts}, origin="ADMIN", now=timezone.now())
    slip = [texts[0] | {"title": "Hut"}]
    edit(flat, {"localizations": slip}, origin="ADMIN", actor=anna, now=timezone.now())
    page = admin_client.get(undo_page(person=anna.pk, field="localizations")).content.decode()
    assert "de · title: Hut → de · title: Haus" in page
    assert "Lang." not in page

"""Each way to change a field says what becomes of a value that a rule keeps from it (I1)."""

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils.timezone import now

from crm_sync.models import Workspace
from properties.domain import bulk_edit, undo, undo_steps
from properties.domain.editing import create, edit
from properties.domain.owner_change import set_owner
from properties.domain.undo import Kept, KeptPart
from properties.forms.set_form import wanted
from properties.imports import missing_properties
from properties.imports.engine import import_feed
from properties.merge import Owner
from properties.models import Batch, Change, LastFeed, Property, Undo
from properties.plugged import doctor
from tests.api import error, program
from tests.properties.form_page import force, opened, post
from tests.properties.test_feeds_import import as_json

REASON = "The platform owns this, by a rule of workspace main. Change it on the platform."
CSV = "objectReferenceId,title,prices.rent.gross\nA-1,{title},{rent}\n"


@pytest.fixture
def row(main) -> Property:
    made = create(
        main,
        "A-1",
        {"title": "Flat", "prices.rent": {"gross": 1500}, "address": {"locality": "Bern"}},
        origin="ADMIN",
        now=now(),
    )
    there = {"id": "7", "title": "Flat", "prices": {"rent": {"gross": 1500}}}
    Property.objects.update(platform_id="7", observed=there)
    made.refresh_from_db()
    return made


@pytest.fixture
def owned(main, row) -> Property:
    """Return a property whose prices are the platform's."""
    set_owner(main.pk, "group:Prices", Owner.THEIRS, now=now())
    return row


def values(row: Property) -> tuple[str, int]:
    row.refresh_from_db()
    return row.desired["title"], row.desired["prices"]["rent"]["gross"]


# --- programs


def test_a_program_is_refused_with_the_name_of_the_field(main, owned):
    erp = program(main)
    body = {"title": "House", "prices": {"rent": {"gross": 1600}}}
    refused = erp.call("PATCH", "/properties/A-1", body)
    assert error(refused) == (400, "invalid", ["prices.rent"])
    assert refused.json()["fields"][0]["message"] == REASON
    assert values(owned) == ("Flat", 1500)
    assert error(erp.call("PUT", "/properties/B-1", body)) == (400, "invalid", ["prices.rent"])
    assert not Property.objects.filter(object_reference_id="B-1").exists()


def test_a_put_neither_clears_a_field_of_the_platform_nor_minds_its_own_value(main, owned):
    erp = program(main)
    assert erp.call("PUT", "/properties/A-1", {"title": "House"}).status_code == 200
    assert values(owned) == ("House", 1500)
    assert "address" not in owned.desired
    again = {"title": "Villa", "prices": {"rent": {"gross": 1500.0}}}
    assert erp.call("PUT", "/properties/A-1", again).status_code == 200
    assert values(owned) == ("Villa", 1500)


# --- feeds


def load(main, tmp_path, text: str, **options):
    path = tmp_path / "stock"
    path.write_text(text)
    return list(import_feed(Workspace.objects.get(pk=main.pk), path, now=now(), **options))[-1]


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_feed_is_imported_without_the_fields_of_the_platform_and_says_so(
    main, owned, tmp_path, dry_run
):
    report = load(main, tmp_path, CSV.format(title="House", rent=1600), dry_run=dry_run)
    assert (report.changed.first, report.refused.count) == ([("A-1", ["title"])], 0)
    text = f'prices.rent: {{"gross": 1600}} is set aside. {REASON}'
    assert report.warned.first == [("A-1", [text])]
    assert values(owned) == ("Flat" if dry_run else "House", 1500)


def test_a_new_property_of_a_feed_comes_without_them(main, tmp_path):
    set_owner(main.pk, "prices", Owner.THEIRS, now=now())
    report = load(main, tmp_path, CSV.format(title="House", rent=1600))
    assert (report.new.first, [ref for ref, _ in report.warned.first]) == (["A-1"], ["A-1"])
    assert "prices" not in Property.objects.get().desired


def test_a_full_feed_gives_its_value_once_no_rule_keeps_it(main, tmp_path):
    feed = as_json(["A-1"])
    set_owner(main.pk, "localizations", Owner.THEIRS, now=now())
    assert load(main, tmp_path, feed).warned.count == 1
    row = Property.objects.get()
    assert ("localizations" in row.desired, "localizations" in row.fed) == (False, False)
    assert load(main, tmp_path, feed).unchanged.count == 1
    set_owner(main.pk, "localizations", Owner.POLICY, now=now())
    assert not LastFeed.objects.exists()  # else the same file would not be read at all
    assert load(main, tmp_path, feed).changed.first == [("A-1", ["localizations"])]
    row.refresh_from_db()
    assert row.desired["localizations"][0]["title"] == "Wohnung"


# --- people


def test_the_plan_of_many_names_the_refused_field_and_sets_the_others(main, owned, admin_user):
    batch = Batch.objects.create(kind=Batch.Kind.SET)
    batch.properties.add(owned)
    entered = {"title": "House", "prices.rent.gross": 1600}
    bulk_edit.plan(batch, wanted(entered), entered=entered, now=now())
    one = batch.edits.get()
    assert (bulk_edit.in_words(one.refused), one.planned) == (
        {"prices.rent": REASON},
        {"title": ["Flat", "House"]},
    )


def test_an_undo_of_a_field_that_the_platform_owns_since_changes_nothing(main, row, admin_user):
    edit(row, {"prices.rent": {"gross": 1400}}, origin="ADMIN", now=now())
    change = Change.objects.latest("pk")
    set_owner(main.pk, "prices", Owner.THEIRS, now=now())
    # Its old value is the platform's, so it may be taken back.
    assert undo.undo(change, seen={"gross": 1400}, actor=admin_user, now=now())
    assert values(row) == ("Flat", 1500)


@pytest.fixture
def cheaper(row) -> Property:
    """Return a property whose rent and title were changed, and both sides agree."""
    new = {"title": "House", "prices.rent": {"gross": 1400}}
    edit(row, new, origin="ADMIN", now=now(), cause="import 1")
    force(row, observed=row.observed | {"title": "House", "prices": {"rent": {"gross": 1400}}})
    return row


@pytest.mark.rule("I35")
@pytest.mark.parametrize(
    ("owner", "reason", "text"),
    [
        (Owner.THEIRS, Kept.OWNED, "The platform owns it, by a rule of the workspace"),
        (
            Owner.FILL,
            Kept.FILLED,
            "A rule of the workspace only fills it if empty, and the platform has a value",
        ),
    ],
)
def test_the_plan_of_an_undo_and_its_result_keep_the_field_and_name_the_rule(
    boss, main, cheaper, owner, reason, text
):
    set_owner(main.pk, "group:Prices", owner, now=now())
    address = "/admin/properties/property/changes/undo/?cause=import+1&workspace=main"
    page = boss.get(address)
    plan = page.context["plan"]
    ((_, step),) = plan.steps
    assert (plan.fields, plan.properties, plan.kept) == (1, 1, 1)
    assert (step.values, step.kept) == ({"title": "Flat"}, [KeptPart("prices.rent", reason)])
    assert text in page.content.decode()
    boss.post(address, {"up_to": plan.up_to})
    job = undo_steps.finish(Undo.objects.get())
    assert job.counts == {"fields": 1, "properties": 1, "kept": 1}
    assert job.kept == [[cheaper.pk, "A-1", "prices.rent", reason, None]]
    assert text in boss.get(f"/admin/properties/property/undo/{job.pk}/").content.decode()
    assert values(cheaper) == ("Flat", 1400)


def test_the_undo_of_one_change_says_once_which_field_stays_and_why(boss, main, cheaper):
    set_owner(main.pk, "prices", Owner.THEIRS, now=now())
    change = Change.objects.get(path="prices.rent")
    page = f"/admin/properties/property/{cheaper.pk}/history/{change.pk}/undo/"
    answer = boss.post(page, follow=True)
    assert [str(one) for one in answer.context["messages"]] == [f"Rent stays as it is: {REASON}"]
    assert values(cheaper) == ("House", 1400)


def test_a_form_shows_a_field_of_the_platform_read_only_with_its_reason(boss, owned):
    page = boss.get(f"/admin/properties/property/{owned.pk}/change/").content.decode()
    assert page.count(REASON) >= 1
    assert 'name="prices.rent.gross"' in page
    at = page.index('name="prices.rent.gross"')
    assert "disabled" in page[at : page.index(">", at)]
    at = page.index('name="title"')
    assert "disabled" not in page[at : page.index(">", at)]


def test_a_page_of_before_the_rule_loses_nothing_silently(boss, row, main):
    page = opened(boss, row)
    set_owner(main.pk, "prices", Owner.THEIRS, now=now())
    answer = post(boss, row, page, **{"prices.rent.gross": "1600", "title": "House"})
    text = answer.content.decode()
    assert f"{REASON} What you entered was not saved." in text
    assert values(row) == ("Flat", 1500)


def test_a_new_property_is_refused_at_the_input(boss, main):
    set_owner(main.pk, "prices", Owner.THEIRS, now=now())
    data = {"workspace": main.pk, "objectReferenceId": "N-1", "prices.rent.gross": "1600"}
    answer = boss.post("/admin/properties/property/add/", data)
    assert REASON in answer.content.decode()
    assert not Property.objects.exists()


def test_what_is_never_sent_can_be_edited_and_says_so(boss, main, row):
    set_owner(main.pk, "title", Owner.NEVER, now=now())
    page = boss.get(f"/admin/properties/property/{row.pk}/change/").content.decode()
    assert "This is never sent to the platform, by a rule of workspace main." in page
    at = page.index('name="title"')
    assert "disabled" not in page[at : page.index(">", at)]


def test_a_field_that_is_never_sent_does_not_differ_from_what_the_platform_confirmed(
    boss, main, row
):
    force(row, desired=row.desired | {"title": "House"}, due_at=None)
    set_owner(main.pk, "title", Owner.NEVER, now=now())
    page = boss.get(f"/admin/properties/property/{row.pk}/change/")
    overview = page.context["overview"]
    assert overview["kept"] == "Title"
    assert "Title" not in overview["differing"]
    text = "Never sent to the platform, by a rule of the workspace: Title."
    assert text in page.content.decode()


# --- the tab


def tab(main) -> str:
    return f"/admin/properties/property/owners/{main.pk}/"


def test_the_tab_sets_an_owner_and_writes_it_to_the_history(boss, main):
    answer = boss.post(tab(main), {"key": "group:Prices", "owner": "theirs"})
    assert (answer.status_code, answer["Location"]) == (302, f"{tab(main)}?saved=group%3APrices")
    assert Workspace.objects.get().owners["rules"] == {"group:Prices": "theirs"}
    history = boss.get(f"/admin/crm_sync/workspace/{main.pk}/history/").content.decode()
    assert "Prices: The platform owns it. It was: By the conflict policy." in history
    page = boss.get(tab(main), {"open": "Prices"}).content.decode()
    assert "As Prices: The platform owns it" in page
    assert page.count("<select") == 10 + 13


@pytest.mark.parametrize(
    "posted",
    [{"key": "id", "owner": "ours"}, {"key": "title", "owner": "mine"}, {}],
)
def test_what_is_no_field_or_no_owner_is_refused(boss, main, posted):
    assert boss.post(tab(main), posted).status_code == 400
    assert Workspace.objects.get().owners == {}


@pytest.mark.rule("S12", "S17")
def test_who_may_not_change_the_workspace_sees_the_owners_and_sets_none(main):
    user = User.objects.create(username="agent", is_staff=True)
    names = ("view_property", "change_property", "view_workspace")
    user.user_permissions.add(*Permission.objects.filter(codename__in=names))
    client = Client()
    client.force_login(user)
    assert client.get(tab(main)).status_code == 404  # not their workspace
    user.workspaces.add(main)
    page = client.get(tab(main))
    assert (page.status_code, b"<select" in page.content.split(b"<main")[-1]) == (200, False)
    assert client.post(tab(main), {"key": "title", "owner": "ours"}).status_code == 403
    assert Workspace.objects.get().owners == {}


@pytest.mark.rule("S17")
def test_who_may_not_see_workspaces_gets_no_page(main, viewer):
    assert viewer.get(tab(main)).status_code == 403


def test_the_doctor_names_rules_that_this_version_does_not_know(main):
    stored = {"title": "mine", "oldField": "ours", "address": "ours"}
    Workspace.objects.update(owners={"rules": stored})
    (found,) = doctor._rules(main.pk)
    text = "No effect has the rule of `oldField`, `title`: this version does not know it."
    assert (found.verdict, found.found) == ("warning", text)
    set_owner(main.pk, "title", Owner.OURS, now=now())
    assert Workspace.objects.get().owners["rules"]["title"] == "ours"


# --- a sender's missing properties


def test_a_policy_for_missing_properties_leaves_the_state_to_the_platform(main, row):
    assert missing_properties.exempt(main, ["A-1"]) == []
    set_owner(main.pk, "availabilityState", Owner.THEIRS, now=now())
    main.refresh_from_db()
    assert missing_properties.exempt(main, ["A-1"]) == ["A-1"]
    missing_properties.set_state(main, [row], "INACTIVE", now=now())
    row.refresh_from_db()
    assert "availabilityState" not in row.desired

"""A value of the platform that no PATCH can hold is erased by nobody who has not seen it (I4)."""

import pytest
from django.urls import reverse
from django.utils.timezone import now

from crm_sync.models import Workspace
from properties.domain.conflicts import decide, next_call, of_side
from properties.domain.editing import create, due_now, edit
from properties.models import Conflict, Property
from tests.platforms import delete
from tests.problems import as_texts
from tests.properties.form_page import opened, post

CATEGORIES = "propertyCategories"
THERE = ["UNKNOWN", "LOFT"]
OURS, THEIRS = Conflict.Decision.OURS, Conflict.Decision.THEIRS


@pytest.fixture
def row(box, workspace, drain_all) -> Property:
    """Return a property in sync; the platform has a category that this API does not know."""
    values = {CATEGORIES: ["LOFT"], "prices.rent": {"gross": 1}}
    made = create(workspace, "A-1", values, origin="ADMIN", now=now())
    drain_all()
    newer(box, propertyCategories=THERE)
    due_now(Property.objects.all())
    drain_all()
    box.calls.clear()
    made.refresh_from_db()
    assert made.desired[CATEGORIES] == THERE
    return made


def remote(box) -> dict:
    found = box.workspace.properties.values()
    return next(one for one in found if one.get("objectReferenceId") == "A-1")


def newer(box, **values) -> None:
    """Let the platform hold what reads as UNKNOWN here."""
    there = remote(box)
    box.workspace.properties[there["id"]] = there | values


def bodies(box) -> list[dict]:
    return [body for method, _, body, _ in box.calls if method == "PATCH"]


def choose(row: Property, side: str, django_user_model) -> Conflict:
    person = django_user_model.objects.create(username="agent")
    conflict = Conflict.objects.get(real_estate_property=row, decision="")
    decided = decide([of_side(conflict, side)], actor=person, now=now())
    assert [one.pk for one in decided.done] == [conflict.pk]
    row.refresh_from_db()
    return conflict


@pytest.mark.rule("I4")
@pytest.mark.parametrize("origin", ["FEED", "HTTP_API", "API"])
def test_a_program_does_not_erase_a_category_that_we_do_not_know(box, row, drain_all, origin):
    edit(row, {CATEGORIES: ["VILLA"], "title": "House"}, origin=origin, now=now())
    drain_all()
    assert remote(box)[CATEGORIES] == THERE
    assert bodies(box) == [{"title": "House"}]
    row.refresh_from_db()
    text = (
        "The platform holds a value here that this app does not know, and no PATCH can hold it."
        ' If ours is sent, that value is erased there. Ours is ["VILLA"], the platform\'s'
        ' ["UNKNOWN", "LOFT"]. Decide whose value stands'
    )
    assert as_texts(row.problem) == {"CONFLICT": {CATEGORIES: text}}
    conflict = Conflict.objects.get()
    assert (conflict.ours, conflict.theirs, conflict.decision) == (["VILLA"], THERE, "")


def test_it_waits_however_often_a_feed_changes_the_list(box, row, drain_all):
    for categories in (["VILLA"], ["LOFT", "VILLA"], []):
        edit(row, {CATEGORIES: categories}, origin="FEED", now=now())
        drain_all()
    assert (bodies(box), remote(box)[CATEGORIES]) == ([], THERE)
    row.refresh_from_db()
    assert (row.desired[CATEGORIES], Conflict.objects.get().ours) == ([], [])


def test_who_decides_for_ours_sends_it_and_both_sides_agree(box, row, drain_all, django_user_model):
    edit(row, {CATEGORIES: ["VILLA"]}, origin="FEED", now=now())
    drain_all()
    choose(row, OURS, django_user_model)
    drain_all()
    row.refresh_from_db()
    assert (bodies(box), row.problem) == ([{CATEGORIES: ["VILLA"]}], {})
    assert remote(box)[CATEGORIES] == ["VILLA"]


def test_who_decides_for_theirs_keeps_it(box, row, drain_all, django_user_model):
    edit(row, {CATEGORIES: ["VILLA"]}, origin="FEED", now=now())
    drain_all()
    choose(row, THEIRS, django_user_model)
    drain_all()
    row.refresh_from_db()
    assert (bodies(box), row.problem, row.desired[CATEGORIES]) == ([], {}, THERE)
    assert Conflict.objects.count() == 1


def test_a_person_who_adds_a_category_is_asked_before_the_unknown_one_is_erased(
    box, row, drain_all, admin_client, django_user_model
):
    page = opened(admin_client, row)
    assert page[CATEGORIES] == THERE
    assert post(admin_client, row, page, **{CATEGORIES: [*THERE, "VILLA"]}).status_code == 302
    drain_all()
    row.refresh_from_db()
    assert (bodies(box), row.desired[CATEGORIES]) == ([], [*THERE, "VILLA"])
    conflict = Conflict.objects.get(decision="")
    asked = admin_client.get(reverse("admin:properties_conflict_decide", args=[row.pk]))
    assert "no PATCH can hold it" in asked.content.decode()
    assert next_call(row, [of_side(conflict, OURS)]).body == {CATEGORIES: ["LOFT", "VILLA"]}
    choose(row, OURS, django_user_model)
    drain_all()
    row.refresh_from_db()
    assert bodies(box) == [{CATEGORIES: ["LOFT", "VILLA"]}]
    assert (row.desired[CATEGORIES], row.problem) == (["LOFT", "VILLA"], {})


def test_a_person_who_takes_the_unknown_one_out_is_not_asked_again(
    box, row, drain_all, admin_client
):
    page = opened(admin_client, row)
    assert post(admin_client, row, page, **{CATEGORIES: ["LOFT", "VILLA"]}).status_code == 302
    drain_all()
    row.refresh_from_db()
    assert (bodies(box), row.problem) == ([{CATEGORIES: ["LOFT", "VILLA"]}], {})


@pytest.mark.parametrize(
    ("box", "kept"),
    [
        ("rich", {"gross": 2, "interval": "UNKNOWN"}),
        ("brief", {"gross": 2, "interval": "UNKNOWN"}),
        ("odd", {"gross": 2}),
    ],
    indirect=["box"],
)
def test_a_member_that_we_do_not_know_waits_and_stays_where_the_platform_keeps_it(
    box, row, drain_all, django_user_model, kept
):
    newer(box, prices={"rent": {"gross": 1, "interval": "UNKNOWN"}})
    due_now(Property.objects.all())
    drain_all()
    row.refresh_from_db()
    edit(row, {"prices.rent": {"gross": 2}}, origin="FEED", now=now())
    drain_all()
    assert remote(box)["prices"]["rent"] == {"gross": 1, "interval": "UNKNOWN"}
    choose(row, OURS, django_user_model)
    drain_all()
    row.refresh_from_db()
    assert bodies(box) == [{"prices": {"rent": {"gross": 2}}}]
    assert remote(box)["prices"]["rent"] == row.desired["prices"]["rent"] == kept
    assert row.problem == {}


@pytest.mark.parametrize("policy", ["crm_wins", "ask"])
def test_no_rule_of_the_workspace_erases_it_where_both_sides_changed_the_list(
    box, row, drain_all, policy
):
    Workspace.objects.update(conflict_policy=policy)
    newer(box, propertyCategories=["UNKNOWN", "ATTIC_FLAT"])
    Property.objects.update(desired=row.desired | {CATEGORIES: ["VILLA"]}, due_at=now())
    drain_all()
    row.refresh_from_db()
    assert (bodies(box), list(row.problem)) == ([], ["CONFLICT"])
    assert Conflict.objects.get().theirs == ["UNKNOWN", "ATTIC_FLAT"]


def test_what_is_written_past_the_product_waits_too(box, row, drain_all):
    Property.objects.update(desired=row.desired | {CATEGORIES: [*THERE, "VILLA"]}, due_at=now())
    drain_all()
    row.refresh_from_db()
    text = (
        'The platform keeps ["UNKNOWN", "LOFT"], since no PATCH can hold UNKNOWN: take it out to'
        " send the rest, which erases that value there"
    )
    assert (bodies(box), as_texts(row.problem)) == ([], {"CANNOT_CLEAR": {CATEGORIES: text}})


def test_a_property_that_is_created_again_says_what_it_lacks(box, row, drain_all):
    delete(box, row.platform_id)
    due_now(Property.objects.all())
    drain_all()
    edit(row, {"title": "House"}, origin="ADMIN", now=now())
    drain_all()
    row.refresh_from_db()
    assert remote(box)[CATEGORIES] == ["LOFT"]
    text = 'UNKNOWN cannot be sent, so the platform holds ["LOFT"] without it'
    assert as_texts(row.problem) == {"DIFFERS": {CATEGORIES: text}}


@pytest.mark.rule("I4")
def test_a_person_is_asked_about_that_leaf_alone_and_the_rule_holds_for_the_others(
    box, row, drain_all
):
    Workspace.objects.update(conflict_policy="crm_wins")
    newer(box, propertyCategories=["UNKNOWN", "ATTIC_FLAT"], title="Theirs")
    wanted = row.desired | {CATEGORIES: ["VILLA"], "title": "Ours"}
    Property.objects.update(desired=wanted, due_at=now())
    drain_all()
    row.refresh_from_db()
    text = (
        "The platform holds a value here that this app does not know, and no PATCH can hold it."
        ' If ours is sent, that value is erased there. Ours is ["VILLA"], the platform\'s'
        ' ["UNKNOWN", "ATTIC_FLAT"]. Decide whose value stands'
    )
    assert as_texts(row.problem) == {"CONFLICT": {CATEGORIES: text}}
    assert bodies(box) == [{"title": "Ours"}]
    decisions = Conflict.objects.order_by("path").values_list("path", "decision")
    assert list(decisions) == [(CATEGORIES, ""), ("title", OURS)]

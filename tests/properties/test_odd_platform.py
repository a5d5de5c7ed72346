"""Odd platforms: strange refusals, derived fields, long names, swapped and missing references."""

import json

import pytest
from django.urls import reverse
from django.utils.timezone import now

from properties.domain.editing import create, due_now, edit
from properties.domain.owner_change import set_owner
from properties.merge import Owner
from properties.models import Conflict, Property
from properties.pull.linking import Linking, link
from properties.pull.walk import pull
from tests.api import error, program
from tests.conftest import PLATFORM
from tests.platforms import Between, delete
from tests.properties.test_pull import put


def read_all(workspace, drain_all) -> None:
    list(pull(workspace))
    due_now(Property.objects.all())
    drain_all()


def gone(box, row, drain_all) -> None:
    """Let the platform delete a property, and a read notice it."""
    row.refresh_from_db()
    delete(box, row.platform_id)
    due_now(Property.objects.filter(pk=row.pk))
    drain_all()
    row.refresh_from_db()
    assert row.platform_id is None


@pytest.mark.rule("I10")
@pytest.mark.parametrize("method", ["PATCH", "POST"])
def test_a_refusal_that_names_a_field_that_was_not_sent_is_not_answered_by_the_same_call(
    box, workspace, drain_all, method
):
    row = create(workspace, "A-1", {"title": "Flat"}, origin="ADMIN", now=now())
    between, sent = Between(box, PLATFORM), []
    if method == "PATCH":
        drain_all()
        row.refresh_from_db()
        edit(row, {"title": "House"}, origin="ADMIN", now=now())
    no = b'{"errors": [{"field": "propertyType", "message": "is required"}]}'

    def refuse(environ):
        if environ["REQUEST_METHOD"] != method or len(sent) == 20:
            return None
        sent.append(method)
        return "400 Bad Request", [], no

    between.before = refuse
    drain_all()
    row.refresh_from_db()
    assert (len(sent), row.due_at, list(row.problem)) == (1, None, ["REFUSED"])


@pytest.mark.rule("I4")
def test_two_fields_of_ours_that_the_platform_derives_from_each_other_are_not_put_back_without_end(
    box, workspace, drain_all
):
    values = {"numberOfRooms": 3, "numberOfBedrooms": 2}
    row = create(workspace, "A-1", values, origin="ADMIN", now=now())
    drain_all()
    row.refresh_from_db()
    for path in values:
        set_owner(workspace.pk, path, Owner.OURS, now=now())
    between, sent = Between(box, PLATFORM), []

    def derive(environ, answer):
        if environ["REQUEST_METHOD"] != "PATCH" or len(sent) == 30:
            return answer
        there, (status, _, body) = box.workspace.properties[row.platform_id], answer
        if len(sent) % 2 == 0:
            there["numberOfBedrooms"] = there["numberOfRooms"] - 2
        else:
            there["numberOfRooms"] = there["numberOfBedrooms"] + 2
        sent.append(dict(there))
        return status, [], json.dumps(json.loads(body) | there).encode()

    between.reword = derive
    edit(row, {"numberOfRooms": 5}, origin="ADMIN", now=now())
    drain_all()
    row.refresh_from_db()
    assert len(sent) < 10
    assert "CONFLICT" in row.problem


@pytest.mark.rule("S24")
def test_a_name_that_is_longer_than_the_history_can_hold_is_refused(main):
    create(main, "A", {"title": "Flat"}, origin="API", now=now())
    answer = program(main).call("PATCH", "/properties/A", {"n" * 301: 1})
    assert error(answer) == (400, "invalid", ["n" * 301])


@pytest.mark.rule("I1", "S24")
def test_a_long_name_of_the_platform_keeps_no_edit_from_being_sent(box, workspace, drain_all):
    row = create(workspace, "A-1", {"title": "Flat"}, origin="ADMIN", now=now())
    drain_all()
    row.refresh_from_db()
    box.workspace.properties[row.platform_id]["n" * 301] = "news"
    edit(row, {"title": "House"}, origin="ADMIN", now=now())
    assert drain_all() == {"properties": {"pushed": 1}}
    assert box.workspace.properties[row.platform_id]["title"] == "House"


def test_a_field_of_the_platform_without_a_name_is_no_field_here(
    box, workspace, drain_all, admin_client
):
    put(box, 1, **{"": 5})
    read_all(workspace, drain_all)
    row = Property.objects.get(object_reference_id="P-1")
    assert (row.desired.get("title"), "" in row.desired) == ("House 1", False)
    page = admin_client.get(reverse("admin:properties_property_change", args=[row.pk]))
    assert page.status_code == 200
    edit(row, {"title": "House"}, origin="ADMIN", now=now())
    assert drain_all() == {"properties": {"pushed": 1}}
    row.refresh_from_db()
    assert (row.observed["title"], row.problem) == ("House", {})


@pytest.mark.rule("I1")
def test_a_number_of_the_platform_that_no_float_can_hold_keeps_no_edit_from_being_sent(
    box, workspace, drain_all
):
    row = create(workspace, "A-1", {"title": "Flat"}, origin="ADMIN", now=now())
    drain_all()

    def with_number(environ, answer):
        status, headers, body = answer
        told = [(name, value) for name, value in headers if name.lower() != "content-length"]
        return status, told, body[:-1] + b', "aNewField": 1e400}'

    Between(box, PLATFORM).reword = with_number
    edit(row, {"title": "House"}, origin="ADMIN", now=now())
    assert drain_all() == {"properties": {"pushed": 1}}
    row.refresh_from_db()
    assert (row.desired["title"], row.observed["title"], row.problem) == ("House", "House", {})
    assert row.observed["aNewField"] == "1e400"


@pytest.mark.rule("I4")
@pytest.mark.parametrize("policy", ["ask", "crm_wins", "platform_wins"])
def test_the_id_of_a_property_that_is_created_again_is_no_conflict(
    box, workspace, drain_all, policy
):
    workspace.conflict_policy = policy
    workspace.save()
    row = create(workspace, "A-1", {"title": "Flat"}, origin="ADMIN", now=now())
    drain_all()
    gone(box, row, drain_all)
    edit(row, {"title": "Again"}, origin="ADMIN", now=now())
    assert drain_all() == {"properties": {"created": 1}}
    row.refresh_from_db()
    assert (row.problem, row.desired["id"]) == ({}, row.platform_id)
    assert not Conflict.objects.exists()


@pytest.mark.rule("I4")
def test_an_edit_goes_to_the_property_that_has_its_reference_after_two_were_swapped(
    box, workspace, drain_all
):
    box.workspace.properties.clear()
    first, second = put(box, 1), put(box, 2)
    read_all(workspace, drain_all)
    box.edit_property(first, {"objectReferenceId": "P-2"})
    box.edit_property(second, {"objectReferenceId": "P-1"})
    for _ in range(3):
        read_all(workspace, drain_all)
    edit(
        Property.objects.get(object_reference_id="P-1"),
        {"title": "For P-1"},
        origin="FEED",
        now=now(),
    )
    drain_all()
    there = {one["objectReferenceId"]: one["title"] for one in box.workspace.properties.values()}
    assert there == {"P-1": "For P-1", "P-2": "House 1"}
    assert list(Property.objects.values_list("problem", flat=True)) == [{}, {}]


def test_a_property_without_a_reference_is_not_looked_for_as_none(box, workspace, drain_all):
    box.workspace.properties.clear()
    key = put(box, 1, objectReferenceId=None)
    read_all(workspace, drain_all)
    row = Property.objects.get(platform_id=key)
    gone(box, row, drain_all)
    put(box, 2, objectReferenceId="None")
    edit(row, {"title": "Mine"}, origin="ADMIN", now=now())
    drain_all()
    titles = sorted(one["title"] for one in box.workspace.properties.values())
    assert titles == ["House 2", "Mine"]


def gone_in_conflict(box, workspace, drain_all, *, other: str) -> tuple[Property, Property]:
    """Return a property that is gone with an open conflict, and another one of the platform."""
    box.workspace.properties.clear()
    workspace.conflict_policy = "ask"
    workspace.save()
    row = create(workspace, "CRM-1", {"title": "Flat"}, origin="ADMIN", now=now())
    drain_all()
    row.refresh_from_db()
    box.edit_property(row.platform_id, {"title": "Theirs"})
    edit(row, {"title": "Ours"}, origin="ADMIN", now=now())
    drain_all()
    gone(box, row, drain_all)
    key = put(box, 2, title=other)
    list(pull(workspace))
    drain_all()
    return row, Property.objects.get(platform_id=key)


@pytest.mark.rule("I36")
def test_a_link_leaves_no_open_conflict_at_a_field_in_which_both_agree(box, workspace, drain_all):
    row, there = gone_in_conflict(box, workspace, drain_all, other="Ours")
    link(workspace.pk, row.pk, there.pk, Linking(policy="ask", now=now()))
    read_all(workspace, drain_all)
    (row,) = Property.objects.all()
    asked = Conflict.objects.filter(decision="").values_list("path", flat=True)
    assert set(asked) == set(row.problem.get("CONFLICT", {}))


@pytest.mark.rule("I36")
def test_two_properties_with_a_conflict_at_one_field_can_be_linked(box, workspace, drain_all):
    row, there = gone_in_conflict(box, workspace, drain_all, other="House")
    box.edit_property(there.platform_id, {"title": "Theirs 2"})
    edit(there, {"title": "Ours 2"}, origin="ADMIN", now=now())
    drain_all()
    assert link(workspace.pk, row.pk, there.pk, Linking(policy="ask", now=now())) == "linked"
    (row,) = Property.objects.all()
    told = Conflict.objects.order_by("pk").values_list("theirs", "decision")
    assert list(told) == [("Theirs", "OURS"), ("Theirs 2", "")]
    assert list(row.problem) == ["CONFLICT"]

"""A property that somebody enters reaches the platform as a PATCH by reference."""

import pytest
from django.utils.timezone import now

from properties.domain.editing import create, edit
from properties.models import Change, Conflict, Property
from sandbox.interface.switches import PLATFORMS

pytestmark = pytest.mark.parametrize("box", PLATFORMS, indirect=True)


def make(workspace, reference="A-1", **changes) -> Property:
    return create(
        workspace, reference, changes or {"title": "Flat"}, origin=Change.Origin.ADMIN, now=now()
    )


def remote(box, reference="A-1") -> dict:
    return next(
        p for p in box.workspace.properties.values() if p.get("objectReferenceId") == reference
    )


def read_back(box, switch: str) -> list[tuple[str, str]]:
    """What follows a write that this kind of platform answers with nothing."""
    told = box.switches[switch] == "property"
    return [] if told else [("GET", "/v1/real-estate-properties/by-reference/A-1")]


def calls(box) -> list[tuple[str, str]]:
    return [(method, path) for method, path, _, _ in box.calls]


@pytest.mark.rule("1 properties, users", "4.6 POST")
def test_a_property_that_the_platform_does_not_know_is_created(box, workspace, drain_all):
    row = make(workspace, title="Flat with a view")
    assert drain_all() == {"properties": {"created": 1}}
    row.refresh_from_db()
    there = remote(box)
    assert there["title"] == "Flat with a view"
    assert (row.platform_id, row.due_at, row.inflight) == (there["id"], None, {})
    assert row.observed["title"] == "Flat with a view"
    assert calls(box) == [
        ("GET", "/v1/real-estate-properties/by-reference/A-1"),
        ("POST", "/v1/real-estate-properties"),
        *read_back(box, "created"),
    ]


@pytest.mark.rule("4.6 PATCH by-reference; rule 3")
def test_an_edit_travels_as_the_smallest_patch_by_reference(box, workspace, drain_all):
    row = make(workspace, **{"title": "Flat", "prices.rent": {"net": 1000}, "numberOfRooms": 3})
    drain_all()
    box.calls.clear()
    edit(row, {"prices.rent": {"net": 1100}, "numberOfRooms": 3.0}, origin="ADMIN", now=now())
    assert drain_all() == {"properties": {"pushed": 1}}
    (patch,) = (one for one in box.calls if one[0] == "PATCH")
    assert patch[1:3] == (
        "/v1/real-estate-properties/by-reference/A-1",
        {"prices": {"rent": {"net": 1100}}},
    )
    assert remote(box)["prices"]["rent"]["net"] == 1100


def test_a_thousand_edits_are_one_patch(box, workspace, drain_all):
    row = make(workspace)
    drain_all()
    box.calls.clear()
    for n in range(50):
        edit(row, {"title": f"Flat {n}"}, origin="ADMIN", now=now())
    drain_all()
    assert calls(box) == [
        ("GET", "/v1/real-estate-properties/by-reference/A-1"),
        ("PATCH", "/v1/real-estate-properties/by-reference/A-1"),
        *read_back(box, "updated"),
    ]
    assert remote(box)["title"] == "Flat 49"


@pytest.mark.rule("1 properties, users", "4.6 rule 5")
def test_what_somebody_changed_on_the_platform_is_taken_over(box, workspace, drain_all):
    row = make(workspace)
    drain_all()
    box.edit_property(remote(box)["id"], {"numberOfRooms": 4.5})
    edit(row, {"title": "Bright flat"}, origin="ADMIN", now=now())
    drain_all()
    row.refresh_from_db()
    assert row.desired["numberOfRooms"] == 4.5
    assert (remote(box)["title"], remote(box)["numberOfRooms"]) == ("Bright flat", 4.5)
    change = Change.objects.get(path="numberOfRooms")
    assert (change.old, change.new, change.origin) == (None, 4.5, "PLATFORM")
    assert not Conflict.objects.exists()


def test_a_field_that_both_changed_is_a_conflict_and_ours_wins_by_default(
    box, workspace, drain_all
):
    row = make(workspace)
    drain_all()
    box.edit_property(remote(box)["id"], {"title": "Theirs"})
    edit(row, {"title": "Ours"}, origin="ADMIN", now=now())
    drain_all()
    conflict = Conflict.objects.get()
    assert (conflict.base, conflict.ours, conflict.theirs) == ("Flat", "Ours", "Theirs")
    assert conflict.decision == "OURS"
    assert remote(box)["title"] == "Ours"


@pytest.mark.rule("7 255")
def test_a_field_that_the_platform_refuses_waits_and_the_others_go_out(box, workspace, drain_all):
    row = make(workspace)
    drain_all()
    row.refresh_from_db()
    # Past our own validation, as a newer platform with narrower rules would be.
    Property.objects.filter(pk=row.pk).update(
        desired=row.desired | {"displayReferenceId": "x" * 256, "title": "Kept"}, due_at=now()
    )
    assert drain_all() == {"properties": {"refused": 1, "pushed": 1}}
    row.refresh_from_db()
    assert list(row.problem) == ["REFUSED"]
    assert list(row.problem["REFUSED"]) == ["displayReferenceId"]
    assert row.due_at is None
    assert remote(box)["title"] == "Kept"
    edit(row, {"displayReferenceId": "short"}, origin="ADMIN", now=now())
    drain_all()
    row.refresh_from_db()
    assert (row.problem, remote(box)["displayReferenceId"]) == ({}, "short")


@pytest.mark.rule("7 error body")
@pytest.mark.parametrize("form", ["list", "text", "field", "object", "keys"])
def test_each_refused_field_is_found_however_the_error_names_it(box, workspace, drain_all, form):
    row = make(workspace)
    drain_all()
    row.refresh_from_db()
    box.switches["errors"] = form
    wrong = {"displayReferenceId": "x" * 256, "prices": {"rent": {"gross": 1e30}}}
    Property.objects.update(desired=row.desired | wrong | {"title": "Kept"}, due_at=now())
    # One `field` names one at a time.
    refused = 2 if form == "field" else 1
    assert drain_all() == {"properties": {"refused": refused, "pushed": 1}}
    row.refresh_from_db()
    assert sorted(row.problem["REFUSED"]) == ["displayReferenceId", "prices.rent"]
    assert "is out of range" in row.problem["REFUSED"]["prices.rent"]
    assert (list(row.problem), row.due_at, remote(box)["title"]) == (["REFUSED"], None, "Kept")


@pytest.mark.rule("4.6 rule 1")
def test_a_scalar_that_is_cleared_is_shown_as_not_clearable(box, workspace, drain_all):
    row = make(workspace, title="Flat", numberOfRooms=3)
    drain_all()
    box.calls.clear()
    edit(row, {"numberOfRooms": None}, origin="ADMIN", now=now())
    assert drain_all() == {"properties": {"in sync": 1}}
    row.refresh_from_db()
    assert list(row.problem["CANNOT_CLEAR"]) == ["numberOfRooms"]
    assert row.due_at is None
    assert remote(box)["numberOfRooms"] == 3
    assert calls(box) == [("GET", "/v1/real-estate-properties/by-reference/A-1")]


@pytest.mark.rule("4.6 rule 2")
def test_an_emptied_list_travels_as_an_empty_list(box, workspace, drain_all):
    row = make(workspace, title="Flat", videoLinks=[{"url": "https://example.com/v"}])
    drain_all()
    edit(row, {"videoLinks": []}, origin="ADMIN", now=now())
    drain_all()
    row.refresh_from_db()
    assert [one[2] for one in box.calls if one[0] == "PATCH"] == [{"videoLinks": []}]
    assert (row.problem, row.due_at) == ({}, None)
    assert not remote(box).get("videoLinks")


@pytest.mark.rule("4.6 rule 2")
def test_a_map_travels_whole_and_an_emptied_one_as_an_empty_map(box, workspace, drain_all):
    row = make(workspace, title="Flat", customFields={"crm": "1", "old": "x"})
    drain_all()
    for wanted in ({"crm": "2"}, {}):
        edit(row, {"customFields": wanted}, origin="ADMIN", now=now())
        drain_all()
        assert (remote(box).get("customFields") or {}) == wanted
    row.refresh_from_db()
    sent = [one[2] for one in box.calls if one[0] == "PATCH"]
    assert sent == [{"customFields": {"crm": "2"}}, {"customFields": {}}]
    assert (row.problem, row.due_at) == ({}, None)

"""A program puts, patches and reads properties as people do in the form (I1, S12)."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from properties.domain import bulk_edit
from properties.domain.editing import Invalid, Outdated, create, due_now, edit
from properties.domain.undo import undo
from properties.models import Batch, Change, Conflict, Property
from properties.models.change import Origin
from tests.api import encoded, error, program
from tests.crm_sync.admin_pages import make_workspace

HOME = {
    "title": "A home",
    "propertyType": "APARTMENT",
    "address": {"street": "Main street 1", "locality": "Bern"},
    "prices": {"rent": {"gross": 1500}},
}


@pytest.fixture
def erp(main):
    return program(main)


def test_a_property_that_is_put_is_pushed_like_any_other_and_its_answer_follows_it(
    workspace, box, drain_all
):
    erp = program(workspace)
    made = erp.call("PUT", "/properties/MH-1", HOME)
    assert (made.status_code, made["ETag"]) == (201, '"1"')
    said = made.json()
    assert (said["state"], said["platformId"], said["observed"]) == ("NEVER_PUSHED", None, {})
    assert said["desired"] == HOME | {"objectReferenceId": "MH-1"}
    drain_all()
    said = erp.get("/properties/MH-1")
    assert (said["state"], said["problems"], said["conflicts"]) == ("IN_SYNC", [], [])
    assert said["observed"]["title"] == "A home"
    made_there = said["platformId"]
    # What is left out is cleared: a list or a merged member can be, a scalar cannot (A12).
    again = erp.call("PUT", "/properties/MH-1", {"propertyType": "APARTMENT"})
    assert (again.status_code, again.json()["cannotClear"]) == (200, ["title"])
    kept = {"id": made_there, "propertyType": "APARTMENT", "objectReferenceId": "MH-1"}
    assert again.json()["desired"] == kept
    drain_all()
    said = erp.get("/properties/MH-1")
    problems = [(one["kind"], one["path"]) for one in said["problems"]]
    assert problems == [("CANNOT_CLEAR", "title"), ("DIFFERS", "prices.rent")]
    assert "address" not in said["observed"] or said["observed"]["address"] == {}


def test_who_may_only_write_properties_is_answered_with_the_revision_alone(main):
    create(main, "MH-1", {"title": "Old"}, origin=Origin.ADMIN, now=timezone.now())
    writer = program(main, ["properties:write"])
    for method, path, body, revision in (
        ("PATCH", "/properties/MH-1", {"propertyType": "HOUSE"}, '"2"'),
        ("PUT", "/properties/MH-1", HOME, '"3"'),
        ("PUT", "/properties/MH-2", HOME, '"1"'),
    ):
        answer = writer.call(method, path, body)
        assert (answer.status_code, answer["ETag"]) == (204, revision)
    assert Property.objects.get(object_reference_id="MH-1").desired["title"] == "A home"
    assert error(writer.call("GET", "/properties/MH-1"))[0] == 403


def test_a_patch_sets_what_it_names_and_null_clears(erp, main):
    create(
        main,
        "MH-1",
        {
            "title": "Old",
            "prices.rent": {"gross": 1},
            "prices.buy": {"price": 2},
            "description": "d",
        },
        origin=Origin.ADMIN,
        now=timezone.now(),
    )
    change = {"title": "New", "description": None, "prices": {"buy": None}}
    answer = erp.call("PATCH", "/properties/MH-1", change)
    assert (answer.status_code, answer["ETag"]) == (200, '"2"')
    rest = {"title": "New", "prices": {"rent": {"gross": 1}}, "objectReferenceId": "MH-1"}
    assert answer.json()["desired"] == rest
    assert erp.call("PATCH", "/properties/MH-1", change)["ETag"] == '"2"'  # nothing new
    whole = erp.call("PATCH", "/properties/MH-1", {"prices": None}).json()
    assert whole["desired"] == {"title": "New", "objectReferenceId": "MH-1"}
    # What was read can be put back as it is.
    read = erp.get("/properties/MH-1")
    assert erp.call("PUT", "/properties/MH-1", read["desired"])["ETag"] == '"3"'


def test_a_put_leaves_what_the_platform_sets_and_what_nobody_here_knows(erp, main):
    known = {"title": "T", "rooms": [{"id": 1}], "newOnThePlatform": 5}
    Property.objects.create(workspace=main, object_reference_id="MH-1", desired=known)
    answer = erp.call("PUT", "/properties/MH-1", {"title": "U"})
    assert answer.json()["desired"] == known | {"title": "U"}


@pytest.mark.rule("S24")
def test_a_text_that_no_database_keeps_is_refused_at_its_field_and_not_shortened(erp, main):
    create(main, "MH-1", {"title": "T"}, origin=Origin.ADMIN, now=timezone.now())
    null, half = (
        "Null characters are not allowed.",
        "Surrogate characters are not allowed: U+D800.",
    )
    body = {
        "title": "a\0b",
        "prices": {"rent": {"currency": "\ud800"}},
        "localizations": [{"languageCode": "en", "title": "\0"}],
        "new\ud800": [{"\0": 1}],
    }
    said = [
        {"path": "title", "message": null},
        {"path": "prices.rent.currency", "message": half},
        {"path": "localizations[0].title", "message": null},
        {"path": "new", "message": half},
        {"path": "new[0]", "message": null},
    ]
    for method in ("PATCH", "PUT"):
        for address in ("/properties/MH-1", "/properties/MH-2")[: 1 + (method == "PUT")]:
            refused = erp.call(method, address, body)
            assert (refused.status_code, refused.json()["fields"]) == (400, said)
    assert Property.objects.get().desired == {"title": "T", "objectReferenceId": "MH-1"}


def test_an_empty_container_is_one_of_the_right_kind(erp, main):
    held = {
        "conditions": ["REFURBISHED"],
        "customFields": {"a": "b"},
        "address": {"street": "Main street"},
    }
    create(main, "MH-1", held, origin=Origin.ADMIN, now=timezone.now())
    wrong = {"conditions": {}, "customFields": [], "address": []}
    for body, paths in ((wrong, list(wrong)), ({"address": {"geo": []}}, ["address.geo"])):
        assert error(erp.call("PATCH", "/properties/MH-1", body)) == (400, "invalid", paths)
    emptied = {"conditions": [], "customFields": {}, "address": {"geo": {}}}
    said = erp.call("PATCH", "/properties/MH-1", emptied).json()
    assert said["desired"] == emptied | {"objectReferenceId": "MH-1"}


@pytest.fixture
def pushed(workspace, box, drain_all):
    """Return a program whose property the platform has, with an id and a room."""
    erp = program(workspace)
    erp.call("PUT", "/properties/MH-1", HOME)
    drain_all()
    row = Property.objects.get()
    box.workspace.properties[row.platform_id]["rooms"] = [{"name": "Kitchen"}]
    due_now(Property.objects.all())
    drain_all()
    return erp


@pytest.mark.rule("2.4 Read-only; rule UNKNOWN")
def test_what_only_the_platform_sets_is_neither_set_nor_cleared_once_it_is_there(pushed):
    before = pushed.get("/properties/MH-1")
    kept = {"id": before["platformId"], "rooms": [{"name": "Kitchen"}]}
    assert before["desired"] == before["desired"] | kept
    values = [("id", "5"), ("id", 5), ("id", [5]), ("id", None), ("id", ""), ("rooms", [])]
    for name, value in [*values, ("rooms", None), ("rooms", "x"), ("rooms", [{"name": "Attic"}])]:
        for method in ("PATCH", "PUT"):
            refused = pushed.call(method, "/properties/MH-1", before["desired"] | {name: value})
            assert error(refused) == (400, "invalid", [name]), (method, value)
            (field,) = refused.json()["fields"]
            assert field["message"] == "Only the platform can change this"
    for method, body in (("PATCH", kept), ("PUT", before["desired"])):
        same = pushed.call(method, "/properties/MH-1", body)
        assert (same.status_code, same.json()) == (200, before)


def test_whoever_writes_it_what_only_the_platform_sets_stays(pushed, admin_user):
    row, by = Property.objects.get(), {"actor": admin_user, "now": timezone.now()}
    kept, change = row.platform_id, Change(real_estate_property=row, path="id", old="5", new="6")
    with pytest.raises(Invalid, match=r"^id: Only the platform can change this$"):
        undo(change, seen=kept, **by)
    batch = Batch.objects.create(kind=Batch.Kind.SET)
    batch.properties.add(row)
    bulk_edit.plan(batch, lambda _: {"id": "5"}, entered={}, now=by["now"])
    (planned,) = batch.edits.all()
    assert bulk_edit.in_words(planned.refused) == {"id": "Only the platform can change this"}
    # A value that came past us is set right by that of the platform, and by no other.
    Property.objects.update(desired=row.desired | {"id": "5"})
    assert error(pushed.call("PATCH", "/properties/MH-1", {"id": "6"}))[2] == ["id"]
    right = pushed.call("PATCH", "/properties/MH-1", {"id": kept})
    assert (right.status_code, right.json()["desired"]["id"]) == (200, kept)


def test_an_id_that_the_platform_sends_as_a_number_is_a_text_here(workspace, box, drain_all):
    box.switches["ids"] = "number"
    erp = program(workspace)
    erp.call("PUT", "/properties/MH-1", {"title": "T"})
    drain_all()
    said = erp.get("/properties/MH-1")  # it fits the schema
    assert said["desired"]["id"] == said["observed"]["id"] == said["platformId"]
    assert erp.call("PUT", "/properties/MH-1", said["desired"]).json() == said


@pytest.mark.parametrize(
    ("items", "there"), [([{}, {"count": 2, "buyPrice": None}], [{"count": 2}]), ([{}], None)]
)
def test_an_entry_of_a_list_that_says_nothing_is_none(workspace, box, drain_all, items, there):
    erp = program(workspace)
    erp.call("PUT", "/properties/MH-1", {"parkingLots": [{"count": 1}]})
    drain_all()
    erp.call("PATCH", "/properties/MH-1", {"parkingLots": items})
    drain_all()
    said = erp.get("/properties/MH-1")
    assert (said["state"], said["problems"]) == ("IN_SYNC", [])
    assert (box.property_by_reference("MH-1")["parkingLots"] or None) == there


def test_a_push_that_only_brings_what_the_platform_sets_leaves_the_etag(workspace, box, drain_all):
    erp = program(workspace)
    made = erp.call("PUT", "/properties/MH-1", HOME)
    as_made = Property.objects.get()
    drain_all()
    row = Property.objects.get()
    assert (row.revision, row.desired) == (1, as_made.desired | {"id": row.platform_id})
    assert list(Change.objects.values_list("path", flat=True)) == [Change.CREATION]
    # An edit that has read the property before the push does not take the id out again.
    edit(as_made, {"title": "2"}, origin=Origin.ADMIN, now=timezone.now(), revision=1)
    assert Property.objects.get().desired == row.desired | {"title": "2"}
    late = erp.call("PATCH", "/properties/MH-1", {"title": "3"}, If_Match=made["ETag"])
    assert error(late)[:2] == (412, "outdated")
    # What the platform changes of our values raises it, as does a problem.
    drain_all()
    box.edit_property(row.platform_id, {"title": "Theirs"})
    due_now(Property.objects.all())
    drain_all()
    assert (erp.call("GET", "/properties/MH-1")["ETag"]) == '"3"'


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        ({"title": 5, "prices": {"rent": {"gross": "much"}}}, ["title", "prices.rent.gross"]),
        ({"prices": 5}, ["prices"]),
        ({"prices.rent": {"gross": 1}}, ["prices.rent"]),
        ({"prices": {"rent.gross": 1}}, ["prices.rent.gross"]),
        ({"objectReferenceId": "MH-2"}, ["objectReferenceId"]),
        ({"rooms": [{"id": 9}]}, ["rooms"]),
        ({"propertyType": "CASTLE", "title": "x" * 300}, ["propertyType", "title"]),
    ],
)
@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_what_the_form_refuses_is_refused_field_by_field(erp, main, body, paths, method):
    create(main, "MH-1", {"title": "T"}, origin=Origin.ADMIN, now=timezone.now())
    answer = erp.call(method, "/properties/MH-1", body)
    assert error(answer) == (400, "invalid", paths)
    assert Property.objects.get().desired == {"title": "T", "objectReferenceId": "MH-1"}
    if method == "PUT":
        body = {name: value for name, value in body.items() if name != "objectReferenceId"}
        refused = erp.call("PUT", "/properties/MH-9", body).status_code
        assert (refused, Property.objects.count()) == ((400, 1) if body else (201, 2))


def test_an_etag_lets_nobody_overwrite_what_they_have_not_seen(erp, main):
    assert error(erp.call("PUT", "/properties/MH-1", HOME, If_Match='"1"'))[:2] == (412, "outdated")
    made = erp.call("PUT", "/properties/MH-1", HOME)
    good = erp.call("PATCH", "/properties/MH-1", {"title": "2"}, If_Match=made["ETag"])
    assert (good.status_code, good["ETag"]) == (200, '"2"')
    for method in ("PUT", "PATCH"):
        for tag in (made["ETag"], 'W/"2"', "2"):
            late = erp.call(method, "/properties/MH-1", {"title": "3"}, If_Match=tag)
            assert error(late)[:2] == (412, "outdated"), tag
    assert erp.call("PATCH", "/properties/MH-1", {"title": "4"}, If_Match="*").status_code == 200
    assert Property.objects.get().desired["title"] == "4"
    # Also where somebody else is faster between our look and our write.
    stale = Property.objects.get()
    erp.call("PATCH", "/properties/MH-1", {"title": "5"})
    with pytest.raises(Outdated):
        edit(stale, {"title": "6"}, origin=Origin.API, now=timezone.now(), revision=3)
    assert Property.objects.get().desired["title"] == "5"


def test_a_put_that_only_creates_overwrites_no_property(erp):
    made = erp.call("PUT", "/properties/MH-1", HOME, If_None_Match="*")
    assert (made.status_code, made["ETag"]) == (201, '"1"')
    for tag in ("*", '"1"', 'W/"1"', '"7", "1"'):
        for method in ("PUT", "PATCH"):
            late = erp.call(method, "/properties/MH-1", {"title": "2"}, If_None_Match=tag)
            assert error(late)[:2] == (412, "outdated"), tag
    assert Property.objects.get().revision == 1
    other = erp.call("PATCH", "/properties/MH-1", {"title": "3"}, If_None_Match='"7"')
    assert (other.status_code, other["ETag"]) == (200, '"2"')


def test_a_call_without_a_body_clears_nothing(erp):
    erp.call("PUT", "/properties/MH-1", {"title": "T"})
    for method in ("PUT", "PATCH"):
        answer = erp.call(method, "/properties/MH-1")
        assert (answer.status_code, answer.json()["code"]) == (400, "parse_error")
    assert erp.get("/properties/MH-1")["revision"] == 1


@pytest.mark.parametrize(
    "reference", ["ü ö", "a+b&c=d;e", "“x”", "😀" * 255, "a" * 255, "history", "..."]
)
def test_a_reference_may_hold_any_character_that_travels(erp, reference):
    assert erp.call("PUT", encoded(reference), {"title": "T"}).status_code == 201
    assert erp.get(encoded(reference))["reference"] == reference
    assert len(erp.get(f"{encoded(reference)}/history")["items"]) == 1


@pytest.mark.parametrize(
    "reference", ["a/b", "a/b/c", "a#b", "a?b", "a%b", "a\\b", "x" * 256, " a"]
)
def test_any_other_reference_is_refused_with_the_reason(erp, reference):
    answer = erp.call("PUT", encoded(reference), {"title": "T"})
    assert answer.status_code == 400
    assert error(answer)[1:] in [
        ("bad_reference", ["reference"]),
        ("invalid", ["objectReferenceId"]),
    ]
    assert not Property.objects.exists()


def test_the_history_says_which_program_it_was(erp, main, boss):
    erp.call("PUT", "/properties/MH-1", {"title": "One"})
    erp.call("PATCH", "/properties/MH-1", {"title": "Two"})
    items = erp.get("/properties/MH-1/history")["items"]
    told = [(one["path"], one["new"], one["by"], one["origin"]) for one in items]
    assert told == [
        ("title", "Two", "API: ERP", "HTTP_API"),
        ("", {"title": "One", "objectReferenceId": "MH-1"}, "API: ERP", "HTTP_API"),
    ]
    row = Property.objects.get()
    page = boss.get(f"/admin/properties/property/{row.pk}/history/").content.decode()
    assert page.count("API: ERP") == 2
    first = erp.get("/properties/MH-1/history?limit=1")
    second = erp.get(first["next"].partition("/api/v1")[2])
    assert [one["new"] for one in first["items"] + second["items"]] == [told[0][1], told[1][1]]
    assert second["next"] is None


def test_problems_and_conflicts_are_read_with_all_three_values(erp, main):
    row = Property.objects.create(
        workspace=main,
        object_reference_id="MH-1",
        platform_id="7",
        problem={"REFUSED": {"title": "too long"}, "CONFLICT": {"description": "both"}},
    )
    Conflict.objects.create(
        real_estate_property=row, path="description", ours="a", base="b", theirs="c"
    )
    Conflict.objects.create(real_estate_property=row, path="title", decision="OURS")
    said = erp.get("/properties/MH-1")
    assert said["state"] == "CONFLICT"
    assert {"kind": "REFUSED", "path": "title", "message": "too long"} in said["problems"]
    (conflict,) = said["conflicts"]
    assert (conflict["ours"], conflict["base"], conflict["theirs"]) == ("a", "b", "c")


def test_a_list_of_ten_thousand_is_read_page_by_page_with_as_many_queries(main):
    erp = program(main)
    rows = [
        Property(workspace=main, object_reference_id=f"R-{n}", desired={"title": f"{n}"})
        for n in range(10_000)
    ]
    Property.objects.bulk_create(rows, batch_size=1000)
    erp.get("/properties?limit=1")  # notes that the token is used
    path, seen, queries = "/properties?limit=500", [], set()
    while path:
        with CaptureQueriesContext(connection) as captured:
            page = erp.get(path)
        queries.add(len(captured))
        seen += [one["reference"] for one in page["items"]]
        path = (page["next"] or "").partition("/api/v1")[2]
    assert seen == [f"R-{n}" for n in range(10_000)]
    assert queries == {2}


def test_a_list_is_narrowed_by_state_reference_and_what_has_moved(erp, main):
    now = timezone.now()
    long_ago = now - timedelta(days=9)
    old = {"workspace": main, "created_at": long_ago}
    still = Property.objects.create(**old, object_reference_id="a/b", platform_id="1")
    read = Property.objects.create(**old, object_reference_id="B", read_at=now)
    changed = Property.objects.create(**old, object_reference_id="C", problem={"GONE": {"": "x"}})
    Change.objects.create(
        real_estate_property=changed, path="title", origin=Origin.ADMIN, revision=1, at=now
    )

    def listed(query: str) -> list[str]:
        return [one["reference"] for one in erp.get(f"/properties?{query}")["items"]]

    since = (now - timedelta(hours=1)).isoformat().replace("+00:00", "Z")
    assert listed(f"updated_since={since}") == [str(read), str(changed)]
    assert listed("state=GONE") == ["C"]
    assert listed("reference=a/b") == [str(still)]
    for query, path in (
        ("state=LOST", "state"),
        ("updated_since=soon", "updated_since"),
        ("limit=0", "limit"),
        ("limit=501", "limit"),
        ("sort=title", "sort"),
    ):
        assert error(erp.call("GET", f"/properties?{query}")) == (400, "invalid", [path])


@pytest.mark.parametrize("rows", ["", "/MH-1/history", "/MH-1/orders"])
@pytest.mark.parametrize(
    ("query", "path"),
    [
        *(("limit=0", "limit"), ("limit=501", "limit"), ("limit=abc", "limit")),
        *((f"cursor={one}", "cursor") for one in ("x", "cD1hYmM=", "cD0=", "cD0xLjU=")),
        *(("limit=", "limit"), ("cursor=", "cursor"), ("nope=1", "nope"), ("format=csv", "format")),
        ("limit=5&limit=6", "limit"),
    ],
)
def test_every_list_refuses_a_parameter_that_is_wrong_empty_contradictory_or_unknown(
    erp, rows, query, path
):
    erp.call("PUT", "/properties/MH-1", {"title": "T"})
    assert error(erp.call("GET", f"/properties{rows}?{query}")) == (400, "invalid", [path])
    assert len(erp.get(f"/properties{rows}?limit=500&limit=500")["items"]) == (
        0 if "orders" in rows else 1
    )


@pytest.mark.parametrize("moment", ["0001-01-01", "0001-01-01T00:00:00", "9999-12-31T23:59:59Z"])
@pytest.mark.parametrize("rows", ["/properties", "/orders"])
def test_a_moment_that_some_zone_cannot_show_is_refused(erp, settings, rows, moment):
    settings.TIME_ZONE = "Europe/Zurich"
    found = error(erp.call("GET", f"{rows}?updated_since={moment}"))
    assert found == (400, "invalid", ["updated_since"])


@pytest.mark.parametrize("name", ["state", "updated_since", "reference"])
def test_an_empty_filter_is_refused_and_does_not_list_everything(erp, name):
    assert error(erp.call("GET", f"/properties?{name}=")) == (400, "invalid", [name])


def test_a_program_sees_its_workspace_alone(erp, main):
    other = make_workspace("other")
    create(other, "MH-1", {"title": "Theirs"}, origin=Origin.ADMIN, now=timezone.now())
    assert erp.get("/properties") == {"items": [], "next": None}
    assert error(erp.call("GET", "/properties/MH-1"))[:2] == (404, "not_found")
    assert erp.call("PUT", "/properties/MH-1", {"title": "Ours"}).status_code == 201
    titles = dict(Property.objects.values_list("workspace__slug", "title"))
    assert titles == {"other": "Theirs", "main": "Ours"}

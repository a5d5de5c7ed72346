"""Acts on properties are whole in every language: history, undo, batches, matching, conflicts."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from django.utils.translation import override

from crm_sync.models import Workspace
from crm_sync.platform.errors import ErrorKind, Problem
from properties.admin.property import (
    batch as batch_module,
    bulk_edit_page,
    export_actions,
    match_page,
)
from properties.admin.property.match_page import CRITERIA, TILES
from properties.catalog import FIELDS
from properties.domain.undo import Kept
from properties.domain.unsayable import NOTE, texts
from properties.forms.input_values import unit
from properties.merge import Clash, Owner
from properties.models import Batch, Change, Conflict, Import, Property, Undo
from properties.models.change import Cause, Origin
from properties.models.conflict import RULES
from properties.ownership import RULED
from properties.push import batches
from tests.crm_sync.admin_pages import make_workspace
from tests.languages.pseudo import CODE, NAMES, untranslated
from tests.problems import noted

PROPERTIES, CONFLICTS = "/admin/properties/property/", "/admin/properties/conflict/"
HOUR = timedelta(hours=1)
# Names of formats, commands and criteria.
OWN = (*NAMES, "manage.py export_properties", "EGID", "EWID", "is24")
# What stands alone: the paths of fields, and units.
DATA = {*FIELDS, *RULED, *(unit(field.unit, "") for field in FIELDS.values())}
# Texts that the room of a property translates.


def row_of(workspace: Workspace, number: int, **columns: Any) -> Property:
    """Return a property with data of digits only."""
    known: dict[str, Any] = {"desired": {"title": f"{number}"}, "object_reference_id": f"{number}"}
    return Property.objects.create(workspace=workspace, **(known | columns))


def whole(response: Any, *own: str) -> None:
    """Check that each text of a page is translated."""
    assert response.status_code == 200
    found = untranslated(response.content.decode(), (*OWN, *own))
    assert [text for text in found if text not in DATA] == []


def said(response: Any, *own: str) -> list[str]:
    """Check the messages of an answer, which a page of another room may show; return them."""
    found = [str(message) for message in response.context["messages"]]
    page = f"<html><body><p>{'</p><p>'.join(found)}</p></body></html>"
    assert untranslated(page, own) == []
    assert found
    return found


def choose(reader: Any, action: str, rows: list[Property]) -> Any:
    keys = [row.pk for row in rows]
    chosen = {"action": action, "_selected_action": keys}
    return reader.post(PROPERTIES, chosen, follow=True)


@pytest.fixture
def person(reader) -> User:
    return User.objects.get()


@pytest.fixture
def main(reader) -> Workspace:
    return make_workspace("1")


def changes_of(row: Property, person: User | None) -> list[Change]:
    """Write a change of each origin and cause."""
    at = timezone.now() - HOUR
    mine: dict[str, Any] = {"real_estate_property": row, "revision": 1, "at": at}
    made = [
        Change.objects.create(
            **mine, path="", new={"title": "1", "floor": 2, "isFurnished": True}, origin="PLATFORM"
        )
    ]
    causes = [*(kind.of(3) for kind in Cause), "", ""]
    for origin, cause in zip(Origin, causes, strict=True):
        made.append(
            Change.objects.create(
                **mine,
                path="title",
                old="1",
                new=f"{row.pk}",
                origin=origin,
                cause=cause,
                note="7",
                actor=person,
            )
        )
    return made


# --- the history, and the undo of one change ---
@pytest.mark.parametrize("query", ["", "?field=title", "?field=floor", "?page=2"])
@pytest.mark.parametrize("is_changed", [False, True])
def test_each_text_of_the_history_of_a_property_is_translated(
    reader, main, person, is_changed, query
):
    row = row_of(main, 5)
    Batch.objects.create(pk=3, kind="SET")
    if is_changed:
        changes_of(row, person)
        for number in range(50):
            Change.objects.create(
                real_estate_property=row, path="floor", old=number, new=2, revision=2, origin="FEED"
            )
    whole(reader.get(f"{PROPERTIES}{row.pk}/history/{query}"))


@pytest.mark.parametrize("actor", [False, True])
@pytest.mark.parametrize(("old", "new"), [("1", "5"), (None, "5"), ("1", "2")])
def test_each_text_of_the_undo_of_a_change_is_translated(reader, main, person, old, new, actor):
    change = Change.objects.create(
        real_estate_property=row_of(main, 5), path="title", old=old, new=new, revision=1,
        origin="ADMIN", actor=person if actor else None,
    )  # fmt: skip
    key = change.real_estate_property_id
    whole(reader.get(f"{PROPERTIES}{key}/history/{change.pk}/undo/?field=title"))


@pytest.mark.parametrize(
    ("path", "old", "new", "now_there"),
    [("title", "1", "5", "5"), ("title", "5", "1", "5"), ("offerType", "9", "5", "5")],
)
def test_each_answer_to_an_undo_is_translated(reader, main, path, old, new, now_there):
    row = row_of(main, 5, desired={path: now_there})
    change = Change.objects.create(
        real_estate_property=row, path=path, old=old, new=new, revision=1, origin="ADMIN"
    )
    address = f"{PROPERTIES}{row.pk}/history/{change.pk}/undo/?field={path}"
    said(reader.post(address, follow=True), "BUY, RENT")


# --- all changes ---
FILTERS = [
    *("", "?time=hour", "?time=yesterday", "?origin=FEED", "?cause=import:3", "?cause=match:4"),
    *("?cause=7", "?field=created", "?field=title", "?field=floor", "?workspace=1", "?person=1"),
]


@pytest.mark.parametrize("query", FILTERS)
@pytest.mark.parametrize("is_changed", [False, True])
def test_each_text_of_the_page_of_all_changes_is_translated(
    reader, main, person, is_changed, query
):
    other, now = make_workspace("2"), timezone.now()
    for pk, sender in ((3, main), (4, other)):
        Import.objects.create(
            pk=pk, workspace=sender, name="6", state="DONE", released_at=now, ended_at=now
        )
    if is_changed:
        title = {"title": "1"}
        changes_of(row_of(main, 1), person)
        changes_of(row_of(main, 2, platform_id="2", observed=title), None)
        changes_of(row_of(main, 3, desired=title, problem={"REFUSED": {"title": "1"}}), None)
        changes_of(row_of(other, 4, desired={}, platform_id="4"), None)
    whole(reader.get(f"{PROPERTIES}changes/{query}"))


def test_each_text_of_a_place_far_back_in_all_changes_is_translated(reader, main, monkeypatch):
    monkeypatch.setattr("properties.domain.change_selection.LOOKED_AT", 3)
    changes_of(row_of(main, 1), None)
    page = reader.get(f"{PROPERTIES}changes/?person=77&time=today")
    whole(page)
    page = reader.get(f"{PROPERTIES}changes/?origin=API")
    whole(page)
    assert page.context["older"]
    whole(reader.get(f"{PROPERTIES}changes/{page.context['older']}"))


# --- the undo of many ---
UNDONE = [
    *("?cause=import:3", "?cause=batch:3", "?field=created&cause=undo:9"),
    *("?person={person}&origin=ADMIN&field=title", "?from=2020-01-01&to=2099-01-01"),
]


@pytest.mark.parametrize("query", UNDONE)
def test_each_text_of_the_plan_of_an_undo_is_translated(reader, main, person, query):
    Import.objects.create(
        pk=3, workspace=main, name="6", state="CANCELLED", ended_at=timezone.now()
    )
    for number in (1, 2, 3):
        row = row_of(main, number, platform_id=f"{number}" if number == 2 else None)
        for cause in ("import:3", "undo:9", "batch:3"):
            values = {"title": "9", "offerType": "9"}
            made: dict[str, Any] = {
                "real_estate_property": row, "cause": cause, "origin": "ADMIN", "actor": person,
            }  # fmt: skip
            if number < 3:
                Change.objects.create(**made, path="", new=values, revision=1)
            for path, old in values.items():
                Change.objects.create(**made, path=path, old=old, new=f"{number}", revision=2)
        if number == 3:
            Change.objects.create(
                real_estate_property=row, path="title", old="3", new="5", revision=3, origin="FEED"
            )
    address = f"{PROPERTIES}changes/undo/{query.format(person=person.pk)}"
    page = reader.get(address)
    whole(page)
    whole(reader.post(address, {"up_to": page.context["plan"].up_to}, follow=True))
    assert set(noted()) <= {f"Taken back by undo {one.pk}." for one in Undo.objects.all()}


def test_each_text_of_a_plan_that_counts_only_the_first_is_translated(reader, main, monkeypatch):
    monkeypatch.setattr("properties.domain.undo_steps.PREVIEWED", 1)
    for number in (1, 2):
        changes_of(row_of(main, number), None)
    whole(reader.get(f"{PROPERTIES}changes/undo/?from=2020-01-01"))


def test_an_undo_that_names_too_much_is_refused_in_the_language_of_the_reader(reader, main):
    page = reader.get(f"{PROPERTIES}changes/undo/", follow=True)
    said(page)
    whole(page)


@pytest.mark.parametrize("is_ended", [False, True])
@pytest.mark.parametrize("count", [0, 1, 2])
def test_each_text_of_the_progress_of_an_undo_is_translated(reader, main, person, is_ended, count):
    row, now = row_of(main, 5), timezone.now()
    newer = changes_of(row, None)
    kept = [[row.pk, "5", "title" if n else "", kind, None] for n, kind in enumerate(Kept)]
    kept += [[row.pk, "5", "title", "SINCE", one.pk] for one in newer]
    job = Undo.objects.create(
        workspace=main,
        chosen={"cause": "import:3"},
        up_to=1,
        requested_by=person if count else None,
        due_at=None if is_ended else now,
        ended_at=now if is_ended else None,
        problem="" if is_ended else "5",
        counts=dict.fromkeys(("fields", "properties"), count) | {"kept": 2000, "removed": 2000},
        kept=kept if count else [],
        removed=["5"] * count,
    )
    for part in ("", "live/"):
        whole(reader.get(f"{PROPERTIES}undo/{job.pk}/{part}"))


# --- many are pushed or read ---
@pytest.fixture
def stock(main) -> list[Property]:
    """Return a property of each call and of each problem."""
    now = timezone.now()
    here: dict[str, Any] = {"desired": {"title": "1", "floor": 2}, "due_at": now}
    paused = make_workspace("2", problem=Problem("5", ErrorKind.BUSY), paused_until=now + HOUR)
    rows = [row_of(main, 1, **here), row_of(main, 2, platform_id="2", **here), row_of(paused, 3)]
    for number, kind in enumerate(("CONFLICT", "REFUSED", "DIFFERS", "CANNOT_CLEAR", "GONE"), 4):
        problem = {kind: {"title": "1", "floor": "2"} if number % 2 else {"": "1"}}
        rows.append(row_of(main, number, platform_id=f"{number}", problem=problem))
    return rows


@pytest.mark.parametrize("kind", [Batch.Kind.PUSH, Batch.Kind.READ])
@pytest.mark.parametrize("many", [1, 8])
def test_each_text_of_a_batch_is_translated(reader, stock, monkeypatch, kind, many):
    monkeypatch.setattr(batches, "FIRST", 3)
    action = "push" if kind == Batch.Kind.PUSH else "read"
    page = choose(reader, action, stock[:many])
    whole(page)
    if many > 1:
        monkeypatch.setattr(batches, "COUNTED", 2)
        whole(reader.get(page.redirect_chain[-1][0]))
    address = page.redirect_chain[-1][0]
    page = reader.post(address, follow=True)
    whole(page)
    whole(reader.get(f"{address}progress/"))
    said(reader.post(address, follow=True))
    Property.objects.update(due_at=None)
    Batch.objects.update(confirmed_by=None)
    for part in ("", "progress/"):
        whole(reader.get(f"{address}{part}"))
    assert set(noted()) == {"Confirmed."}


# --- many are set ---
def test_each_text_of_setting_fields_of_many_is_translated(reader, stock, monkeypatch, person):
    rows = stock[:2]
    page = choose(reader, "set_fields", rows)
    address = page.redirect_chain[-1][0]
    whole(page)
    whole(reader.post(address, {"step": "plan"}))
    refused = {"step": "plan", "title": "9" * 256, "floor": "x", "clear": ["title"]}
    whole(reader.post(address, refused))
    entered = {"step": "plan", "title": "1", "author": "7", "clear": ["floor"]}
    Property.objects.filter(pk=rows[0].pk).update(desired={"title": "1"})
    plan = reader.post(address, entered, follow=True)
    whole(plan)
    first = plan.context["planned_at"]
    plan = reader.post(address, entered, follow=True)
    page = reader.post(address, {"step": "set", "planned_at": first}, follow=True)
    said(page)
    whole(page)
    whole(reader.get(f"{address}?change"))
    monkeypatch.setattr(bulk_edit_page, "SECONDS", -1.0)
    planned = {"step": "set", "planned_at": plan.context["planned_at"]}
    page = reader.post(address, planned, follow=True)
    assert not page.context["is_finished"]
    whole(page)
    for again in (planned, entered):
        page = reader.post(address, again, follow=True)
        said(page)
        whole(page)
    assert page.context["undo"]
    Batch.objects.get().edits.update(left={"title": "1"}, refused={"floor": "2"})
    Batch.objects.update(confirmed_by=None)
    whole(reader.get(address))


def test_each_text_of_the_undo_in_several_workspaces_is_translated(reader, stock):
    page = choose(reader, "set_fields", stock[:3])
    address = page.redirect_chain[-1][0]
    plan = reader.post(address, {"step": "plan", "author": "7"}, follow=True)
    planned = {"step": "set", "planned_at": plan.context["planned_at"]}
    page = reader.post(address, planned, follow=True)
    whole(page)
    assert len(page.context["undo"]) == 2


def test_each_reason_of_a_plan_of_refused_fields_is_translated(reader, main):
    main.owners = {"rules": {"title": "theirs"}}
    main.save()
    page = choose(reader, "set_fields", [row_of(main, 5)])
    address = page.redirect_chain[-1][0]
    plan = reader.post(address, {"step": "plan", "title": "7"}, follow=True)
    assert [*Batch.objects.get().edits.get().refused] == ["title"]
    whole(plan)


def test_too_many_to_set_are_refused_in_the_language_of_the_reader(reader, stock, monkeypatch):
    monkeypatch.setattr(batch_module, "MOST", 1)
    said(choose(reader, "set_fields", stock))


# --- exports ---
def test_each_answer_to_an_export_is_translated(reader, main, stock, monkeypatch):
    said(choose(reader, "export_csv", stock))
    for number in range(20, 28):
        row_of(main, number, object_reference_id=None, platform_id=f"{number}")
    mine = list(Property.objects.filter(workspace=main))
    monkeypatch.setattr(export_actions.export, "__kwdefaults__", {"patience": -1.0})
    reader.post(
        PROPERTIES, {"action": "export_csv", "_selected_action": [row.pk for row in mine]}
    ).getvalue()
    found = said(reader.get(f"{PROPERTIES}changes/"), *OWN)
    assert len(found) == 2

    def refuses(*_: object) -> None:
        raise ValueError("5")

    monkeypatch.setattr(export_actions, "written", refuses)
    said(choose(reader, "export_xlsx", mine))
    chosen = {"action": "export_xml_zip", "_selected_action": [row.pk for row in mine]}
    reader.post(PROPERTIES, chosen).getvalue()
    said(reader.get(f"{PROPERTIES}changes/"))
    notes = noted()
    assert all(text.startswith("Exported ") for text in notes)


# --- matching ---
def home(number: int) -> dict[str, Any]:
    place = {"street": "1", "streetNumber": f"{number}", "postalCode": "8002"}
    ids = {"is24Id": f"{number}", "swissReferences": {"egid": number, "ewid": 1}}
    return {"address": place, "numberOfRooms": 3.5, "title": f"{number}", **ids}


@pytest.fixture
def both(main) -> dict[str, Property]:
    """Return a pair, a row that fits two of the platform, and one on each side alone."""
    now = timezone.now()

    def theirs(number: int, like: int, reference: str | None = None) -> Property:
        return row_of(
            main, number, platform_id=f"{number}", read_at=now, desired=home(like),
            observed=home(like), object_reference_id=reference,
        )  # fmt: skip

    found = {
        "pair": row_of(main, 1, desired=home(1)),
        "pair there": theirs(11, 1, "1-"),
        "two": row_of(main, 2, desired=home(2)),
        "two there": theirs(12, 2),
        "and there": theirs(13, 2),
        "twin": row_of(main, 3, desired=home(2)),
        "here": row_of(main, 4, desired=home(4)),
        "apart": row_of(main, 6, desired=home(6), none_there=True),
        "there": theirs(15, 5),
    }
    Property.objects.create(workspace=main, platform_id="16")
    return found


def match_address(workspace: Workspace, criterion: str = "address", show: str = "") -> str:
    return f"{PROPERTIES}match/{workspace.pk}/?by={criterion}&show={show}"


@pytest.mark.parametrize("criterion", list(CRITERIA))
@pytest.mark.parametrize("show", list(TILES))
def test_each_text_of_matching_is_translated(reader, main, both, criterion, show, monkeypatch):
    monkeypatch.setattr(match_page, "FEW", 1)
    whole(reader.get(match_address(main, criterion, show)))


def test_each_text_is_translated_where_nothing_is_to_be_matched(reader, main):
    whole(reader.get(match_address(main)))


@pytest.mark.parametrize("show", list(TILES))
def test_each_text_is_translated_where_one_part_of_matching_is_empty(
    reader, main, show, monkeypatch
):
    row_of(main, 1) if show != "here" else row_of(main, 1, platform_id="1")
    monkeypatch.setattr(match_page, "_parts", lambda _: dict.fromkeys(TILES, ()) | {show: (0,)})
    monkeypatch.setattr(match_page, "_cells", lambda _: {})
    if show in ("matched", "ambiguous"):
        monkeypatch.setattr(
            match_page, "_shown", lambda *_: {"page": None, "pages": [], "rows": []}
        )
    whole(reader.get(match_address(main, show=show)))


def posted_of(both: dict[str, Property]) -> list[tuple[dict[str, Any], str]]:
    """Return what each button of the page posts, and the beginning of what is stored of it."""
    two, twin = f"pick-{both['two'].pk}", f"pick-{both['twin'].pk}"
    return [
        ({"apart": both["pair"].pk}, "Set apart: 1 property, none of the platform's."),
        ({"again": both["apart"].pk}, "Compared again: 1 property."),
        ({"step": "link", "seen": "0"}, ""),
        ({"step": "link"}, "Linked by address with rooms: 1 property."),
        ({"step": "decide", two: both["two there"].pk}, "Linked by choice: 1 property."),
        ({"step": "decide", two: "none", twin: "none"}, "Set apart: 2 properties, none"),
        ({"step": "decide", two: "7777"}, ""),
        ({"step": "decide", two: both["two there"].pk, twin: both["two there"].pk}, ""),
    ]


@pytest.mark.parametrize("number", range(8))
def test_each_answer_to_a_button_of_matching_is_translated(reader, main, both, number):
    posted, stored = posted_of(both)[number]
    if posted.get("step") == "link" and "seen" not in posted:
        posted["seen"] = reader.get(match_address(main)).context["seen"]
    page = reader.post(match_address(main), posted, follow=True)
    said(page)
    whole(page)
    notes = noted()
    assert [note[: len(stored)] for note in notes] == ([stored] if stored else [])


@pytest.mark.parametrize("outcome", list(match_page.LinkOutcome))
def test_each_reason_not_to_link_is_translated(reader, main, both, monkeypatch, outcome):
    seen = reader.get(match_address(main)).context["seen"]
    left = match_page.LinkOutcome.LINKED

    def links(*_: object, **__: object) -> Any:
        return Counter({} if outcome == left else {outcome: 1})

    monkeypatch.setattr(match_page, "link_all", links)
    page = reader.post(match_address(main), {"step": "link", "seen": seen}, follow=True)
    assert len(said(page)) == 1


# --- who owns a field ---
@pytest.mark.parametrize("query", ["", "?open=Prices", "?open=Core&saved=title", "?open=Others"])
def test_each_text_of_the_owners_is_translated(reader, main, query):
    keys = ("group:Prices", "prices", "title", "city", "prices.rent")
    owners = (one.value for one in Owner if one)
    main.owners = {"rules": dict(zip(keys, owners, strict=True))}
    main.save()
    whole(reader.get(f"{PROPERTIES}owners/{main.pk}/{query}"))


@pytest.mark.parametrize("key", ["title", "prices", "group:Prices", "group:Others"])
def test_each_answer_to_a_new_owner_is_translated(reader, main, key):
    posted = {"key": key, "owner": "ours", "open": "Prices"}
    page = reader.post(f"{PROPERTIES}owners/{main.pk}/", posted, follow=True)
    said(page)
    whole(page)
    (note,) = noted()
    assert note.endswith(": We own it. It was: By the conflict policy.")
    refused = reader.post(f"{PROPERTIES}owners/{main.pk}/", {"key": "7"})
    assert untranslated(f"<p>{refused.content.decode()}</p>") == []


# --- conflicts ---
@pytest.fixture
def conflicts(main, person) -> list[Conflict]:
    """Return an open conflict and one of each end, at a property each."""
    made = []
    now = timezone.now()
    ends: list[dict[str, Any]] = [
        *({"decision": one, "decided_by": person} for one in Conflict.Decision.values if one),
        *({"decision": "OURS", "rule": rule} for rule in (*RULES, "7")),
        *({"decision": "OURS", "origin": origin} for origin in Origin.values),
        *({}, {}, {"path": "prices.rent", "ours": {"net": 1}, "theirs": {"net": 2, "gross": 3}}),
    ]
    for number, end in enumerate(ends):
        ended = {"decided_at": now} if end.get("decision") else {}
        columns = {"path": "title", "ours": "1", "base": "2", "theirs": "3"} | end | ended
        row = row_of(main, number, platform_id=f"{number}", problem={"CONFLICT": {"title": "1"}})
        made.append(Conflict.objects.create(real_estate_property=row, **columns))
    nameless = {"object_reference_id": None, "platform_id": "77"}
    Property.objects.filter(pk=made[-3].real_estate_property_id).update(**nameless)
    return made


@pytest.mark.parametrize("query", ["", "?decision__exact=OURS", "?q=7777", "?decision__exact="])
@pytest.mark.parametrize("is_filled", [False, True])
def test_each_text_of_the_list_of_conflicts_is_translated(reader, request, is_filled, query):
    if is_filled:
        request.getfixturevalue("conflicts")
    whole(reader.get(f"{CONFLICTS}{query}"), "title", "prices.rent")


@pytest.mark.parametrize("number", [-2, -1, 0])
def test_each_text_of_the_page_of_a_conflict_is_translated(reader, conflicts, number):
    key = conflicts[number].real_estate_property_id
    whole(reader.get(f"{CONFLICTS}decide/{key}/"))


def seen_of(page: Any) -> dict[str, str]:
    """Return the hidden inputs of the page of a decision."""
    fields = [field for case in page.context["cases"] for field in case["fields"]]
    return dict(field["seen"] for field in fields)


@pytest.mark.parametrize("side", ["OURS", "THEIRS", ""])
def test_each_text_of_deciding_several_conflicts_is_translated(reader, conflicts, side):
    chosen = {"action": "decide", "_selected_action": [one.pk for one in conflicts[-3:]]}
    page = reader.post(CONFLICTS, chosen)
    whole(page)
    posted: dict[str, Any] = seen_of(page)
    for decision in ("preview", side):
        shown = reader.post(f"{CONFLICTS}decide/", posted | {"decision": decision})
        whole(shown)
    if side:
        posted |= {
            member["field"]: side
            for case in shown.context["cases"]
            for field in case["fields"]
            for member in field["members"]
        }
    posted |= {f"side-{conflicts[-1].pk}-0": "THEIRS", f"side-{conflicts[-1].pk}-1": ""}
    whole(reader.post(f"{CONFLICTS}decide/", posted))
    page = reader.post(f"{CONFLICTS}decide/", posted | {"decision": "CHOSEN"}, follow=True)
    said(page)
    whole(page)
    notes = set(noted())
    assert notes == ({f"Decided: {side.lower()}."} if side else set())
    notes = set(Change.objects.values_list("note", flat=True))
    assert {note.partition(": ")[2] for note in notes} <= {"theirs"}


def test_each_answer_about_a_conflict_that_changed_meanwhile_is_translated(reader, conflicts):
    chosen = {"action": "decide", "_selected_action": [one.pk for one in conflicts[-3:]]}
    posted = seen_of(reader.post(CONFLICTS, chosen))
    Conflict.objects.filter(pk=conflicts[-1].pk).update(theirs={"net": 9})
    changed = reader.post(f"{CONFLICTS}decide/", posted | {"decision": "CHOSEN"})
    said(changed)
    whole(changed)
    for decision in ("OURS", "THEIRS", "BOTH", "AGREED"):
        Conflict.objects.filter(pk=conflicts[-3].pk).update(decision=decision)
        said(reader.post(f"{CONFLICTS}decide/", posted | {"decision": "CHOSEN"}))


def test_each_answer_about_a_conflict_that_cannot_be_decided_is_translated(
    reader, conflicts, monkeypatch
):
    chosen = {"action": "decide", "_selected_action": [conflicts[0].pk]}
    said(reader.post(CONFLICTS, chosen, follow=True))
    monkeypatch.setattr("properties.admin.conflict.conflict.MOST", 1)
    chosen = {"action": "decide", "_selected_action": [one.pk for one in conflicts]}
    said(reader.post(CONFLICTS, chosen, follow=True))


def test_what_is_stored_of_a_value_that_would_be_erased_is_english(reader):
    clash = Clash("title", ours="1", base="2", theirs="3")
    with override(CODE):
        assert NOTE.said().startswith("\N{MATHEMATICAL LEFT WHITE SQUARE BRACKET}")
        (text,) = texts((clash,)).values()
    assert text.startswith("The platform holds a value here that this app does not know")

"""The list of properties and the page of one are whole in every language."""

import re
from datetime import UTC, timedelta

import pytest
from django.utils import timezone, translation

from crm_sync.models import Workspace
from crm_sync.platform import references
from crm_sync.platform.errors import ErrorKind, Problem
from crm_sync.sentence import said
from orders.models import PersonSettings
from properties.catalog import misplaced, new_faults, parsing, validate
from properties.catalog.lookup import FIELDS
from properties.catalog.numbers import Unreadable
from properties.exports.export_report import ExportReport
from properties.models import Change, Conflict, Property
from properties.models.property import ProblemKind, WaitReason
from tests.crm_sync.admin_pages import client_of, make_workspace
from tests.languages.pseudo import CODE, NAMES, untranslated
from tests.properties.form_page import opened, post
from tests.rows_of_pages import fill

LIST = "/admin/properties/property/"
ADD = f"{LIST}add/"
HOUR = timedelta(hours=1)
# Units, a currency, and what else the rows of these tests hold.
DATA = ("kWh/(m²·a)", "kg/(m²·a)", "kg/m²", "m²", "m³", "kg", "CHF", "(de)", "https", "NaN")
PATHS = re.compile(rf'title="(?:{"|".join(map(re.escape, FIELDS))})"')
# Texts of other rooms on these pages.
NEWER = {"availabilityState": "1", "isFurnished": "2", "9": {"8": 1}, "7": "6"}
DOCUMENT = {
    "title": "1",
    "displayReferenceId": "2",
    "propertyType": "APARTMENT",
    "offerType": "RENT",
    "numberOfRooms": 3.5,
    "address": {"street": "1", "postalCode": "2", "locality": "3"},
    "prices": {"currency": "CHF", "rent": {"net": 2000, "interval": "MONTH", "referring": "M2"}},
    "availabilityStartAt": "2026-01-31T09:00:00Z",
    "characteristics": {"hasElevator": "APPLIES", "hasBalcony": "1"},
    "localizations": [{"languageCode": "1", "title": "1"}, {"languageCode": "2"}],
    "customFields": {"1": "2"},
    "publishers": [{"id": "1"}],
    "conditions": ["1"],
    "seller": {"contactPerson": {"givenName": "1", "phone": "2"}},
}
LANGUAGE = {"localizations": [{"languageCode": "de", "title": "1"}]}
FEED = {"1": "2", "3": "https://4.5/6", "7": [{"url": "https://8.9", "title": "0"}]}
FEED |= {f"9[{n}]": f"{n}" for n in range(120)} | {f"8[{n}]": "https://1.2" for n in range(120)}


def make(number: int, **columns) -> Property:
    values = {
        "platform_id": f"9{number}",
        "desired": DOCUMENT,
        "observed": {"title": "2"},
    } | columns
    main = Workspace.objects.get(slug="1")
    return Property.objects.create(workspace=main, object_reference_id=f"9{number}", **values)


def left(page: bytes, *own: str) -> list[str]:
    text = PATHS.sub("", page.decode())
    found = untranslated(text, (*NAMES, *DATA, *own))
    return found


def shown(client, row: Property | None = None, query: str = "") -> list[str]:
    response = client.get(f"{LIST}{row.pk}/change/" if row else LIST + query)
    assert response.status_code == 200
    return left(response.content)


@pytest.fixture
def filled(reader):
    fill(timezone.now())
    return reader


def test_each_text_of_an_empty_list_is_translated(reader):
    assert shown(reader) == []


@pytest.mark.parametrize(
    "query",
    [
        *("", "?q=1", "?q=none", "?state=PENDING", "?state=GONE&q=none", "?problem=title"),
        *("?type=APARTMENT&offer=RENT", "?asking_price_from=1", "?locality=3", "?workspace=1"),
    ],
)
def test_each_text_of_the_list_is_translated(filled, query):
    make(1, fed_by="1")
    make(2, platform_id=None, due_at=timezone.now() + HOUR, wait_reason=WaitReason.MATCH)
    make(3, problem={"REFUSED": {"title": "1", "author": "2"}, "GONE": {"": "3"}})
    Property.objects.create(workspace=Workspace.objects.first(), platform_id="5")
    assert shown(filled, query=query) == []


def test_each_text_of_the_form_of_a_new_property_is_translated(filled):
    assert left(filled.get(ADD).content) == []


def columns() -> dict[str, dict]:
    now = timezone.now()
    waits = {"due_at": now + HOUR, "last_answer": Problem("5", ErrorKind.SLOW)}
    problems = {
        kind.value: {"title": "1", "prices.rent": "2", "33": "3", "localizations": "4"}
        for kind in ProblemKind
    }
    leased = {"lease_until": now + HOUR, "lease_token": "0" * 32, "due_at": now}
    return {
        "filled": {"desired": DOCUMENT | NEWER, "read_at": now - HOUR, "leftover": FEED},
        "same": {"observed": DOCUMENT},
        "language": {"desired": LANGUAGE, "observed": LANGUAGE},
        "bare": {"desired": {}, "observed": {}, "platform_id": None},
        "nameless": {"object_reference_id": None},
        "problems": {"problem": problems | {"9": {"floor": "1"}}},
        "whole": {"problem": {kind.value: {"": "1"} for kind in ProblemKind}},
        "in flight": {"inflight": {"title": ["1"]}, **leased},
        "asked": {"problem": {"REFUSED": {"title": Problem("1", ErrorKind.REFUSED, "2").stored}}},
        **{f"waits: {one.value}": waits | {"wait_reason": one} for one in WaitReason},
        "new": {"platform_id": None, "due_at": now, "observed": {}},
        "to match": {"platform_id": None, "wait_reason": WaitReason.MATCH, "due_at": now + HOUR},
        "rooms": {"observed": {"rooms": [{"name": "1", "area": 2}, 3]}},
        "many": {"desired": {f"{n}": n for n in range(300)}},
        "buy": {"desired": {"prices": {"buy": {"price": 1}, "currency": "CHF"}}},
    }


@pytest.mark.parametrize("case", columns())
def test_each_text_of_a_page_is_translated(filled, case):
    made = {"object_reference_id": f"{case[0]}"} if case == "nameless" else {}
    row = make(1, **({} if made else columns()[case]))
    if made:
        Property.objects.filter(pk=row.pk).update(object_reference_id=None)
    assert shown(filled, row) == []


def test_each_text_about_changes_and_conflicts_is_translated(filled):
    row = make(1, problem={"CONFLICT": {"title": "1"}})
    made = {"real_estate_property": row, "revision": 1}
    Change.objects.create(path="title", old="1", new="2", origin="ADMIN", note="3", **made)
    for decision in Conflict.Decision.values:
        values = {"base": "0", "ours": "1", "theirs": "2", "decision": decision}
        Conflict.objects.create(real_estate_property=row, path="title", **values)
    found = shown(filled, row)
    assert found == []


def test_each_text_that_moves_by_itself_is_translated(filled):
    row = make(1, leftover=FEED)
    response = filled.get(f"{LIST}{row.pk}/live/?revision=7")
    assert "Load them" in response.content.decode()
    assert left(response.content) == []


def test_each_text_of_a_page_that_can_only_be_read_is_translated(filled):
    row = make(1, problem={"CONFLICT": {"title": "1"}})
    Conflict.objects.create(real_estate_property=row, path="title", ours="1", theirs="2")
    person = client_of("properties.view_property", "properties.view_conflict")
    key = person.session["_auth_user_id"]
    PersonSettings.objects.create(person_id=key, language=CODE)
    assert [text for text in shown(person, row) if not text.startswith("user-")] == []


@pytest.mark.parametrize("owner", ["theirs", "fill", "never", "ask", "ours"])
@pytest.mark.parametrize("key", ["title", "prices", "group:Classification", "localizations"])
def test_each_text_of_a_rule_is_translated(filled, key, owner):
    Workspace.objects.filter(slug="1").update(owners={"rules": {key: owner}})
    row = make(1, observed=DOCUMENT | {"heatingType": "1"})
    assert shown(filled, row) == []


WRONG = {
    "title": "x" * 256,
    "heatingType": "UNKNOWN",
    "propertyType": "1",
    "numberOfRooms": "4-5",
    "numberOfBedrooms": "2.5",
    "numberOfBathrooms": "-1",
    "areaUsable": "1.250",
    "areaRentable": "12 kg",
    "utilizationRatioConstruction": "1%",
    "yearBuilt": "1",
    "floor": "9" * 99,
    "availabilityStartAt": "1",
    "energyCertificate.issuedAt": "2026-02-30",
    "energyCertificate.validUntil": "1",
    "prices.currency": "Fr.",
    "prices.rent.gross": "1 EUR",
    "address.countryCode": "1",
    "address.geo.latitude": "470",
    "isFurnished": "1x",
    "conditions": ["UNKNOWN"],
    "videoLinks[0].title": "1",
    "publishers[0].options": "[{]",
    "localizations[2].title": "1",
    "localizations[3].languageCode": "1",
    "customFields[1].name": "1",
    "customFields[2].value": "1",
    "rooms[0].name": "1",
}


def test_each_text_about_refused_values_is_translated(filled):
    row = make(1)
    response = post(filled, row, opened(filled, row), **WRONG)
    form = response.context["adminform"].form
    assert len(form.errors) >= len(WRONG) - 2
    assert left(response.content, ", ".join(FIELDS["propertyType"].enum), "1 EUR") == []


@pytest.mark.parametrize("text", ["{", '{"a":1,"a":2}', "NaN", "1e999", "9" * 5000, "[" * 9999])
def test_each_text_about_json_is_translated(filled, text):
    row = make(1)
    response = post(filled, row, opened(filled, row), **{"publishers[0].options": text})
    assert response.context["adminform"].form.errors
    assert left(response.content) == []


@pytest.mark.parametrize("reference", ["", "a\tb", "..", "x" * 256, "1"])
def test_each_text_about_a_new_property_that_is_refused_is_translated(filled, reference):
    main = Workspace.objects.get(slug="1")
    posted = {"workspace": str(main.pk), "objectReferenceId": reference, "title": "1"}
    assert left(filled.post(ADD, posted).content) == []


def test_each_text_about_what_the_platform_owns_is_translated(filled):
    main = Workspace.objects.get(slug="1")
    Workspace.objects.update(owners={"rules": {"title": "theirs"}})
    posted = {"workspace": str(main.pk), "objectReferenceId": "77", "title": "1"}
    assert left(filled.post(ADD, posted).content) == []
    row = make(1)
    answer = filled.post(f"{LIST}{row.pk}/change/", opened(filled, row) | {"title": "3"})
    assert left(answer.content) == []


def test_each_text_of_a_page_that_cannot_say_what_it_showed_is_translated(filled):
    row = make(1)
    assert left(filled.post(f"{LIST}{row.pk}/change/", {"title": "3"}).content) == []


def test_each_text_of_a_question_is_translated(filled):
    row = make(1)
    page = opened(filled, row)
    texts = [{"languageCode": "1", "title": "5"}]
    Property.objects.update(desired=DOCUMENT | {"title": "4", "localizations": texts})
    answer = post(filled, row, page, title="3", **{"localizations[0].title": "6"})
    assert len(answer.context["questions"]) == 2
    assert left(answer.content, "Somebody") == []


@pytest.mark.parametrize("button", ["_save", "_continue", "_addanother"])
@pytest.mark.parametrize("title", ["1", "3"])
def test_each_text_of_a_save_is_translated(filled, button, title):
    row = make(1)
    posted = opened(filled, row) | {"title": title, button: "1"}
    answer = filled.post(f"{LIST}{row.pk}/change/", posted, follow=True)
    assert left(answer.content) == []


def test_each_text_of_a_creation_is_translated(filled):
    main = Workspace.objects.get(slug="1")
    posted = {"workspace": str(main.pk), "objectReferenceId": "77", "title": "1"}
    assert left(filled.post(ADD, posted, follow=True).content) == []


@pytest.mark.parametrize("problem", [{}, {"GONE": {"": "1"}}])
def test_each_text_of_a_refresh_is_translated(filled, problem):
    row = make(1, problem=problem)
    answer = filled.post(f"{LIST}{row.pk}/read/", follow=True)
    assert left(answer.content) == []


WRONG_VALUES = [
    *((path, [1]) for path in ("title", "isFurnished", "numberOfRooms", "heatingType")),
    *((path, [1]) for path in ("energyCertificate.issuedAt", "availabilityStartAt")),
    *(("localizations", value) for value in ({}, [1], [{"languageCode": "de"}] * 2)),
    *(("customFields", value) for value in ([], {"": "1"}, {"1": 2})),
    *(("numberOfRooms", value) for value in (10**400, float("nan"), -1)),
    *(("title", value) for value in ("a\x00", "a\ud800", "x" * 256)),
    *(("rooms", [1]), ("offerType", "9"), ("yearBuilt", 1), ("address.countryCode", "1")),
    *(("prices.currency", "1"), ("localizations[0].languageCode", "1"), ("address", {"geo": {}})),
    ("objectReferenceId", ".."),
]


@pytest.mark.parametrize(("path", "value"), WRONG_VALUES)
def test_each_text_about_a_value_is_translated(reader, path, value):
    with translation.override(CODE):
        texts = [said(fault.message) for fault in validate(path, value)]
    assert all(text.startswith("⟦") and text.endswith("⟧") for text in texts)
    assert texts or path == "address"


@pytest.mark.parametrize(
    "texts",
    [
        lambda: [misplaced(path).message for path in ("prices", "prices.rent.net", "")],
        lambda: [fault.message for fault in new_faults("rooms", [1], [])],
        lambda: [*map(references.fault, ("", "x" * 256, ".", "\t", "\ud800", " a"))],
        lambda: [_unreadable("areaUsable", text) for text in ("1.250", "1%", "a", "9" * 99)],
        lambda: [_unreadable("isFurnished", "1x"), _unreadable("availabilityStartAt", "25:00")],
        lambda: [_unreadable("energyCertificate.issuedAt", text) for text in ("a", "30.2.2026")],
        lambda: [_unreadable("numberOfRooms", "1%"), _unreadable("numberOfRooms", "1e999")],
    ],
)
def test_each_text_about_what_is_typed_is_translated(reader, texts):
    with translation.override(CODE):
        found = [said(text) for text in texts()]
    assert all(text.startswith("⟦") and text.endswith("⟧") for text in found)


def _unreadable(path: str, text: str) -> str:
    with pytest.raises(Unreadable) as raised:
        parsing.read(FIELDS[path], text, UTC)
    return str(raised.value)


def test_what_an_export_cannot_hold_is_named_in_the_language_of_the_reader(reader):
    row = Property.objects.create(workspace=make_workspace("1"), platform_id="5")
    report = ExportReport()
    with translation.override(CODE):
        report.named(Property.objects.filter(pk=row.pk))
    assert all(text.startswith("⟦") for key, one in report.left_out.items() for text in (key, *one))

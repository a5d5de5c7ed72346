"""Values as people have them, in every text of every row and at every door (I17)."""

import json
import re
import zipfile
from email import policy
from email.message import EmailMessage
from io import BytesIO
from typing import Any

import pytest
from django.db.models import Model
from django.test import Client
from django.utils.timezone import now
from icalendar import Calendar
from lxml.html import fromstring

from crm_sync.models import ReceivedEvent, Workspace
from crm_sync.webhook import sample_events
from properties.exports.export_file import FORMATS, written
from properties.feeds import Record, open_feed
from properties.feeds.recognition import read_feed
from properties.feeds.records import Partial
from properties.feeds.swissrets.json_writer import WHOLE
from properties.feeds.unpack import unpack
from properties.models import Property
from tests.api import encoded, program
from tests.hostile import HOSTILE, UNSTORABLE, disguise, is_file_name
from tests.journeys.test_property_push import remote
from tests.orders.targets.stock import material, store
from tests.orders.test_export_pictures import JPEG, deliver, export, make_home, named
from tests.properties.test_feeds_export import differences
from tests.roles import addresses, calendar_address, fill, lists_and_forms, ours
from tests.test_api_routes import address, views

pytestmark = pytest.mark.django_db
# What would run, or be computed, if a page took a value for something else.
RUN = re.compile(r"<script>zz|<img src=x|onmouseover=[\"']zz|\b1337\b")
SAFE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,200}\.jpg")  # of a file in a ZIP
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")  # all but the end of a line
TOGETHER = {
    "words": "".join(
        HOSTILE[name]
        for name in ("markup", "an attribute", "a template", "formats", "emoji", "look-alikes")
    ),
    "lines": HOSTILE["lines and a header"] + HOSTILE["an escape of a terminal"],
    "directions and paths": HOSTILE["right to left"] + HOSTILE["a path"] + HOSTILE["zero width"],
    "a device": HOSTILE["a device"],
    "a long text": HOSTILE["a long text"],
}
some_values = pytest.mark.parametrize("value", TOGETHER.values(), ids=TOGETHER)
every_value = pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE)
everything = HOSTILE | UNSTORABLE
every_value_at_all = pytest.mark.parametrize("value", everything.values(), ids=everything)


def rows_with(value: str) -> dict[str, Any]:
    """Make a workspace with the value in every text; return its rows by the label of the model."""
    found = fill("a")
    disguise("a", value, ours())
    for row in found.values():
        if isinstance(row, Model):
            row.refresh_from_db()
    return found


@some_values
def test_every_page_opens_and_shows_the_value_as_text(value, admin_user):
    rows = rows_with(value)
    browser = Client(raise_request_exception=False)
    browser.force_login(admin_user)
    wrong, saved = [], []
    for path in (*addresses(rows).values(), *lists_and_forms()):
        answer = browser.get(path)
        body = b"".join(answer) if answer.streaming else answer.content
        if answer.status_code >= 500:
            wrong.append((path, answer.status_code))
        elif "html" in answer.get("Content-Type", "") and (found := RUN.search(body.decode())):
            wrong.append((path, found.group()))
        if any("\n" in said or name == "X-Injected" for name, said in answer.headers.items()):
            wrong.append((path, answer.headers))
        wrong += [(path, name) for name in names_in(answer, body) if not is_file_name(name)]
        saved += [path] if "Content-Disposition" in answer else []
    assert wrong == []
    assert len(saved) == 5  # of all that a browser saves


def names_in(answer: Any, body: bytes) -> list[str]:
    """Return the names that a browser gives to what it saves, and those in it if that is a ZIP."""
    read = EmailMessage(policy=policy.default)
    read["Content-Disposition"] = answer.get("Content-Disposition", "inline")
    name = read.get_filename()
    names = [name] if name is not None else []
    if answer.get("Content-Type") == "application/zip":
        inside = zipfile.ZipFile(BytesIO(body)).namelist()
        assert len({one.casefold() for one in inside}) == len(inside)
        names += [part for one in inside for part in one.split("/")]
    return names


POSTED = TOGETHER | {"NUL": UNSTORABLE["NUL"]}


@pytest.mark.parametrize("value", POSTED.values(), ids=POSTED)
def test_every_form_takes_the_value_or_says_what_is_wrong(value, admin_user):
    rows = fill("a")
    browser = Client(raise_request_exception=False)
    browser.force_login(admin_user)
    wrong, posted = [], 0
    for path in (*addresses(rows).values(), *lists_and_forms()):
        answer = browser.get(path)
        is_page = answer.status_code == 200 and "html" in answer.get("Content-Type", "")
        if not is_page or not answer.content.strip():
            continue
        for form in fromstring(answer.content).forms:
            names = [one.name for one in form.inputs if one.name and is_text(one)]
            if form.method != "POST" or not names:
                continue
            posted += 1
            filled = dict(form.form_values()) | dict.fromkeys(names, value)
            status = browser.post(form.get("action") or path, filled).status_code
            wrong += [(path, names, status)] if status >= 500 else []
    assert wrong == []
    assert posted > 30


def is_text(one: Any) -> bool:
    """Tell whether people write a text into an input of a form."""
    return one.tag == "textarea" or one.get("type", "text") in ("text", "search", "email", "url")


@every_value
def test_a_program_reads_the_value_as_it_is(value):
    rows = rows_with(value)
    one = program(rows["crm_sync.workspace"])
    for route, scopes in views().items():
        if "GET" in scopes:
            assert one.call("GET", address(route, rows)).status_code == 200, route
    row = rows["properties.property"]
    assert one.get(address("properties/<str:reference>", rows))["desired"] == row.desired
    assert row.desired["title"] == value


@every_value
def test_a_calendar_has_the_one_event_and_no_line_of_a_value(value, admin_user):
    rows_with(value)
    answer = Client().get(calendar_address(admin_user.username))
    (event,) = Calendar.from_ical(answer.content).walk("VEVENT")
    assert "X-INJECTED" not in event
    assert str(event["SUMMARY"])


@every_value
@pytest.mark.parametrize("suffix", FORMATS)
def test_an_export_is_read_back_unchanged_or_says_what_it_cannot_hold(
    value, suffix, main, tmp_path
):
    path = tmp_path / f"stock{suffix}"
    texts = [{"languageCode": "de", "title": value[:255], "description": value}]
    known = {"objectReferenceId": "R-1", "title": value[:255], "localizations": texts}
    known |= {"offerType": "RENT", "availabilityState": "ACTIVE"}
    Property.objects.create(workspace=main, object_reference_id="R-1", desired=known)
    ((reference, unsaid),) = written(path, Property.objects.all())
    said = {path for path, _ in unsaid}
    items = [one for one in read_feed(path) if not isinstance(one, Partial)]
    assert reference == "R-1"
    assert [type(one) for one in items] == ([] if WHOLE in said else [Record])
    for record in items:
        assert set(differences(known, record)) <= said


@every_value
@pytest.mark.parametrize("suffix", [".json", ".xml"])
def test_an_export_with_pictures_has_names_for_every_program_and_is_read_back(
    value, suffix, admin_user, main, settings, tmp_path
):
    memory = {"BACKEND": "django.core.files.storage.InMemoryStorage"}
    settings.STORAGES = settings.STORAGES | {"materials": memory}
    reference = "".join(one for one in value if one.isprintable()).strip()[:255]
    home, names = make_home(main, reference), {"product": value[:100], "file_name": value}
    for number in range(12):
        one = material(deliver(home, value[:100], value[:100]), f"{number}", **names)
        store(one, JPEG + bytes([number]), want=False)
    material(deliver(home), "lacks", **names, url="https://cdn.test/1")
    browser = Client()
    browser.force_login(admin_user)
    path, feed = tmp_path / "all.zip", tmp_path / f"all{suffix}"
    path.write_bytes(export(browser, suffix, [home]).getvalue())
    with feed.open("wb") as file:
        beside = set(unpack(path, path.name, file, limit=10**7).beside)
    whole = zipfile.ZipFile(path)
    pictures = [name for name in whole.namelist() if SAFE.fullmatch(name)]
    assert len({name.casefold() for name in pictures}) == 12
    assert beside == {*pictures, "NOT INCLUDED.log"}
    lines = whole.read("NOT INCLUDED.log").decode().split("\r\n")
    assert not any(map(CONTROL.search, lines))
    (record,) = [one for one in open_feed(feed) if isinstance(one, Record)]
    assert record.reference == reference
    listed = {name for __, name in named(whole, suffix)[reference]}
    assert listed == {*pictures, "https://tours.test/1"}


@every_value_at_all
def test_a_value_that_a_program_writes_reaches_the_platform_or_is_refused(
    box, workspace, drain_all, value
):
    one = program(workspace)
    texts = [{"languageCode": "de", "title": value[:255], "description": value}]
    answer = one.call("PUT", encoded("A-1"), {"title": value, "localizations": texts})
    if answer.status_code != 201:
        assert answer.status_code == 400
        assert "title" in {said["path"] for said in answer.json()["fields"]}
        assert not Property.objects.exists()
        return
    drain_all()
    there, row = remote(box), Property.objects.get()
    for name in ("title", "localizations"):
        assert there[name] == row.desired[name] == row.observed[name]
    assert row.desired["localizations"] == texts


@every_value_at_all
def test_a_callback_with_the_value_in_every_text_is_applied_or_says_why_not(
    box, workspace, drain_all, value
):
    for kind in sample_events.KINDS:
        event = sample_events.sample(kind, at=now(), fields={})
        for name in event.keys() - {"event"}:
            assert called(workspace, event | {name: value}) == 200, name
    drain_all()
    found = ReceivedEvent.objects.exclude(state__in=ReceivedEvent.SETTLED)
    assert set(found.values_list("state", "problem_kind", "cause", "effect")) == set()


def called(workspace: Workspace, event: dict[str, Any]) -> int:
    """Return the status of a callback of the platform."""
    secret = {workspace.auth_header_name: workspace.auth_secret}
    return (
        Client(raise_request_exception=False)
        .post(
            f"/webhooks/{workspace.uuid}/",
            json.dumps(event),
            content_type="application/json",
            headers=secret,
        )
        .status_code
    )

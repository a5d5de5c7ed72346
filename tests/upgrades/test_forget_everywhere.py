"""A person is put into every text of a filled installation, and no piece of them is left untold."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from axes.models import AccessAttempt
from django.apps import apps
from django.contrib.auth.models import Permission, User
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db import IntegrityError, transaction
from django.db.models import BinaryField, CharField, Field, JSONField, Model, TextField

from crm_sync.models import ReceivedEvent
from crm_sync.secrets import EncryptedTextField
from crm_sync.work import heartbeat
from orders.models import Assignment, PlatformUser
from tests.orders.test_forget_person import forget
from tests.properties.uploaded import upload
from tests.upgrades.filling import fill

NAME, QUOTED = "Änne Xylander", 'Änne "Mü" Xylander'
MAIL, PHONE = "aenne@xylander.example", "+41 44 5550107"
ALL = f"{NAME}; {MAIL}; {PHONE}; {QUOTED}"
PIECES = ("xylander", "5550107")  # in each spelling

Spelling = Callable[[str], str]
SPELLINGS: tuple[Spelling, ...] = (
    str,
    json.dumps,
    lambda text: json.dumps({"note": f"asked\n{text}\nfor it"}, ensure_ascii=False),
    lambda text: json.dumps({"in": json.dumps({"note": f"\t{text}"})}),
    lambda text: f"https://example.com/tour/{quote(text, safe='')}",
    lambda text: f"https://example.com/tour?of={quote_plus(text)}&to=1",
    lambda text: f"https://example.com/tour/{quote(text, safe='', encoding='latin-1')}",
)

# Written by our code alone, or not readable in the database.
NOT_PUT = (ContentType, Permission, Session)
# Those of the person have their contact; those of others have none of it.
CONTACTS = {
    PlatformUser: {"name": NAME, "email": MAIL, "phone": PHONE},
    User: {"username": MAIL, "first_name": "Änne", "last_name": "Xylander", "email": MAIL},
}

# What stays in the database, and why; docs/personal-data.md, "Not removed". The command tells all.
CODE, KEYS = "written by our code", "a key, a state or an address"
DOCUMENTS, WAITS = "what is stored of properties and feeds", "an order or event that waits"
NAMED = "a name that people gave to something that works by it"
STAYS = {
    ("admin.LogEntry", KEYS): "object_id",
    ("auth.Group", NAMED): "name",
    ("crm_sync.Alarm", CODE): "key page told_to",
    ("crm_sync.ApiToken", CODE): "scopes token_digest",
    ("crm_sync.Heartbeat", CODE): "name",
    ("crm_sync.NamedView", CODE): "hidden screen",
    ("crm_sync.OutgoingMessage", CODE): "group kind message_id traceparent",
    ("crm_sync.PlatformCall", CODE): "request_id",
    ("crm_sync.ReceivedEvent", KEYS): "kind order_platform_id canonical_digest digest traceparent",
    ("crm_sync.ReceivedEvent", WAITS): "body",
    ("crm_sync.ReportedChange", CODE): "kind",
    ("crm_sync.Subscription", NAMED): "address kinds template",
    ("crm_sync.WebhookMonitor", CODE): "drift window",
    ("crm_sync.Workspace", NAMED): "auth_header_name auth_parameter_name base_url callback_sources"
    " client_id outgoing_kinds owners previous_auth_names slug",
    ("django_celery_beat.PeriodicTask", NAMED): "args description exchange headers kwargs name"
    " queue routing_key task",
    ("orders.Assignment", KEYS): "action_digest assignment_type estimate_digest platform_id"
    " photographer_digest products scheduled_digest status status_digest",
    ("orders.ForgottenPerson", CODE): "digest",
    ("orders.Material", KEYS): "mime_type platform_id product target_platform thumbnail_url url"
    " visual_type",
    ("orders.MaterialSet", KEYS): "product property_platform_id target_platform visual_type",
    ("orders.Order", KEYS): "object_reference_id platform_id property_platform_id status"
    " status_digest user_platform_id",
    ("orders.Placement", KEYS): "idempotency_digest idempotency_key object_reference_id"
    " property_platform_id session_id user_platform_id user_reference_id",
    ("orders.Placement", WAITS): "instructions offered options problem products program",
    ("orders.StatusChange", KEYS): "digest new previous",
    ("orders.Target", NAMED): "address host_key pattern products region user",
    ("orders.TargetFile", CODE): "name_digest",
    ("properties.Batch", DOCUMENTS): "wanted",
    ("properties.BatchEdit", DOCUMENTS): "left planned refused same",
    ("properties.Change", DOCUMENTS): "cause new old path",
    ("properties.Conflict", DOCUMENTS): "base ours path theirs",
    ("properties.DeliveredFile", DOCUMENTS): "digest modified name",
    ("properties.DriftCheck", DOCUMENTS): "fields found",
    ("properties.Fetch", DOCUMENTS): "beside mails_sent name",
    ("properties.Import", DOCUMENTS): "name preview report stored_as",
    ("properties.LastFeed", DOCUMENTS): "digest read_as",
    ("properties.Property", DOCUMENTS): "desired fed fed_digest inflight leftover observed"
    " object_reference_id platform_id problem replaced told",
    ("properties.Sender", NAMED): "columns flags name sheet",
    ("properties.Source", NAMED): "address digest etag header host_key mail_to modified read_as"
    " user",
    ("properties.Undo", DOCUMENTS): "chosen counts kept position removed",
}


def texts() -> Iterator[tuple[type[Model], "Field[Any, Any]"]]:
    """Yield each column in which a text of others can stand."""
    for model in apps.get_models():
        for column in model._meta.concrete_fields:
            is_text = isinstance(column, CharField | TextField | JSONField) and not column.choices
            if is_text and not isinstance(column, EncryptedTextField) and model not in NOT_PUT:
                yield model, column


def put_in(model: type[Model], column: "Field[Any, Any]") -> None:
    """Write the person into each row that takes it, in one spelling after the other."""
    limit = column.max_length or 10_000
    for number, row in enumerate(model._base_manager.order_by("pk")):
        spelled = [one(ALL) for one in SPELLINGS]
        spelled = [*spelled[number % len(spelled) :], *spelled, MAIL, PHONE.replace(" ", "")]
        text = next((one for one in spelled if len(one) + 9 <= limit), "")
        text = f"{text} ({row.pk})" if column.unique or column.name == "name" else text
        value = {"note": [text]} if isinstance(column, JSONField) else text
        with suppress(IntegrityError), transaction.atomic():
            model._base_manager.filter(pk=row.pk).update(**{column.name: value})


def holding() -> dict[tuple[str, Any], str]:
    """Return what the command calls each column and row with a piece of the person: its column."""
    found = {}
    for model in apps.get_models():
        for column in model._meta.concrete_fields:
            if not isinstance(column, CharField | TextField | JSONField | BinaryField):
                continue
            for key, value in model._base_manager.values_list("pk", column.name):
                is_bytes = isinstance(value, bytes | memoryview)
                text = bytes(value).decode("latin-1").replace("\0", "") if is_bytes else str(value)
                if any(piece in text.casefold() for piece in PIECES):
                    where = f"{model._meta.verbose_name}: {column.verbose_name}"
                    found[where, key] = f"{model._meta.label}.{column.name}"
    return found


@pytest.mark.rule("S23")
@pytest.mark.django_db(transaction=True)
def test_who_is_in_each_text_is_removed_or_told(day, workspace, box, drain_all, tmp_path, boss):
    heartbeat.forget()  # another test may have shown that this process lives
    fill(workspace, box, drain_all, tmp_path, boss)
    account = User.objects.get(username="agent")
    upload(workspace, account, f"object_reference_id,title\nU-1,{ALL}\n".encode(), name="own.csv")
    for model, column in texts():
        if model not in CONTACTS:
            put_in(model, column)
    person = PlatformUser.objects.get(platform_id="101")
    for row in (person, account):
        type(row).objects.filter(pk=row.pk).update(**CONTACTS[type(row)])
    PlatformUser.objects.filter(pk=person.pk).update(language=NAME, country=NAME)
    AccessAttempt.objects.update(username=MAIL)
    booked = {"id": "P1", "name": NAME, "email": MAIL, "phone": PHONE, "language": NAME}
    Assignment.objects.update(photographer=booked)
    events = ReceivedEvent.objects.order_by("pk")
    for number, event in enumerate(events):
        body = SPELLINGS[number % len(SPELLINGS)](ALL)
        encoding = ("utf-8", "latin-1", "utf-16")[number % 3]
        events.filter(pk=event.pk).update(body=body.encode(encoding), cleared_at=None)
    result, code = forget(MAIL, NAME, PHONE, QUOTED)
    held = holding()
    told = {(one["where"], one["row"]) for one in result["places"] if one["is_left"]}
    untold = {column for place, column in held.items() if place not in told}
    assert (code, untold, {where for where, _ in told - held.keys()}) == (3, set(), set())
    stays = {f"{model}.{name}" for (model, _), names in STAYS.items() for name in names.split()}
    assert set(held.values()) ^ stays == set()
    files = [one for one in (tmp_path / "data").rglob("*") if one.is_file()]
    named = {one.parent.name for one in files if b"Xylander" in one.read_bytes()}
    assert named == {"imports"}  # until their import ends, or 7 days

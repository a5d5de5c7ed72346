"""What leaves us says a value as it is, or as text: configuration, messages, spans, log (I17)."""

import json
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from config.logs import Json, LineFormatter
from crm_sync import hooks
from crm_sync.configuration import applying, exporting, yaml_file
from crm_sync.configuration.document_reading import read
from crm_sync.models import MessageFormat, Subscription, Workspace
from crm_sync.outgoing import chat, outbox
from crm_sync.outgoing.outbox import Message
from crm_sync.platform import transport
from crm_sync.work import turn
from orders.models import Placement
from properties.models import Source
from tests.conftest import TOKEN
from tests.crm_sync.receivers import receiving, subscribe
from tests.hostile import STEERING
from tests.properties.test_configuration_laws import private
from tests.spans import recorded
from tests.test_hostile_names import every_value, rows_with
from tests.wsgi import WsgiAdapter

pytestmark = pytest.mark.django_db
ASCII = re.compile(r"[ -~]*")


@every_value
def test_what_is_exported_as_configuration_is_read_back_and_changes_nothing(value, monkeypatch):
    rows_with(value)
    document, references = exporting.export()
    for one, secret in zip(references, private(), strict=True):
        monkeypatch.setenv(one.removeprefix("env:"), secret)
    assert [one["client_id"] for one in document["workspaces"]] == [value[:255]]
    reading = read(yaml_file.load(yaml_file.dump(document)), exporting.sections())
    assert (reading.faults, reading.missing) == ([], [])
    assert applying.apply(reading.entries, now=timezone.now(), is_dry=True).steps == []


@pytest.fixture
def log() -> Iterator[list[str]]:
    """Return what is logged, as both forms write it."""
    found: list[str] = []

    class Keeping(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.extend((LineFormatter().format(record), Json().format(record)))

    keeping = Keeping()
    logging.getLogger().addHandler(keeping)
    yield found
    logging.getLogger().removeHandler(keeping)


def make_all_due() -> None:
    """Make every row due in every queue, but those that must not be."""
    now = timezone.now()
    for queue in hooks.plugged().queues:
        mine = queue.rows(now).model._default_manager  # type: ignore[attr-defined]
        for key in mine.filter(due_at=None).values_list("pk", flat=True):
            try:
                with transaction.atomic():
                    mine.filter(pk=key).update(due_at=now)
            except IntegrityError:
                continue


@every_value
def test_every_queue_works_on_rows_with_the_value_and_neither_log_nor_spans_hold_it(
    value, box, log, settings, tmp_path
):
    settings.DATA_DIR = tmp_path
    rows_with(value)
    Workspace.objects.update(fixed_token=TOKEN)
    transport.MOUNTS["https://platform.test"] = WsgiAdapter(box)
    Placement.objects.update(not_before=timezone.now())
    Source.objects.update(mail_to="a@example.com")  # both doors take addresses only
    first = Workspace.objects.get()
    make_all_due()
    worked = {}
    with recorded() as spans:
        for queue in hooks.plugged().queues:
            worked[queue.name] = turn.take(queue, first.pk, seconds=20.0).counts
        attributes = [text for one in spans() for text in (one.name, *one.attributes.values())]
    assert [one for one in log if "Traceback" in one or " ERROR " in one] == []
    assert [one for one in log if STEERING.search(one)] == []
    assert [one for one in map(str, attributes) if not ASCII.fullmatch(one)] == []
    assert sum(map(bool, worked.values())) > 10  # mails and targets have tests of their own


@every_value
def test_a_message_of_each_kind_is_the_document_itself_or_lines_for_people(value, settings):
    settings.OUTGOING_INTERNAL_HOSTS = ["127.0.0.1"]
    settings.PUBLIC_BASE_URL = "https://crm.example.com"
    rows = rows_with(value)
    Subscription.objects.update(is_enabled=False, due_at=None)
    home, order = rows["properties.property"], rows["orders.order"]
    data = {
        "reference": home.object_reference_id,
        "propertyId": home.platform_id,
        "orderId": order.platform_id,
        "assignmentId": rows["orders.assignment"].platform_id,
        **{"assignmentType": value, "newStatus": value, "confirmed": False},
        **{"alarm": 0, "name": value, "text": value, "count": 2},
    }
    kinds = [one.name for one in hooks.plugged().message_kinds]
    now = timezone.now()
    messages = [
        Message(kind, now, data | {"state": "BEGAN" if kind.startswith("alarm.") else "IN_SYNC"})
        for kind in kinds
    ]
    with receiving() as receiver:
        for form in MessageFormat:
            template = "" if form == MessageFormat.JSON else EVERY_NAME
            subscribe(order.workspace, receiver.url, format=form, template=template)
        outbox.tell(order.workspace_id, messages, now=now)
        while turn.take(hooks.queue("outgoing"), order.workspace_id, seconds=20.0).counts:
            pass
        came = [json.loads(body) for _, _, body in receiver.came]
    documents = [one for one in came if "data" in one]
    assert {one["type"] for one in documents} == {*kinds}
    for one in documents:
        assert one["data"] | data == one["data"]
    chats = [one for one in came if "data" not in one]
    assert len(chats) == len(MessageFormat) - 1
    lines = [text for one in chats for text in texts_in(one)]
    assert len(lines) > 2 * len(kinds)
    assert [one for one in lines if STEERING.search(one)] == []
    for one in chats:
        for text in texts_in(one) if "blocks" in one else []:
            assert not set(OUR_LINK.sub("", text)) & set("<>")


EVERY_NAME = " ".join(f"{{{name}}}" for name in chat.NAMES)
OUR_LINK = re.compile(r"<https://crm\.example\.com/admin/[a-z0-9_/]*\|Open>")


def texts_in(document: Any) -> Iterator[str]:
    """Yield each line that people read of a message, and each part of one."""
    if isinstance(document, list):
        for one in document:
            yield from texts_in(one)
    elif isinstance(document, dict):
        for name, value in document.items():
            if name == "text" and isinstance(value, str):
                yield from value.split("\n")
            else:
                yield from texts_in(value)

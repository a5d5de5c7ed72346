"""The systems that get messages, in the file. Their addresses often hold a key (S5)."""

import base64
import binascii
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from crm_sync import hooks
from crm_sync.configured import (
    ConfiguredItem,
    ConfiguredRows,
    Faults,
    ItemKind,
    Known,
    Values,
    column_faults,
    item,
)
from crm_sync.models import Subscription
from crm_sync.outgoing import chat, outbox, signature
from crm_sync.outgoing.sending import fault

LEAST_BYTES, MOST_BYTES = 24, 64  # of a secret, by Standard Webhooks
ITEMS = (
    item(Subscription, "address", is_private=lambda _: True),
    ConfiguredItem("kinds", ItemKind.TEXTS),
    ConfiguredItem("enabled", ItemKind.YES_NO, default=True),
    ConfiguredItem("secret", ItemKind.SECRET, ""),
    item(Subscription, "format"),
    item(Subscription, "template"),
    item(Subscription, "language"),
)
COLUMNS = {one.name: one.name for one in ITEMS} | {"enabled": "is_enabled"}


def rows(workspace_id: int) -> Iterator[tuple[int, Values]]:
    """Yield the subscriptions of a workspace, the oldest first."""
    mine = Subscription.objects.filter(workspace=workspace_id).order_by("pk")
    for row in mine:
        yield row.pk, {name: getattr(row, column) for name, column in COLUMNS.items()}


def faults(values: Values, _: Values, __: Known) -> Faults:
    """Yield what a subscription cannot have."""
    texts = {name: values[name] for name in ("address", "format", "template", "language")}
    yield from column_faults(Subscription, texts)
    if found := fault(values["address"]):
        yield "address", str(found)
    known = [one.name for one in hooks.plugged().message_kinds]
    strange = [name for name in values["kinds"] if name not in known]
    if strange or not values["kinds"]:
        beginning = f"holds {strange[0]!r}; " if strange else ""
        yield "kinds", f"{beginning}expected some of {', '.join(known)}"
    try:
        chat.parsed(values["template"])
    except chat.TemplateWrong as error:
        yield "template", str(error)
    languages = [code for code, _name in settings.LANGUAGES]
    if values["language"] and values["language"] not in languages:
        yield "language", f"expected one of {', '.join(languages)}, or nothing"
    if values["secret"] and not _is_secret(values["secret"]):
        yield "secret", f"expected {signature.PREFIX} and 24 to 64 bytes in base64 behind it"


def _is_secret(text: str) -> bool:
    try:
        found = base64.b64decode(text.removeprefix(signature.PREFIX), validate=True)
    except binascii.Error:
        return False
    return text.startswith(signature.PREFIX) and LEAST_BYTES <= len(found) <= MOST_BYTES


def make(workspace_id: int, values: Values, now: datetime) -> int:
    """Add a subscription. Without a secret in the file it gets a new one."""
    columns = {column: values[name] for name, column in COLUMNS.items()}
    columns["secret"] = columns["secret"] or signature.new_secret()
    with outbox.changing(workspace_id):
        row = Subscription.objects.create(workspace_id=workspace_id, due_at=now, **columns)
    return row.pk


def change(workspace_id: int, key: Any, values: Values, now: datetime) -> None:
    """Change a subscription, and begin its tries anew."""
    columns = {COLUMNS[name]: value for name, value in values.items()}
    fresh = {"attempts": 0, "failing_since": None, "problem": "", "due_at": now}
    with outbox.changing(workspace_id):
        Subscription.objects.filter(pk=key).update(**columns, **fresh)


def _host(values: Values) -> str:
    return urlsplit(str(values["address"])).hostname or ""


SUBSCRIPTIONS = ConfiguredRows(
    name="subscriptions",
    noun="subscription",
    items=ITEMS,
    key=("address",),
    rows=rows,
    make=make,
    change=change,
    faults=faults,
    title=_host,
    hint=_host,
    may_repeat=True,
)

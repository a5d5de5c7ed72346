"""The senders, their sources, and who owns a field, in the file of the configuration."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

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
from properties.catalog.enums import AVAILABILITY_STATES
from properties.domain import owner_change, owners
from properties.feeds.idx import sender_flags
from properties.imports.missing_properties import EXEMPT
from properties.merge import Owner
from properties.models import Sender, Source
from properties.ownership import RULED
from properties.sources.address import parsed, shown
from properties.sources.source_rules import delivery_faults, sign_in_faults, with_effects

# --- who owns a field ----------------------------------------------------------------------------
OWNERS_OF = tuple(one.value for one in Owner if one is not Owner.POLICY)


def _rules(workspace_id: int) -> Iterator[tuple[str, Values]]:
    """Yield the rules by their fields; a database does not keep their order."""
    for field, owner in sorted(owners.of_key(workspace_id).rules.items()):
        yield field, {"field": field, "owner": owner.value}


def _rule_faults(values: Values, _: Values, __: Known) -> Faults:
    if values["field"] not in RULED:
        yield (
            "field",
            "expected a field such as prices.rent, an object, or a group: docs/ownership.md",
        )


def _set_rule(workspace_id: int, values: Values, now: datetime) -> str:
    field = str(values["field"])
    owner_change.set_owner(workspace_id, field, Owner(values["owner"]), now=now)
    return field


def _change_rule(workspace_id: int, field: Any, values: Values, now: datetime) -> None:
    _set_rule(workspace_id, {"field": field, **values}, now)


OWNERS = ConfiguredRows(
    name="owners",
    noun="rule of",
    items=(ConfiguredItem("field"), ConfiguredItem("owner", choices=OWNERS_OF)),
    key=("field",),
    rows=_rules,
    make=_set_rule,
    change=_change_rule,
    faults=_rule_faults,
    title=lambda values: str(values["field"]),
)

# --- senders -------------------------------------------------------------------------------------
SENDER_ITEMS = (
    item(Sender, "name"),
    item(Sender, "language"),
    item(Sender, "reference"),
    item(Sender, "lenient", ItemKind.YES_NO),
    item(Sender, "missing"),
    item(Sender, "missing_state"),
    item(Sender, "sheet"),
    item(Sender, "header_row", ItemKind.WHOLE),
    item(Sender, "columns", ItemKind.PAIRS),
    item(Sender, "flags", ItemKind.PAIRS),
)
SENDER_COLUMNS = tuple(one.name for one in SENDER_ITEMS)


def _senders(workspace_id: int) -> Iterator[tuple[int, Values]]:
    for row in Sender.objects.filter(workspace=workspace_id).order_by("pk"):
        values = {name: getattr(row, name) for name in SENDER_COLUMNS}
        yield row.pk, {**values, **{name: _sorted(values[name]) for name in ("columns", "flags")}}


def _sorted(texts: dict[str, str]) -> dict[str, str]:
    return dict(sorted(texts.items()))  # a database does not keep their order


def _sender_faults(values: Values, _: Values, __: Known) -> Faults:
    yield from column_faults(Sender, values)
    if not (values["language"].isascii() and values["language"].islower()):
        yield "language", "expected two small letters, such as de"
    states = [one for one in AVAILABILITY_STATES if one != EXEMPT]
    if values["missing"] == Sender.Missing.SET_STATE and values["missing_state"] not in states:
        yield "missing_state", f"expected one of {', '.join(states)}"
    try:
        sender_flags.mapping(values["flags"])
    except sender_flags.BadFlags as error:
        yield "flags", str(error)


def _make_sender(workspace_id: int, values: Values, _: datetime) -> int:
    return Sender.objects.create(workspace_id=workspace_id, **values).pk


def _change_sender(_: int, key: Any, values: Values, __: datetime) -> None:
    Sender.objects.filter(pk=key).update(**values)


SENDERS = ConfiguredRows(
    name="senders",
    noun="sender",
    items=SENDER_ITEMS,
    key=("name",),
    rows=_senders,
    make=_make_sender,
    change=_change_sender,
    faults=_sender_faults,
    title=lambda values: str(values["name"]),
)

# --- sources -------------------------------------------------------------------------------------
SOURCE_ITEMS = (
    ConfiguredItem("sender"),
    item(Source, "address", is_private=lambda text: "?" in text),
    ConfiguredItem("enabled", ItemKind.YES_NO, default=True),
    item(Source, "delivery"),
    item(Source, "sign_in"),
    item(Source, "header"),
    item(Source, "user"),
    ConfiguredItem("secret", ItemKind.SECRET, ""),
    item(Source, "every_minutes", ItemKind.WHOLE),
    item(Source, "daily_at", ItemKind.TIME, default=None),
    item(Source, "expect_hours", ItemKind.WHOLE),
    ConfiguredItem("mail_to", ItemKind.TEXTS, ()),
)
SOURCE_COLUMNS = {
    **{one.name: one.name for one in SOURCE_ITEMS if one.name not in ("sender", "mail_to")},
    "enabled": "is_enabled",
}


def _sources(workspace_id: int) -> Iterator[tuple[int, Values]]:
    mine = Source.objects.filter(workspace=workspace_id).select_related("sender").order_by("pk")
    for row in mine:
        values = {name: getattr(row, column) for name, column in SOURCE_COLUMNS.items()}
        yield row.pk, {**values, "sender": row.sender.name, "mail_to": row.mail_to.split()}


def _source_faults(values: Values, _: Values, known: Known) -> Faults:
    if (values["sender"],) not in known.get("senders", ()):
        yield "sender", f"is {values['sender']!r}, and the workspace has no such sender"
    columns = {column: values[name] for name, column in SOURCE_COLUMNS.items()}
    yield from column_faults(Source, columns)
    if (values["every_minutes"] is None) == (values["daily_at"] is None):
        yield "daily_at", "expected either every_minutes or daily_at; the other one is null"
    try:
        parsed(values["address"])
    except ValueError as error:
        yield "address", str(error)
        return
    data = {**values, "new_secret": values["secret"]}
    for name, text in (*sign_in_faults(data), *delivery_faults(data)):
        yield name.removeprefix("new_"), text
    for address in values["mail_to"]:
        try:
            validate_email(address)
        except ValidationError:
            yield "mail_to", f"holds {address!r}, which is not a mail address"


def _columns(workspace_id: int, values: Values) -> dict[str, Any]:
    columns = {SOURCE_COLUMNS.get(name, name): value for name, value in values.items()}
    if "mail_to" in columns:
        columns["mail_to"] = "\n".join(columns["mail_to"])
    if "sender" in columns:
        columns["sender"] = Sender.objects.get(workspace=workspace_id, name=columns["sender"])
    return columns


def _make_source(workspace_id: int, values: Values, now: datetime) -> int:
    columns = with_effects(_columns(workspace_id, values), is_enabled=values["enabled"], now=now)
    return Source.objects.create(workspace_id=workspace_id, **columns).pk


def _change_source(workspace_id: int, key: Any, values: Values, now: datetime) -> None:
    columns = _columns(workspace_id, values)
    mine = Source.objects.filter(pk=key)
    is_enabled = values.get("enabled", mine.values_list("is_enabled", flat=True).get())
    mine.update(**with_effects(columns, is_enabled=is_enabled, now=now))


SOURCES = ConfiguredRows(
    name="sources",
    noun="source",
    items=SOURCE_ITEMS,
    key=("sender", "address"),
    rows=_sources,
    make=_make_source,
    change=_change_source,
    faults=_source_faults,
    title=lambda values: f"{shown(str(values['address']))} of {values['sender']}",
    hint=lambda values: str(values["sender"]),
    may_repeat=True,
)

SECTIONS = (OWNERS, SENDERS, SOURCES)

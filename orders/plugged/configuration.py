"""The targets of pictures and documents, in the file of the configuration."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

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
from orders.models import Target
from orders.targets import name_pattern
from orders.targets.target_rules import place_faults, product_faults, with_effects

ITEMS = (
    item(Target, "name"),
    item(Target, "kind"),
    item(Target, "address", is_private=lambda text: "?" in text),
    ConfiguredItem("enabled", ItemKind.YES_NO, default=True),
    item(Target, "region"),
    item(Target, "user"),
    ConfiguredItem("secret", ItemKind.SECRET, ""),
    item(Target, "pattern"),
    ConfiguredItem("products", ItemKind.TEXTS, ()),
    item(Target, "quality"),
    item(Target, "content"),
    item(Target, "longest_edge", ItemKind.WHOLE, default=None),
)
COLUMNS = {one.name: one.name for one in ITEMS} | {"enabled": "is_enabled"}


def _rows(workspace_id: int) -> Iterator[tuple[int, Values]]:
    for row in Target.objects.filter(workspace=workspace_id).order_by("pk"):
        yield row.pk, {name: getattr(row, column) for name, column in COLUMNS.items()}


def _faults(values: Values, _: Values, __: Known) -> Faults:
    columns = {column: values[name] for name, column in COLUMNS.items()}
    yield from column_faults(Target, columns | {"products": list(values["products"])})
    for found in place_faults(values["kind"], values["address"]):
        yield "address", str(found)
    if fault := name_pattern.fault(values["pattern"]):
        yield "pattern", str(fault)
    for found in product_faults(values["products"]):
        yield "products", str(found)


def _columns(values: Values, now: datetime) -> dict[str, Any]:
    columns = {COLUMNS[name]: value for name, value in values.items()}
    if "products" in columns:
        columns["products"] = list(columns["products"])
    return with_effects(columns, now=now)


def _make(workspace_id: int, values: Values, now: datetime) -> int:
    return Target.objects.create(workspace_id=workspace_id, **_columns(values, now)).pk


def _change(_: int, key: Any, values: Values, now: datetime) -> None:
    Target.objects.filter(pk=key).update(**_columns(values, now))


SECTIONS = (
    ConfiguredRows(
        name="targets",
        noun="target",
        items=ITEMS,
        key=("name",),
        rows=_rows,
        make=_make,
        change=_change,
        faults=_faults,
        title=lambda values: str(values["name"]),
        hint=lambda values: str(values["name"]),
        may_repeat=True,
    ),
)

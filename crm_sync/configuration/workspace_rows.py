"""The workspaces in the file. A new one is connected as `add_workspace` does it."""

import getpass
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError

from crm_sync import connecting
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
from crm_sync.connecting import Given
from crm_sync.installed import command
from crm_sync.models import Workspace
from crm_sync.models.workspace import MOST_UNDER_WAY
from crm_sync.webhook import authentication

AuthType = Workspace.AuthType
CREDENTIALS = ("token", "client_id", "client_secret")
# How the platform calls us. On a platform in use both sides have to change together.
CALLBACK = ("auth_type", "auth_header_name", "auth_parameter_name")
SETTINGS = ("conflict_policy", "read_before_write", "max_under_way", "callback_sources")
ITEMS = (
    item(Workspace, "slug"),
    item(Workspace, "base_url"),
    ConfiguredItem("token", ItemKind.SECRET, ""),
    item(Workspace, "client_id"),
    ConfiguredItem("client_secret", ItemKind.SECRET, ""),
    *(item(Workspace, name) for name in CALLBACK),
    item(Workspace, "conflict_policy"),
    item(Workspace, "read_before_write", ItemKind.YES_NO),
    item(Workspace, "max_under_way", ItemKind.WHOLE),
    ConfiguredItem("callback_sources", ItemKind.TEXTS, ()),
)


def rows(_: int) -> Iterator[tuple[int, Values]]:
    """Yield all workspaces by their slugs, whose order is the same on every database."""
    for row in sorted(Workspace.objects.all(), key=lambda row: row.slug):
        values = {name: getattr(row, name) for name in (*CALLBACK, *SETTINGS)}
        yield (
            row.pk,
            {
                **values,
                "slug": row.slug,
                "base_url": row.base_url,
                "token": row.fixed_token,
                "client_id": row.client_id,
                "client_secret": row.client_secret,
                "callback_sources": row.callback_networks,
            },
        )


def faults(values: Values, before: Values, _: Known) -> Faults:
    """Yield what cannot be stored, and what must not change by the way of a file."""
    given = _given(_with_one_kind(values, before))
    if fault := connecting.slug_fault(given.slug):
        yield "slug", str(fault)
    by_client = bool(given.client_id), bool(given.secret)
    ways = [bool(given.token), any(by_client)]
    if sum(ways) != 1 or any(by_client) != all(by_client):
        yield "token", "expected either a token, or client_id and client_secret"
    if not 1 <= values["max_under_way"] <= MOST_UNDER_WAY:
        yield "max_under_way", f"expected a whole number from 1 to {MOST_UNDER_WAY}"
    columns = {name: values[name] for name in ("slug", "base_url", "client_id", *CALLBACK)}
    yield from column_faults(Workspace, columns)
    sources = " ".join(values["callback_sources"])
    try:
        Workspace(base_url=given.base_url, callback_sources=sources).clean()
    except ValidationError as error:
        for name, texts in error.message_dict.items():
            yield name, " ".join(texts)
    if sources.split() != list(values["callback_sources"]):
        yield "callback_sources", "expected one address or network in each text"
    if given.base_url.endswith("/"):
        yield "base_url", "expected no slash at its end"
    yield from _callback_faults(values)
    if before and values["base_url"] != before["base_url"]:
        text = "is another platform than here: `add_workspace` changes it, because it tries first"
        yield "base_url", text
    for name in CALLBACK if before else ():
        if values[name] != before[name]:
            text = f"is {before[name]} here: `configure_webhook` changes it on both sides"
            yield name, text


def _callback_faults(values: Values) -> Faults:
    if values["auth_type"] == AuthType.NONE and not settings.CALLBACK_ALLOW_NONE:
        yield "auth_type", "NONE needs the setting CALLBACK_ALLOW_NONE (S2)"
    try:
        authentication.check_names(values["auth_header_name"], values["auth_parameter_name"])
    except authentication.BadName as error:
        yield "auth_header_name", str(error)


def make(_: int, values: Values, now: datetime) -> int:
    """Connect a new workspace; a live one begins in watch only (I34)."""
    workspace, _is_new = connecting.store(_given(values), now=now, program=_program())
    _set(workspace.pk, {name: values[name] for name in (*CALLBACK, *SETTINGS)})
    return workspace.pk


def change(_: int, key: Any, values: Values, now: datetime) -> None:
    """Change settings, and credentials all together."""
    if not values.keys().isdisjoint(CREDENTIALS):
        row = Workspace.objects.get(pk=key)
        known = {"token": row.fixed_token, "client_id": row.client_id}
        known |= {"client_secret": row.client_secret, "slug": row.slug, "base_url": row.base_url}
        wanted = _with_one_kind({**known, **values}, known)
        connecting.store(_given(wanted), now=now, program=_program())
    _set(key, {name: value for name, value in values.items() if name in SETTINGS})


def _with_one_kind(values: Values, before: Values) -> Values:
    """Return the values without the known credentials that others in the file replace."""
    new = {name for name in CREDENTIALS if values[name] and values[name] != before.get(name)}
    replaced = CREDENTIALS[1:] if new == {"token"} else CREDENTIALS[:1]
    if not before or not new or new > {"token"}:
        return values
    return {**values, **dict.fromkeys(replaced, "")}


def _given(values: Values) -> Given:
    names = ("slug", "base_url", "token", "client_id", "client_secret")
    return Given(*(str(values[name]) for name in names))


def _set(key: int, values: Values) -> None:
    columns = dict(values)
    if "callback_sources" in columns:
        columns["callback_sources"] = " ".join(columns["callback_sources"])
    if columns:
        Workspace.objects.filter(pk=key).update(**columns)


def _program() -> str:
    return f"{getpass.getuser()} ({command('config')})"[:110]


WORKSPACES = ConfiguredRows(
    name="workspaces",
    noun="workspace",
    items=ITEMS,
    key=("slug",),
    rows=rows,
    make=make,
    change=change,
    faults=faults,
    title=lambda values: str(values["slug"]),
    is_of_workspace=False,
)

"""The database with which each seed begins, and the platform to it: made once."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import requests
import time_machine
from django.conf import settings
from django.db import connections
from django.utils import formats, translation

from lab.world import (
    agents,
    chat,
    deliveries,
    feeds,
    mail,
    neighbour,
    process,
    receiver,
    runtime,
    target,
)
from lab.world.judge import RULES
from lab.world.platform import ADDRESS, TOKEN
from lab.world.wires import OURS
from sandbox.app import Sandbox
from tests.wsgi import WsgiAdapter, environ_of


@dataclass
class Template:
    """A migrated database with two workspaces whose webhooks are set, and their platforms.

    Attributes:
        tokens: of programs that call our API, by their names.
    """

    database: Path
    platform: str
    neighbour: str
    tokens: dict[str, str]


def make_template(folder: Path) -> Template:
    """Set the scene once; each seed begins with a copy."""
    from crm_sync.platform import transport
    from tests.crm_sync.receivers import subscribe
    from tests.databases import migrated_image
    from tests.journeys.folder import make_source
    from tests.orders.targets.stock import make_target

    path = folder / "template.sqlite3"
    image = migrated_image()
    connections.settings["default"]["NAME"] = str(path)
    if image.exists():
        path.write_bytes(image.read_bytes())
    else:
        process._command("migrate", "--verbosity", "0")
    settings.PUBLIC_BASE_URL = OURS
    settings.ALLOWED_HOSTS = ["crm.test"]
    settings.SOURCE_FOLDERS = ["."]
    settings.EMAIL_BACKEND = mail.BACKEND
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # quick
    with time_machine.travel(runtime.EPOCH - timedelta(hours=1), tick=False):
        now = datetime.now(UTC)
        box = Sandbox(token=TOKEN, now=lambda: datetime.now(UTC))
        theirs = Sandbox(token=TOKEN, now=lambda: datetime.now(UTC))
        made, other = (
            _connect(slug, address, platform, now)
            for slug, address, platform in (
                ("main", ADDRESS, box),
                ("neighbour", neighbour.ADDRESS, theirs),
            )
        )
        tokens = _issue(made, other, now)
        subscribe(made, receiver.ADDRESS, secret=receiver.SECRET)
        subscribe(made, chat.ADDRESS, secret="", format="SLACK")
        make_source(made, feeds.ADDRESS, "REPLACED")
        make_source(made, deliveries.ADDRESS, "IN_TURN")
        make_target(made, "WEBDAV", target.ADDRESS)
        mail.make_readers(now)
        agents.make_agents(made)
        _set_rules(made.pk, now)
        _warm_up(tokens["ERP"])
        del transport.MOUNTS[ADDRESS], transport.MOUNTS[neighbour.ADDRESS]
    connections.close_all()
    platforms = (json.dumps(one.workspace.to_json()) for one in (box, theirs))
    return Template(path, *platforms, tokens)


def _connect(slug: str, address: str, platform: Sandbox, now: datetime) -> Any:
    """Make a workspace that is connected with its platform."""
    from crm_sync import hooks
    from crm_sync.models import Workspace
    from crm_sync.platform import transport
    from crm_sync.webhook.configuration import configure

    transport.MOUNTS[address] = WsgiAdapter(platform)
    made = Workspace.objects.create(slug=slug, base_url=address, fixed_token=TOKEN)
    configure(made, auth_type="HEADER", now=now)
    for begin in hooks.plugged().after_connected:
        begin(made.pk, now)
    return made


def _issue(main: Any, other: Any, now: datetime) -> dict[str, str]:
    """Make tokens: of all scopes, of few, and of the neighbour."""
    from crm_sync.api import tokens
    from tests.api import EVERYTHING

    programs = {
        "ERP": (main, EVERYTHING),
        "reader": (main, ["properties:read"]),
        "writer": (main, ["properties:write"]),
        "neighbour": (other, EVERYTHING),
    }
    return {
        name: tokens.issue(home, name=name, scopes=scopes, now=now)[1]
        for name, (home, scopes) in programs.items()
    }


def _set_rules(workspace_id: int, now: datetime) -> None:
    from properties.domain.owner_change import set_owner
    from properties.merge import Owner

    for field, owner in RULES.items():
        set_owner(workspace_id, field, Owner[owner], now=now)


def _warm_up(token: str) -> None:
    """Load and build once what each process would load anew: SQL, routes, texts, formats."""
    from config.wsgi import application
    from crm_sync.work import turn

    turn.waiting(datetime.now(UTC))
    headers = {"Authorization": f"Bearer {token}"}
    request = requests.Request("GET", f"{OURS}/api/v1/properties", headers).prepare()
    status, *_ = process.answer_of(application, *process.packed(environ_of(request)))
    if not status.startswith("200"):
        raise RuntimeError(f"the API answers with {status}")
    agents.open_pages()
    with translation.override("en"):
        translation.gettext("Orders")
        formats.localize(datetime.now(UTC))

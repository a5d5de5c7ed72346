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
    """A migrated database with a workspace whose webhook is set, and the platform to it.

    Attributes:
        tokens: of programs that call our API, by their names.
    """

    database: Path
    platform: str
    tokens: dict[str, str]


def make_template(folder: Path) -> Template:
    """Set the scene once; each seed begins with a copy."""
    from crm_sync import hooks
    from crm_sync.models import Workspace
    from crm_sync.platform import transport
    from crm_sync.webhook.configuration import configure
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
        transport.MOUNTS[ADDRESS] = WsgiAdapter(box)
        made = Workspace.objects.create(slug="main", base_url=ADDRESS, fixed_token=TOKEN)
        configure(made, auth_type="HEADER", now=now)
        for begin in hooks.plugged().after_connected:
            begin(made.pk, now)
        tokens = _issue(made, now)
        subscribe(made, receiver.ADDRESS, secret=receiver.SECRET)
        subscribe(made, chat.ADDRESS, secret="", format="SLACK")
        make_source(made, feeds.ADDRESS, "REPLACED")
        make_source(made, deliveries.ADDRESS, "IN_TURN")
        make_target(made, "WEBDAV", target.ADDRESS)
        mail.make_readers(now)
        agents.make_agents(made)
        _set_rules(made.pk, now)
        _warm_up(tokens["ERP"])
        del transport.MOUNTS[ADDRESS]
    connections.close_all()
    return Template(path, json.dumps(box.workspace.to_json()), tokens)


def _issue(main: Any, now: datetime) -> dict[str, str]:
    """Make tokens: of all scopes, of few, and of a neighbour with a platform of their own."""
    from crm_sync.api import tokens
    from crm_sync.models import Workspace
    from tests.api import EVERYTHING

    other = Workspace.objects.create(
        slug="neighbour", base_url=neighbour.ADDRESS, fixed_token=TOKEN
    )
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

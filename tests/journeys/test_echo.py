"""A platform that repeats our secrets, in every form, brings none of them into what we keep (S5).

Whatever is answered: no column, no page, no output and no line of log holds one afterwards.
"""

import base64
import html
import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from io import StringIO
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from django.contrib import admin
from django.core.management import CommandError, call_command
from django.db import connection
from django.urls import reverse

from crm_sync import hooks
from crm_sync.models import WebhookMonitor, Workspace
from crm_sync.platform import credentials, transport
from crm_sync.work import turn
from properties.domain.editing import create, edit
from properties.models import Property
from sandbox.app import Sandbox
from tests.conftest import PLATFORM
from tests.sizes import KIND
from tests.wsgi import WsgiAdapter

TOKEN = 'canary/token+"\\%-8f3kd0'
CLIENT_SECRET = 'canary <clïent>/secret+"\\%\u4e2d-93jd7s'
ERRORS = [(401, "json"), (401, "text"), (400, "json"), (403, "text"), (404, "json")]
ERRORS += [(409, "text"), (422, "json"), (429, "text"), (500, "json"), (503, "text")]


def forms(secret: str) -> set[str]:
    """How a text may hold it; written apart from `platform.redaction`, which this judges."""
    raw = secret.encode()
    found = {secret, raw.decode("latin-1"), html.escape(secret), json.dumps(secret)[1:-1]}
    found |= {json.dumps(secret, ensure_ascii=False)[1:-1], quote_plus(secret)}
    found |= {quote(secret, safe=safe) for safe in ("", "/")}
    found |= {re.sub("%..", lambda hit: hit[0].lower(), quote(secret, safe=""))}
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for before in ("", "i", "id", "id:", "Bearer "):
            found.add(encode(before.encode() + raw + b"...").decode())
    return found


def traces(secret: str) -> set[str]:
    """What of these forms must not be found: of base64 what lies between its ends."""
    return {form[12:-8] if len(form) > len(secret) + 8 else form for form in forms(secret)}


class Echo:
    """The sandbox behind something that adds all secrets to each answer, or answers with them."""

    def __init__(self, box: Sandbox) -> None:
        self.box = box
        self.status = 0  # of each answer, where it is not the sandbox's
        self.is_json = True

    def text(self) -> str:
        return " | ".join(sorted(form for one in secrets() for form in forms(one)))

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        if self.status:
            start_response(f"{self.status} Echo", [("Content-Type", "text/plain")])
            return [self._error()]
        started: list[Any] = []
        body = b"".join(self.box(environ, lambda *words: started.append(words)))
        if environ["PATH_INFO"] != "/auth/token" and body:
            body = json.dumps(_added(json.loads(body), self.text())).encode()
        status, headers = started[0][:2]
        kept = [(name, value) for name, value in headers if name != "Content-Length"]
        start_response(status, [*kept, ("Content-Length", str(len(body)))])
        return [body]

    def _error(self) -> bytes:
        text = self.text()
        if not self.is_json:
            return (text * 9).encode()
        hidden = "".join(f"\\u{ord(one):04x}" for one in text)
        errors = [{"field": "title", "message": text}, {"field": text, "message": "no"}]
        return json.dumps({"message": "@", "errors": errors}).replace("@", hidden).encode()


def _added(value: Any, text: str) -> Any:
    if isinstance(value, list):
        return [_added(one, text) for one in value]
    if isinstance(value, dict):
        members = {name: _added(one, text) for name, one in value.items()}
        return members | {"echo": text, "errorMessage": text, text: 1}
    return value


def secrets() -> set[str]:
    """All that there are by now: ours, the webhook's, and the tokens that were fetched."""
    found = {token for token, _ in credentials.tokens.values()}
    for one in Workspace.objects.all():
        found |= {one.fixed_token, one.client_secret, one.auth_secret, one.previous_auth_secret}
    return {str(one) for one in found if one}


def stored() -> Iterator[tuple[str, str]]:
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            columns = [one[0] for one in cursor.description]
            for row in cursor.fetchall():
                for name, value in zip(columns, row, strict=True):
                    text = bytes(value) if isinstance(value, memoryview | bytes) else str(value)
                    found = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
                    yield f"{table}.{name}", found
                    yield (
                        f"{table}.{name}, decoded",
                        found.replace('\\"', '"').replace("\\\\", "\\"),
                    )


def pages(client) -> Iterator[tuple[str, str]]:
    """Every list and every row of the admin, and the webhook as it is asked now."""
    addresses = [reverse("admin:index")]
    for model in admin.site._registry:
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        addresses.append(reverse(f"{name}_changelist"))
        addresses += [reverse(f"{name}_change", args=[row.pk]) for row in model.objects.all()]
    for address in addresses:
        yield address, client.get(address).content.decode()
    for one in Workspace.objects.all():
        page = reverse("admin:crm_sync_workspace_webhook", args=[one.pk])
        for action in ("ask", "configure"):
            answer = client.post(page, {"action": action}, follow=True)
            yield f"{page} {action}", answer.content.decode()


def assert_no_trace(texts: Iterator[tuple[str, str]]) -> None:
    needles = {trace for one in secrets() for trace in traces(one)}
    found = set()
    for place, text in texts:
        both = f"{text}\n{html.unescape(text)}"
        found |= {(place, needle) for needle in needles if needle in both}
    assert found == set()


@pytest.fixture
def echo(db, box, settings, monkeypatch) -> Echo:
    credentials.tokens.clear()
    sandbox = Sandbox(
        token=TOKEN,
        client_id="client",
        client_secret=CLIENT_SECRET,
        now=lambda: datetime.now(UTC),
        http=box.http,
        switches={"platform": KIND},
    )
    echo = Echo(sandbox)
    transport.MOUNTS[PLATFORM] = WsgiAdapter(echo)
    monkeypatch.setenv("THE_TOKEN", TOKEN)
    monkeypatch.setenv("THE_SECRET", CLIENT_SECRET)
    return echo


WITH_TOKEN = ("--token-env", "THE_TOKEN")
WITH_CLIENT = ("--client-id", "client", "--client-secret-env", "THE_SECRET")


def run(outputs: list[tuple[str, str]], *command: str) -> None:
    out = StringIO()
    try:
        call_command(*command, stdout=out, stderr=out)
    except CommandError as error:
        out.write(f"{error}")
    outputs.append((" ".join(command), out.getvalue()))


def live(outputs: list[tuple[str, str]]) -> None:
    """Do all that calls the platform."""
    now = datetime.now(UTC)
    Workspace.objects.update(paused_until=None)
    WebhookMonitor.objects.update(due_at=now, last_triggered_at=None)
    main = Workspace.objects.get()
    row = Property.objects.filter(object_reference_id="A-1").first()
    if row is None:
        create(main, "A-1", {"title": "Flat"}, origin="ADMIN", now=now)
    else:
        edit(row, {"title": f"Flat {now}"}, origin="ADMIN", now=now)
    Property.objects.update(due_at=now)
    for name, workspace_id in turn.waiting(datetime.now(UTC)):
        Workspace.objects.update(paused_until=None)
        turn.take(hooks.queue(name), workspace_id, seconds=0.5)
    for command in (
        ("configure_webhook", "main", "--rotate-secret"),
        ("pull_properties", "main"),
        ("push_properties", "main"),
        ("drift", "main"),
        (
            "place_order",
            "main",
            "--reference",
            "A-1",
            "--user",
            "AGENT-1",
            "--product",
            "GROUND_PHOTO",
        ),
        ("cancel_order", "main", "1017", "--user", "AGENT-1"),
    ):
        Workspace.objects.update(paused_until=None)
        run(outputs, *command)
    Workspace.objects.update(paused_until=None)


@pytest.mark.rule("S4")
@pytest.mark.once  # what a row is given hangs on no database
@pytest.mark.parametrize("how", [WITH_TOKEN, WITH_CLIENT], ids=["fixed token", "client"])
def test_no_secret_that_the_platform_repeats_is_kept_shown_or_logged(
    echo, how, admin_client, caplog
):
    caplog.set_level("DEBUG")
    outputs: list[tuple[str, str]] = []
    run(outputs, "add_workspace", "main", "--base-url", PLATFORM, *how)
    run(outputs, "configure_webhook", "main")
    live(outputs)
    for _ in range(3):
        echo.box.step()
    live(outputs)
    assert "***" in " ".join(text for _, text in stored())
    assert_no_trace(stored())
    assert_no_trace(pages(admin_client))
    for echo.status, kind in ERRORS:
        echo.is_json = kind == "json"
        run(outputs, "add_workspace", "main", "--base-url", PLATFORM, *how)
        live(outputs)
        assert_no_trace(stored())
    assert_no_trace(pages(admin_client))
    assert_no_trace(iter(outputs))
    assert_no_trace(iter([("the log", caplog.text)]))
    assert "***" in " ".join(text for _, text in outputs)

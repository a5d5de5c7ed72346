"""What the tests of the admin screens share: rows, users, and the canary."""

import hashlib
from datetime import datetime
from typing import Any

from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from crm_sync.models import Heartbeat, ReceivedEvent, Workspace
from crm_sync.models.received_event import PENDING, UNDERSTOOD
from crm_sync.security import access

CANARY = "<svg onload=alert(1)>"
ESCAPED = "&lt;svg onload=alert(1)&gt;"
SECRETS = {
    "fixed_token": "canary-fixed-token",
    "client_secret": "canary-client-secret",
    "auth_secret": "canary-auth-secret",
    "previous_auth_secret": "canary-previous-secret",
}


def let_processes_run(at: datetime) -> None:
    """Let a worker, a beat and the broker have been seen at this moment."""
    for kind in (Heartbeat.Kind.WORKER, Heartbeat.Kind.BEAT, Heartbeat.Kind.TICK):
        Heartbeat.objects.create(kind=kind, name=f"{kind}@a", started_at=at, seen_at=at)


def make_workspace(slug: str = "main", **columns: Any) -> Workspace:
    known = {"base_url": "https://platform.test"} | SECRETS
    return Workspace.objects.create(slug=slug, **(known | columns))


def make_received_event(workspace: Workspace, body: bytes = b"{}", **columns: Any) -> ReceivedEvent:
    """Return one as it stands in its state, where `columns` do not say otherwise."""
    digest = hashlib.sha256(f"{ReceivedEvent.objects.count()}".encode() + body).hexdigest()
    columns.setdefault("received_at", timezone.now())
    state = columns.setdefault("state", ReceivedEvent.State.RECEIVED)
    if state in PENDING:
        columns.setdefault("due_at", columns["received_at"])
    if state in UNDERSTOOD:
        columns.setdefault("canonical_digest", digest)
    return ReceivedEvent.objects.create(
        workspace=workspace, digest=digest, body=body, method="POST", **columns
    )


def client_of(*permissions: str, superuser: bool = False) -> Client:
    """Sign in somebody who may do exactly this ("crm_sync.view_receivedevent"), everywhere."""
    user = User.objects.create_user(
        username=f"user-{User.objects.count()}", is_staff=True, is_superuser=superuser
    )
    for name in (*permissions, access.ALL):
        app, _, codename = name.partition(".")
        found = Permission.objects.get(content_type__app_label=app, codename=codename)
        user.user_permissions.add(found)
    client = Client()
    client.force_login(user)
    return client


def queries_of(client: Client, address: str) -> int:
    client.get(address)  # fills the cache of content types, which outlives a request
    with CaptureQueriesContext(connection) as captured:
        assert client.get(address).status_code == 200
    return len(captured)

"""A callback that we send to ourselves as the platform would, to test an installation."""

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from crm_sync.models import ReceivedEvent, Workspace
from crm_sync.platform import transport
from crm_sync.platform.events import canonical_digest
from crm_sync.platform.transport import RawAnswer
from crm_sync.webhook import authentication, sample_events

DEADLINE = 30.0  # seconds that the platform waits for an answer (§8)
POLL_INTERVAL = 0.1  # seconds between two queries
# Stored with the received event, so that its page shows that the platform did not send it.
MARK = {"X-Trial": "sent by ourselves, not by the platform"}


@dataclass(frozen=True)
class CallbackRequest:
    """One callback, ready to be sent; `headers` and `params` hold the secret."""

    url: str
    headers: dict[str, str]
    params: dict[str, str]
    payload: dict[str, Any]

    @property
    def body(self) -> bytes:
        """The bytes that are sent."""
        return json.dumps(self.payload).encode()


def call(workspace: Workspace, payload: Mapping[str, Any]) -> CallbackRequest:
    """Return the callback for an event of a workspace, with its authentication (§5.2)."""
    carried, params = authentication.carrying(workspace, workspace.auth_secret)
    headers = {
        "Content-Type": "application/json",
        **sample_events.headers(payload),
        **MARK,
        **carried,
    }
    return CallbackRequest(workspace.callback_url, headers, params, dict(payload))


def send(one: CallbackRequest, *, deadline: float = DEADLINE) -> RawAnswer:
    """Send it once over the network.

    Raises:
        TransientError: there was no answer.
    """
    return transport.send(
        "POST",
        one.url,
        deadline=deadline,
        headers=one.headers,
        params=one.params,
        json=one.payload,
    )


def received_event_of(workspace: Workspace, one: CallbackRequest) -> ReceivedEvent | None:
    """Return its row in this database, the last one if it was sent before."""
    waiting = Q(digest=hashlib.sha256(one.body).hexdigest(), canonical_digest="", replay_of=None)
    settled = Q(canonical_digest=canonical_digest(one.payload))
    return (
        ReceivedEvent.objects.filter(waiting | settled, workspace=workspace).order_by("pk").last()
    )


def outcome(workspace: Workspace, one: CallbackRequest, *, seconds: float) -> ReceivedEvent | None:
    """Wait at most `seconds` until a worker has applied it. The row may still be pending."""
    end = time.monotonic() + seconds
    while True:
        found = received_event_of(workspace, one)
        if found is None or found.state != ReceivedEvent.State.RECEIVED or time.monotonic() > end:
            return found
        time.sleep(POLL_INTERVAL)

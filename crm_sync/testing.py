"""Fixtures for the tests of your own apps: `pytest_plugins = ["crm_sync.testing"]`.

`platform_event` sends an event as the platform would, from the callback to the applied effect, in
the process and the database of the test.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.utils import timezone

from crm_sync import hooks
from crm_sync.inbox import store
from crm_sync.models import ReceivedEvent, Workspace
from crm_sync.webhook import sample_events, test_event
from crm_sync.work import turn

BUDGET = 20.0  # seconds
SECRET = "secret-of-a-test"  # noqa: S105 - it opens nothing


@pytest.fixture
def app_hooks() -> Iterator[Callable[..., None]]:
    """Return a function that replaces hooks of the apps until the test ends.

    `app_hooks(event_handlers={…}, after_gap=[…])`; see `crm_sync.hooks.replaced`.
    """
    with ExitStack() as stack:
        yield lambda **parts: stack.enter_context(hooks.replaced(**parts))


@pytest.fixture
def platform_workspace(db: None) -> Workspace:
    """Return the workspace for the events: the first one, or a new one."""
    first = Workspace.objects.order_by("pk").first()
    return first or Workspace.objects.create(
        slug="test", base_url="https://platform.invalid", auth_secret=SECRET
    )


@pytest.fixture
def platform_event(platform_workspace: Workspace) -> Callable[..., ReceivedEvent]:
    """Return a function that posts an event to the callback view and applies it.

    `platform_event(kind, *, workspace=…, at=…, **fields)`: `kind` of §6.2, `fields` by wire name.
    Missing required fields get sample values. It returns the `ReceivedEvent`.

    Raises:
        crm_sync.webhook.sample_events.NoSuchKind: the interface has no such event.
        AssertionError: the callback was refused.
    """

    def post(
        kind: str,
        *,
        workspace: Workspace | None = None,
        at: datetime | None = None,
        **fields: Any,
    ) -> ReceivedEvent:
        to = workspace or platform_workspace
        payload = sample_events.sample(kind, at=at or timezone.now(), fields=fields)
        one = test_event.call(to, payload)
        answer = Client().post(
            urlsplit(one.url).path,
            one.body,
            content_type="application/json",
            headers=one.headers,
            query_params=one.params,
        )
        assert answer.status_code == 200, f"the callback was refused: {answer.content!r}"  # noqa: S101
        turn.take(hooks.queue(store.QUEUE), to.pk, seconds=BUDGET)
        found = test_event.received_event_of(to, one)
        assert found is not None, "the callback was not stored"  # noqa: S101
        return found

    return post

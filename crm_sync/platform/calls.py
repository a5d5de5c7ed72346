"""One call to the platform: a value comes back, or one of our errors is raised."""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from crm_sync.platform import transport
from crm_sync.platform.redaction import Redactor
from crm_sync.platform.responses import Answer, read_answer


def call(method: str, url: str, *, deadline: float, hide: Redactor, **kwargs: Any) -> Answer:
    """Send one request and read its answer; `kwargs` as `transport.send` takes them.

    Args:
        hide: takes our secrets out of the answer and of the errors: no other place does it.

    Raises:
        TransientError, RejectedError, NotFoundError, AuthError: see `errors`.
    """
    raw = transport.send(method, url, deadline=deadline, **kwargs)
    return read_answer(
        call=f"{method} {urlsplit(url).path}",
        status=raw.status,
        headers=raw.headers,
        body=raw.body,
        took=raw.took,
        now=datetime.now(UTC),
        hide=hide,
    )

"""One call to the platform, which returns a value or raises one of our errors."""

import re
import time
from typing import Any
from urllib.parse import urlsplit

from crm_sync.platform import transport
from crm_sync.platform.errors import SyncError
from crm_sync.platform.exchange import Exchange, Observer
from crm_sync.platform.redaction import MASK, Redactor
from crm_sync.platform.responses import Answer, read_answer


def call(
    method: str,
    url: str,
    *,
    deadline: float,
    hide: Redactor,
    observe: Observer = lambda _: None,
    **kwargs: Any,
) -> Answer:
    """Send one request and read its answer. `kwargs` go to `transport.send`.

    Args:
        hide: removes our secrets from the answer and from errors. No other place does this.
        observe: receives the exchange, good or bad.

    Raises:
        TransientError, RejectedError, NotFoundError, AuthError: see `errors`.
    """
    path, began, raw, error = urlsplit(url).path, time.monotonic(), None, None
    try:
        raw = transport.send(
            method, url, deadline=deadline, path=lambda: _shown(hide.text(path)), **kwargs
        )
        return read_answer(
            call=f"{method} {path}",
            status=raw.status,
            headers=raw.headers,
            body=raw.body,
            took=raw.took,
            now=raw.at,
            hide=hide,
        )
    except SyncError as why:
        error = why
        raise
    finally:
        observe(
            Exchange(
                method=method,
                path=path,
                query=kwargs.get("params") or {},
                sent=kwargs.get("json"),
                status=raw.status if raw else None,
                headers=raw.headers if raw else {},
                body=raw.body if raw else b"",
                took=raw.took if raw else time.monotonic() - began,
                error=error,
                hide=hide,
            )
        )


def _shown(path: str) -> str:
    """Return a path of the platform without a reference, which may be the name of a person."""
    return re.sub(r"(/by-reference/).+", rf"\1{MASK}", path)

"""Sends the id for the log, and what caused it, with each task (decisions 19 and 36)."""

from typing import Any

from celery.signals import before_task_publish, task_postrun, task_prerun

from crm_sync import tracing

IN_TASK = "crm_sync_trace"  # the header of a message
SENT = (IN_TASK, tracing.HEADER)


@before_task_publish.connect  # type: ignore[untyped-decorator] # Celery has no types
def _send(headers: dict[str, Any] | None = None, **_: Any) -> None:
    now = tracing.current()
    if headers is not None and now.id:
        headers[IN_TASK] = now.id
        if cause := now.traceparent:
            headers[tracing.HEADER] = cause


@task_prerun.connect  # type: ignore[untyped-decorator] # Celery has no types
def _receive(task: Any, **_: Any) -> None:
    request = task.request  # a task run in its caller's process has the headers in `headers`
    headers = request.get("headers") or {}
    given, cause = (str(request.get(name) or headers.get(name) or "") for name in SENT)
    tracing.begin(tracing.taken(given), cause=cause)


@task_postrun.connect  # type: ignore[untyped-decorator] # Celery has no types
def _forget(**_: Any) -> None:
    tracing.end()

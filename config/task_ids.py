"""Sends the id for the log with each task (decision 19)."""

from typing import Any

from celery.signals import before_task_publish, task_postrun, task_prerun

from crm_sync import tracing

IN_TASK = "crm_sync_trace"  # the header of a message


@before_task_publish.connect  # type: ignore[untyped-decorator] # Celery has no types
def _send(headers: dict[str, Any] | None = None, **_: Any) -> None:
    if headers is not None and (key := tracing.current().id):
        headers[IN_TASK] = key


@task_prerun.connect  # type: ignore[untyped-decorator] # Celery has no types
def _receive(task: Any, **_: Any) -> None:
    request = task.request  # a task run in its caller's process has the headers in `headers`
    given = request.get(IN_TASK) or (request.get("headers") or {}).get(IN_TASK)
    tracing.begin(tracing.taken(str(given or "")))


@task_postrun.connect  # type: ignore[untyped-decorator] # Celery has no types
def _forget(**_: Any) -> None:
    tracing.end()

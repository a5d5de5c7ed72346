"""The settings of gunicorn: `gunicorn --config python:config.gunicorn config.wsgi`."""

import gc
from typing import Any

from gunicorn.glogging import Logger

from config import orphan
from crm_sync import tracing
from crm_sync.observing import recording
from crm_sync.text import in_one_line

worker_class = "gthread"
threads = 8
# Each answer closes its connection. On a connection that stays open, a callback may arrive while
# the server closes it, and is lost (decision 21).
keepalive = 0
control_socket_disable = True  # two installations would share it in the user's home
worker_connections = 900  # most systems give a process 1024 open files
# The path without its query, which may carry the secret of the webhook (S3), and the id of the log.
access_log_format = "%(h)s %(m)s %(U)s %(s)s %(L)ss [%({x-request-id}o)s]"


class AccessLog(Logger):  # type: ignore[misc] # gunicorn has no types
    """An access log with one line for each request (S4). gunicorn does not escape line feeds."""

    def atoms(self, *arguments: Any) -> dict[str, Any]:
        """Return the values for a line."""
        found: dict[str, Any] = super().atoms(*arguments)
        return {
            name: in_one_line(value) if isinstance(value, str) else value
            for name, value in found.items()
        }

    def access(self, *arguments: Any) -> None:
        """Write the line with the id of the request, then end the trace."""
        super().access(*arguments)
        tracing.end()


logger_class = AccessLog


def on_starting(_: Any) -> None:
    """Watch honcho from the main process. The workers end with it."""
    orphan.watch()


def post_worker_init(_: Any) -> None:
    """Record traces in each worker, not in the main process, which only starts them.

    What is loaded by now lives as long as the worker, so the garbage collector need not walk it in
    the middle of a page.
    """
    recording.begin()
    gc.collect()
    gc.freeze()

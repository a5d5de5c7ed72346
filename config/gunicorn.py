"""How gunicorn serves the product: `gunicorn --config config/gunicorn.py config.wsgi`."""

from typing import Any

from gunicorn.glogging import Logger

from config import orphan
from config.logs import one_line
from crm_sync import tracing

worker_class = "gthread"
threads = 8
# Each answer closes its connection. On one that is kept, a callback may arrive while the server
# closes it, and is lost (decision 21).
keepalive = 0
control_socket_disable = True  # it lies in the user's home, where two installations share it
worker_connections = 900  # most systems give a process 1024 open files
# The path without its query, which may carry the secret of the webhook (S3).
access_log_format = "%(h)s %(m)s %(U)s %(s)s %(L)ss"


class AccessLog(Logger):  # type: ignore[misc] # gunicorn has no types
    """What a caller sends stands in one line (S4): gunicorn writes a line feed of a path as one."""

    def atoms(self, *arguments: Any) -> dict[str, Any]:
        """Return what a line can be made of."""
        found: dict[str, Any] = super().atoms(*arguments)
        return {
            name: one_line(value) if isinstance(value, str) else value
            for name, value in found.items()
        }

    def access(self, *arguments: Any) -> None:
        """Write the line with the id of the request, which ends with it."""
        super().access(*arguments)
        tracing.end()


logger_class = AccessLog


def on_starting(_: Any) -> None:
    """Watch honcho from the process that starts the others; they end with it."""
    orphan.watch()

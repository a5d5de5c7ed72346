"""How gunicorn serves the product: `gunicorn --config config/gunicorn.py config.wsgi`."""

from typing import Any

from config import orphan

worker_class = "config.worker.Worker"
threads = 8
control_socket_disable = True  # it lies in the user's home, where two installations share it
worker_connections = 900  # most systems give a process 1024 open files
# The path without its query, which may carry the secret of the webhook (S3).
access_log_format = "%(h)s %(m)s %(U)s %(s)s %(L)ss"


def on_starting(_: Any) -> None:
    """Watch honcho from the process that starts the others; they end with it."""
    orphan.watch()

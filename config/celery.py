"""The Celery application: a doorbell for work that stands in the database."""

import os
from typing import Any

from celery import Celery
from celery.signals import beat_init, worker_init

from config import (
    broker,
    orphan,
    tracing,  # noqa: F401 - it connects signals
)
from config.environment import end_in_one_line

broker.use()
end_in_one_line()
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("crm_sync", amqp=broker.AMQP)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

POOL = 20  # connections to PostgreSQL of one worker; its threads share them (`permits.PERMITS`)


def share_connections(**_: Any) -> None:
    """Let the threads of a worker share a few connections: PostgreSQL allows a hundred in all."""
    from django.db import connections  # noqa: PLC0415 - Django is set up by now

    database = connections.settings["default"]
    if database["ENGINE"].endswith("postgresql"):
        database["OPTIONS"] = {**database["OPTIONS"], "pool": {"min_size": 2, "max_size": POOL}}
        database["CONN_MAX_AGE"] = 0


worker_init.connect(share_connections)
worker_init.connect(orphan.watch)
beat_init.connect(orphan.watch)

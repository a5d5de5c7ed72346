"""The Celery application: a doorbell for work that is stored in the database."""

import os
from typing import Any

from celery import Celery
from celery.signals import beat_init, worker_init, worker_process_init

from config import (
    broker,
    orphan,
    task_ids,  # noqa: F401 - it connects signals
)
from config.environment import end_in_one_line
from crm_sync.observing import recording

broker.use()
end_in_one_line()
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("crm_sync", amqp=broker.AMQP)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


def share_connections(**_: Any) -> None:
    """Let the threads of a worker share connections, before the first one is opened."""
    from crm_sync import permits  # noqa: PLC0415 - it reads the settings

    permits.share_connections()


worker_init.connect(share_connections)
worker_init.connect(orphan.watch)
worker_init.connect(recording.begin)
worker_process_init.connect(recording.begin)  # of a pool of processes, which --pool chooses
beat_init.connect(orphan.watch)

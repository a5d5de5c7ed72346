"""The Celery application: a doorbell for work that stands in the database."""

import os

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

app = Celery("crm_sync")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

worker_init.connect(orphan.watch)
beat_init.connect(orphan.watch)

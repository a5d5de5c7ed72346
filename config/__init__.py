"""Wires the apps together and decides nothing."""

# Without this import a task that the web process rings would go to Celery's own default broker.
from config.celery import app as celery_app

__all__ = ["celery_app"]

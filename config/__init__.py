"""Wires the apps together, without logic of its own."""

# Without this import a ring of the web process would go to Celery's own default broker.
from config.celery import app as celery_app

__all__ = ["celery_app"]

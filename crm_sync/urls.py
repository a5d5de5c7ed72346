"""The addresses of the callback, the health pages and the metrics for Prometheus."""

from django.urls import path

from crm_sync.inbox.view import WebhookView
from crm_sync.observing.health import healthz, readyz, workersz
from crm_sync.observing.metrics import metrics

urlpatterns = [
    path("healthz", healthz),
    path("readyz", readyz),
    path("workersz", workersz),
    path("metrics", metrics),
    # With and without the slash: a redirect would be a lost event (S9).
    path("webhooks/<uuid:workspace_uuid>/", WebhookView.as_view()),
    path("webhooks/<uuid:workspace_uuid>", WebhookView.as_view()),
]

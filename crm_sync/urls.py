"""The addresses of the callback and of the health pages."""

from django.urls import path

from crm_sync.health import healthz, readyz, workersz
from crm_sync.inbox.view import WebhookView

urlpatterns = [
    path("healthz", healthz),
    path("readyz", readyz),
    path("workersz", workersz),
    # With and without the slash: a redirect would be a lost event (S9).
    path("webhooks/<uuid:workspace_uuid>/", WebhookView.as_view()),
    path("webhooks/<uuid:workspace_uuid>", WebhookView.as_view()),
]

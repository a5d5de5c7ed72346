"""The description of the API, for programs and for people, and the changes of both other apps."""

from django.urls import path
from drf_spectacular.views import SpectacularSwaggerView

from crm_sync.api.change_sequence import Changes
from crm_sync.api.schema import Schema

READS = ["get", "head"]  # OPTIONS would describe the views of the library
urlpatterns = [
    path("changes", Changes.as_view(), name="api_changes"),
    path("schema/", Schema.as_view(http_method_names=READS), name="api_schema"),
    path(
        "docs/",
        SpectacularSwaggerView.as_view(http_method_names=READS, url_name="api_schema"),
        name="api_docs",
    ),
]

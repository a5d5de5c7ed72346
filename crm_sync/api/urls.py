"""The description of the API, for programs and for people."""

from django.urls import path
from drf_spectacular.views import SpectacularJSONAPIView, SpectacularSwaggerView

READS = ["get", "head"]  # OPTIONS would describe the views of the library
urlpatterns = [
    path("schema/", SpectacularJSONAPIView.as_view(http_method_names=READS), name="api_schema"),
    path(
        "docs/",
        SpectacularSwaggerView.as_view(http_method_names=READS, url_name="api_schema"),
        name="api_docs",
    ),
]

"""Where the properties are in the API."""

from django.urls import path

from properties.api.sources import SourceFetch
from properties.api.views import NoReference, OneProperty, PropertyHistory, PropertyList

urlpatterns = [
    path("sources/<int:source_id>/fetch", SourceFetch.as_view()),
    path("properties", PropertyList.as_view()),
    path("properties/<str:reference>", OneProperty.as_view()),
    path("properties/<str:reference>/history", PropertyHistory.as_view()),
    path("properties/<path:reference>", NoReference.as_view()),
]

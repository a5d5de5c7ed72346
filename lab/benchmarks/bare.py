"""The least that a DRF view can do to store a body: its own settings, one address, one INSERT.

What our endpoint is measured beside; a module is enough for settings, urls and application.
"""

from typing import Any

import environ
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, HttpResponse
from django.urls import path

if not settings.configured:
    settings.configure(
        ROOT_URLCONF=__name__,
        ALLOWED_HOSTS=["*"],
        SECRET_KEY="nothing is signed",
        DATABASES={
            "default": environ.Env().db_url("DATABASE_URL")
            | {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True}
        },
        REST_FRAMEWORK={
            "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
            "UNAUTHENTICATED_USER": None,
        },
        USE_TZ=True,
        OTLP_ENDPOINT="",
    )

from django.db import connection
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView


class Bare(APIView):
    """Stores the body and answers."""

    authentication_classes = ()
    permission_classes = ()

    def post(self, request: Request) -> Response:
        """Run one INSERT."""
        with connection.cursor() as cursor:
            cursor.execute("insert into bare (body) values (%s)", [request.body])
        return Response({"status": "stored"})


def there(_: HttpRequest) -> HttpResponse:
    """Say that the server is there."""
    return HttpResponse()


urlpatterns: list[Any] = [path("", there), path("bare/", Bare.as_view())]
application = get_wsgi_application()

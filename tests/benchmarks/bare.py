"""The least that Django can do to store a body: its own settings, one address, one INSERT.

What our endpoint is measured beside; a module is enough for settings, urls and application.
"""

import environ
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.urls import path


def store(request: HttpRequest) -> HttpResponse:
    """Store the body and answer."""
    with connection.cursor() as cursor:
        cursor.execute("insert into bare (body) values (%s)", [request.body])
    return HttpResponse(b'{"status":"stored"}', content_type="application/json")


def there(_: HttpRequest) -> HttpResponse:
    """Say that the server is there."""
    return HttpResponse()


urlpatterns = [path("", there), path("bare/", store)]

if not settings.configured:
    settings.configure(
        ROOT_URLCONF=__name__,
        ALLOWED_HOSTS=["*"],
        SECRET_KEY="nothing is signed",
        DATABASES={
            "default": environ.Env().db_url("DATABASE_URL")
            | {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True}
        },
        USE_TZ=True,
        CALLBACK_BODY_LIMIT=256 * 1024,  # asked by the class of worker that serves both
    )
    application = get_wsgi_application()

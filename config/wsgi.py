"""The WSGI entry point, which passes chunked request bodies to Django as a whole (I17)."""

import os
import sys
from collections.abc import Iterable
from io import BytesIO
from wsgiref.types import StartResponse, WSGIEnvironment

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.wsgi import get_wsgi_application

from config.environment import problem

BOOT_FAILED = 3  # with this code gunicorn ends, and does not start worker after worker
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

try:
    django_application = get_wsgi_application()
except ImproperlyConfigured as error:
    sys.stderr.write(f"{problem(error)}\n")
    sys.exit(BOOT_FAILED)


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Serve one request, and set the CONTENT_LENGTH of a chunked body, which Django needs.

    gunicorn decodes chunks and sets `wsgi.input_terminated`. But Django reads only CONTENT_LENGTH
    bytes, which would be none. An empty body with a 200 would be a lost event.
    """
    chunked = "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower()
    if chunked and environ.get("wsgi.input_terminated"):
        # One byte more than the views for chunked bodies accept, so that they refuse a cut body.
        body = environ["wsgi.input"].read(settings.CALLBACK_BODY_LIMIT + 1)
        environ["wsgi.input"] = BytesIO(body)
        environ["CONTENT_LENGTH"] = str(len(body))
    elif chunked:
        # Django's development server does not decode chunks: with a length, frames would be read.
        environ["CONTENT_LENGTH"] = "0"
    return django_application(environ, start_response)

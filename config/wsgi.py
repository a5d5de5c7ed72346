"""The WSGI entry point, which hands chunked request bodies to Django whole (I17)."""

import os
import sys
from collections.abc import Iterable
from io import BytesIO
from wsgiref.types import StartResponse, WSGIEnvironment

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.wsgi import get_wsgi_application

from config.environment import problem

BOOT_FAILED = 3  # gunicorn then ends as a whole, and does not start worker after worker
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

try:
    django_application = get_wsgi_application()
except ImproperlyConfigured as error:
    sys.stderr.write(f"{problem(error)}\n")
    sys.exit(BOOT_FAILED)


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Serve one request; a chunked body gets the CONTENT_LENGTH that Django reads by.

    gunicorn decodes chunks and says so (`wsgi.input_terminated`), but Django reads as many bytes
    as CONTENT_LENGTH says: none. An empty body with a 200 would be a lost event.
    """
    chunked = "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower()
    if chunked and environ.get("wsgi.input_terminated"):
        # One byte more than any view takes that gets chunks: what is cut is refused there.
        body = environ["wsgi.input"].read(settings.CALLBACK_BODY_LIMIT + 1)
        environ["wsgi.input"] = BytesIO(body)
        environ["CONTENT_LENGTH"] = str(len(body))
    elif chunked:
        # Not decoded (Django's development server): a length beside it would cut out chunk frames.
        environ["CONTENT_LENGTH"] = "0"
    return django_application(environ, start_response)

"""Is the process alive, and can it work: for a load balancer or a person with curl."""

from datetime import timedelta

from django.db import DatabaseError
from django.http import HttpRequest, JsonResponse
from django.utils import timezone

from crm_sync import due

LATE = timedelta(seconds=60)


def healthz(_: HttpRequest) -> JsonResponse:
    """Answer 200 as long as this process answers at all."""
    return JsonResponse({"status": "ok"})


def readyz(_: HttpRequest) -> JsonResponse:
    """Answer 200 when the database answers and no queue has stood still for a minute, else 503."""
    try:
        late = due.waiting(timezone.now() - LATE)
    except DatabaseError:
        return JsonResponse({"status": "no database"}, status=503)
    if late:
        names = sorted({queue for queue, _ in late})
        return JsonResponse({"status": "no worker keeps up", "queues": names}, status=503)
    return JsonResponse({"status": "ok"})

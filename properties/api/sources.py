"""A sender says that its feed is new, instead of waiting for the schedule."""

from typing import Any

from django.db import transaction
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from crm_sync.api.error_answers import Refused
from crm_sync.api.views import View
from properties.models import Source
from properties.sources.look import SOONEST


class FetchSerializer(serializers.Serializer[Any]):
    """When a source is fetched next."""

    id = serializers.IntegerField()
    dueAt = serializers.DateTimeField(source="due_at")  # noqa: N815 - wire names


class SourceFetch(View):
    """An early fetch of a source."""

    scopes = {"POST": "sources:fetch"}

    @extend_schema(operation_id="sources_fetch", request=None, responses={202: FetchSerializer})
    def post(self, request: Request, source_id: int) -> Response:
        """Let a worker fetch the feed of a source at once, at most once a minute.

        A call within this minute is not lost: the source is fetched when the minute is over.
        """
        rows = self.within(Source.objects.defer("secret"))
        with transaction.atomic():
            row = get_object_or_404(rows.select_for_update(), pk=source_id)
            if not row.is_enabled or row.due_at is None:
                text = "A person has switched off the schedule of this source. Nothing is fetched."
                raise Refused(409, "schedule_off", text)
            now = timezone.now()
            at = max(now, row.fetched_at + SOONEST) if row.fetched_at else now
            # One that is fetched just now may miss what is new, so it is fetched again.
            is_running = row.lease_until is not None and row.lease_until > now
            if is_running or at < row.due_at:
                row.due_at = at
                row.save(update_fields=["due_at"])
        return Response(FetchSerializer(row).data, status=202)

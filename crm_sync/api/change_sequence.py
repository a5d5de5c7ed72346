"""The changes of a workspace, for a program that follows them (I37)."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import (
    CharField,
    DateTimeField,
    DictField,
    IntegerField,
    Serializer,
    URLField,
)
from rest_framework.utils.urls import replace_query_param

from crm_sync.api.body import Strict
from crm_sync.api.error_answers import Refused
from crm_sync.api.views import Pages, QueryView
from crm_sync.outgoing import outbox, sequence

HIGHEST = 2**63 - 1  # of a database
AFTER = "The number of the last change that was read; without it: all kept"


class ReportedChangeSerializer(Serializer[Any]):
    """A change, with its number; the rest is like an outgoing message (docs/outgoing.md)."""

    number = IntegerField(help_text="Its place: a later change has a higher one")
    type = CharField(help_text="Such as property.in_sync; more may be added")
    timestamp = DateTimeField(help_text="When it happened")
    data = DictField(  # type: ignore[assignment] # the name on the wire, not the member of DRF
        help_text="Ids and states, no personal data"
    )


class ReportedChangesSerializer(Serializer[Any]):
    """Some changes, and where to go on."""

    items = ReportedChangeSerializer(many=True)
    next = URLField(help_text="The address of what comes after these, never null")


class ChangesQuery(Strict):
    """The position of the reader."""

    after = IntegerField(required=False, min_value=0, max_value=HIGHEST, help_text=AFTER)
    limit = IntegerField(
        required=False, min_value=1, max_value=Pages.max_page_size, help_text="100 without it"
    )


class Changes(QueryView):
    """The sequence of changes."""

    scopes = {"GET": "changes:read"}
    query = ChangesQuery

    @extend_schema(
        operation_id="changes_list", responses=ReportedChangesSerializer, parameters=[ChangesQuery]
    )
    def get(self, request: Request) -> Response:
        """List the changes after a position, none missing and none twice.

        The list is empty if there is nothing new. Call `next` again later.
        """
        limit = self.asked.get("limit", Pages.page_size)
        try:
            rows, position = sequence.read(self.token.workspace_id, self.asked.get("after"), limit)
        except sequence.UnknownPosition as error:
            raise _gone(error) from error
        items = [
            {"number": one.number}
            | outbox.document(one.kind, one.occurred_at, one.data, self.token.workspace.slug)
            for one in rows
        ]
        following = replace_query_param(request.build_absolute_uri(), "after", position)
        return Response({"items": items, "next": following})


def _gone(error: sequence.UnknownPosition) -> Refused:
    text = (
        f"This position is not kept: the changes from {error.oldest} to {error.last} are. Call"
        " /changes without `after`, then read all properties and orders once."
    )
    return Refused(410, "position_gone", text, [("after", "is not kept")])

"""The shared parts of all views of the API: workspace of the token, pages, unknown addresses."""

import re
from collections.abc import Callable
from typing import Any, TypeVar, cast

from django.conf import settings
from django.db.models import Model, QuerySet
from django.http import Http404
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.generics import ListAPIView
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import CharField, IntegerField
from rest_framework.views import APIView

from crm_sync.api.body import JsonObject, Strict
from crm_sync.api.error_answers import Refused
from crm_sync.api.throttling import TokenRate
from crm_sync.api.token_authentication import BearerToken, HasScope, IsKnown
from crm_sync.models import ApiToken

WITHOUT_READ = OpenApiResponse(description="Done; the token may not read what it wrote")
KEY = re.compile(r"[0-9]{1,18}")  # a position: the key of a row
Row = TypeVar("Row", bound=Model)
Rows = TypeVar("Rows", bound=QuerySet[Any])


class View(APIView):
    """A view of the API.

    Attributes:
        scopes: method → required scope; any other method is refused.
    """

    scopes: dict[str, str] = {}
    authentication_classes = (BearerToken,)
    permission_classes: Any = (HasScope,)
    throttle_classes = (TokenRate,)
    parser_classes = (JsonObject,)
    http_method_names = [name for name in APIView.http_method_names if name != "options"]

    @property
    def token(self) -> ApiToken:
        """The token of the call."""
        return cast("ApiToken", self.request.auth)

    def written(
        self, read: str, whole: Callable[[], Response], headers: dict[str, str] | None = None
    ) -> Response:
        """Answer a write: with the whole row if the token may read it, else with 204 (S12).

        Args:
            read: the scope for reading the row.
            whole: returns the response with the whole row.
            headers: headers of both responses, such as the revision or the address.
        """
        response = whole() if read in self.token.scopes else Response(status=204)
        for name, value in (headers or {}).items():
            response.headers[name] = value
        return response

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse http before the token is read: a redirect would hide that it was sent in clear.

        Raises:
            Refused: pages are led to https, and the call came by http.
        """
        if settings.SECURE_SSL_REDIRECT and not request.is_secure():
            text = "Call https. If this call carried a token, replace it: others may have read it."
            raise Refused(403, "https_required", text)
        super().initial(request, *args, **kwargs)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Keep each answer, also an error, out of every cache."""
        answer = super().finalize_response(request, response, *args, **kwargs)
        answer.headers.setdefault("Cache-Control", "no-store")
        return answer

    def check_permissions(self, request: Request) -> None:
        """Count the call before it may be refused, so that guesses at scopes are counted too."""
        super().check_throttles(request)
        super().check_permissions(request)

    def check_throttles(self, request: Request) -> None:
        """Do nothing: `check_permissions` has counted the call."""

    def within(self, rows: Rows, path: str = "workspace") -> Rows:
        """Return the rows of the workspace of the token (S12)."""
        return rows.filter(**{path: self.token.workspace_id})


class Pages(CursorPagination):
    """Pages that skip and repeat no row while rows are added or removed. All cost the same."""

    page_size = 100
    max_page_size = 500
    invalid_cursor_message = "This is no cursor of ours: take the whole address in `next`."
    page_size_query_param = "limit"
    ordering = "pk"

    def decode_cursor(self, request: Request) -> Any:
        """Return the position of the page; a cursor that is none of ours is refused with 400."""
        try:
            cursor = super().decode_cursor(request)
        except NotFound as error:
            raise ValidationError({self.cursor_query_param: [str(error.detail)]}) from None
        position = cursor.position if cursor else None
        if position is not None and not KEY.fullmatch(str(position)):
            raise ValidationError({self.cursor_query_param: [self.invalid_cursor_message]})
        return cursor

    def get_paginated_response(self, data: Any) -> Response:
        """Return the items and the address of the next page, null on the last page."""
        return Response({"items": data, "next": self.get_next_link()})

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return the schema of such a page."""
        following = {"type": ["string", "null"], "format": "uri"}
        return {
            "type": "object",
            "required": ["items", "next"],
            "properties": {"items": schema, "next": following},
        }


class NewestFirst(Pages):
    """Pages that begin with the newest row."""

    ordering = "-pk"


class PageQuery(Strict):
    """The parameters of every list. A list with filters adds its own."""

    cursor = CharField(required=False, help_text="That of the address in `next`")
    limit = IntegerField(
        required=False, min_value=1, max_value=Pages.max_page_size, help_text="100 without it"
    )


class QueryView(View):
    """A view that refuses wrong, empty, contradictory and unknown parameters with 400.

    Attributes:
        query: the parameters that the view takes.
        asked: the parameters of the call.
    """

    query: type[Strict] = PageQuery
    asked: dict[str, Any] = {}

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Check the parameters after the token."""
        super().initial(request, *args, **kwargs)
        names = (name for name, values in request.query_params.lists() if len(set(values)) > 1)
        if unclear := dict.fromkeys(names, "This parameter is there with different values."):
            raise ValidationError(unclear)
        # A QueryDict counts as a form, in which an empty value means none.
        query = self.query(data=request.query_params.dict())
        query.is_valid(raise_exception=True)
        self.asked = query.validated_data


class ListView(QueryView, ListAPIView[Row]):
    """A list, page by page."""


@extend_schema(exclude=True)
class Nowhere(View):
    """The view of unknown addresses, which answers in the format of all errors."""

    permission_classes = (IsKnown,)

    def http_method_not_allowed(self, request: Any, *_: Any, **__: Any) -> Any:
        """Raise 404 for any method."""
        raise Http404

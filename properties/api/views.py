"""The calls for properties (I1, S12): each is one edit or one read."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any, cast

from django.db import IntegrityError
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import Http404
from django.utils import timezone
from django.utils.http import parse_etags
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ParseError
from rest_framework.request import Request
from rest_framework.response import Response

from crm_sync.api.body import MomentField
from crm_sync.api.error_answers import Refused
from crm_sync.api.views import WITHOUT_READ, ListView, NewestFirst, PageQuery, Pages, View
from crm_sync.platform import references
from properties.api.property_changes import patched, replaced
from properties.api.property_schema import BODY
from properties.api.serializers import ChangeSerializer, PropertySerializer, SummarySerializer
from properties.domain import owners
from properties.domain.editing import Invalid, Outdated, create, edit
from properties.merge import Document, Leaves, leaves
from properties.models import Change, Property
from properties.models.change import Origin
from properties.models.property import OUT_OF_STEP, SyncState

READ, WRITE = "properties:read", "properties:write"
CONDITIONS = [
    OpenApiParameter(
        "If-Match", str, OpenApiParameter.HEADER, description="An ETag; at another revision: 412"
    ),
    OpenApiParameter(
        "If-None-Match",
        str,
        OpenApiParameter.HEADER,
        description="An ETag, or * for any; at this revision: 412",
    ),
]
Changes = Callable[[Mapping[str, Any], str, Document], Leaves]


class PropertyView(View):
    """A view about the property that its address names."""

    def found(self) -> Property | None:
        """Return it with its current state."""
        rows = self.within(Property.objects.with_state(timezone.now()))
        return rows.filter(object_reference_id=self.kwargs["reference"]).first()

    def row(self) -> Property:
        """Return it, or raise 404."""
        row = self.found()
        if row is None:
            raise Http404
        return row


class OneProperty(PropertyView):
    """One property, by its reference."""

    scopes = {"GET": READ, "PUT": WRITE, "PATCH": WRITE}

    @extend_schema(operation_id="properties_get", responses=PropertySerializer)
    def get(self, request: Request, reference: str) -> Response:
        """Read a property: both sides, its state, problems and conflicts."""
        return _answer(self.row())

    @extend_schema(
        operation_id="properties_put",
        request={"application/json": BODY},
        responses={200: PropertySerializer, 201: PropertySerializer, 204: WITHOUT_READ},
        parameters=CONDITIONS,
    )
    def put(self, request: Request, reference: str) -> Response:
        """Create or replace a property; what the body leaves out is cleared."""
        row = self.found()
        if row is None and self._create():
            return self._written(status=201)
        row = row or self.row()
        ownership, theirs = owners.of(row), leaves(row.observed)

        def is_locked(path: str) -> bool:
            return bool(ownership.lock(path, theirs.get(path)))

        self._edit(row, partial(replaced, is_locked=is_locked))
        return self._written()

    @extend_schema(
        operation_id="properties_patch",
        request={"application/json": BODY},
        responses={200: PropertySerializer, 204: WITHOUT_READ},
        parameters=CONDITIONS,
    )
    def patch(self, request: Request, reference: str) -> Response:
        """Change the fields that the body names; null clears one."""
        self._edit(self.row(), patched)
        return self._written()

    def _written(self, status: int = 200) -> Response:
        row = self.row()
        return self.written(READ, lambda: _answer(row, status), {"ETag": _etag(row)})

    def _create(self) -> bool:
        """Create it; return False if somebody else created it in between."""
        reference = self.kwargs["reference"]
        _refuse_untravelling(reference)
        if "If-Match" in self.request.headers:
            raise _outdated(f"There is no property {reference} yet.")
        try:
            with _told_by_field():
                changes = self._changes(replaced, {})
                given = {path: value for path, value in changes.items() if value is not None}
                create(self.token.workspace, reference, given, **self._by)
        except IntegrityError:
            return False
        return True

    def _edit(self, row: Property, changes: Changes) -> None:
        with _told_by_field():
            made = self._changes(changes, row.desired)
            try:
                edit(row, made, revision=_demanded(self.request, row), **self._by)
            except Property.DoesNotExist:  # it was linked, and is another row now (I36)
                self._edit(self.row(), changes)

    def _changes(self, changes: Changes, before: Document) -> Leaves:
        if self.request.stream is None:  # otherwise a lost body would clear everything
            raise ParseError("The body must be a JSON object.")
        return changes(cast("Document", self.request.data), self.kwargs["reference"], before)

    @property
    def _by(self) -> dict[str, Any]:
        return {"origin": Origin.HTTP_API, "note": str(self.token), "now": timezone.now()}


class PropertyQuery(PageQuery):
    """The filters of the list of properties."""

    state = serializers.ChoiceField(SyncState.choices, required=False)
    updated_since = MomentField(
        required=False, help_text="Changed here, read from the platform or pushed since then"
    )
    reference = serializers.CharField(
        required=False, max_length=references.LIMIT, help_text="Exactly this reference"
    )


class PropertyList(ListView[Property]):
    """All properties of the workspace."""

    scopes = {"GET": READ}
    query = PropertyQuery
    serializer_class = SummarySerializer
    pagination_class = Pages

    @extend_schema(operation_id="properties_list", parameters=[PropertyQuery])
    def get(self, request: Request) -> Response:
        """List properties, in the order in which they were added."""
        return self.list(request)

    def get_queryset(self) -> QuerySet[Property]:
        """Return the properties that match the query, without the documents."""
        rows = self.within(Property.objects.with_state(timezone.now())).only(*LISTED)
        if state := self.asked.get("state"):
            few = Q() if state == SyncState.IN_SYNC else OUT_OF_STEP  # along an index
            rows = rows.filter(few, Q(sync_state=state))
        if reference := self.asked.get("reference"):
            rows = rows.filter(object_reference_id=reference)
        if since := self.asked.get("updated_since"):
            rows = rows.filter(_updated(since))
        return rows


class PropertyHistory(PropertyView, ListView[Change]):
    """The history of a property."""

    scopes = {"GET": READ}
    serializer_class = ChangeSerializer
    pagination_class = NewestFirst

    @extend_schema(operation_id="properties_history")
    def get(self, request: Request, reference: str) -> Response:
        """List the changes of a property, the newest first."""
        return self.list(request)

    def get_queryset(self) -> QuerySet[Change]:
        """Return the changes with their authors."""
        if getattr(self, "swagger_fake_view", False):  # the schema generator has no address
            return Change.objects.none()
        return Change.objects.filter(real_estate_property=self.row()).select_related("actor")


def _refuse_untravelling(reference: str) -> None:
    """Refuse a reference that no address can contain (S14)."""
    if fault := references.path_fault(reference):
        reason = format(fault).removeprefix("The reference ")  # it stands at the field
        raise Refused(400, "bad_reference", f"{fault}.", [("reference", reason)])


@extend_schema(exclude=True)
class NoReference(View):
    """An address whose reference contains a slash, which a path cannot contain (S14)."""

    scopes = dict.fromkeys(("GET", "PUT", "PATCH", "POST", "DELETE"), READ)

    def http_method_not_allowed(self, request: Any, *_: Any, **named: Any) -> Any:
        """Refuse the request, and name the character."""
        _refuse_untravelling(named["reference"])


LISTED = (
    *("object_reference_id", "platform_id", "revision", "problem", "created_at", "read_at"),
    "pushed_at",
)


def _updated(since: datetime) -> Q:
    changed = Change.objects.filter(real_estate_property=OuterRef("pk"), at__gte=since)
    moved = Q(created_at__gte=since) | Q(read_at__gte=since) | Q(pushed_at__gte=since)
    return moved | Q(Exists(changed))


def _demanded(request: Request, row: Property) -> int | None:
    """Return the revision that `If-Match` asks for; None for any.

    Raises:
        Refused: the property is at another revision, or at one that `If-None-Match` excludes.
    """
    excluded = parse_etags(request.headers.get("If-None-Match", ""))
    if {"*", _etag(row), f"W/{_etag(row)}"} & set(excluded):
        raise _outdated(f"The property is there, at revision {row.revision}.")
    said = parse_etags(request.headers.get("If-Match", "*"))
    if "*" in said:
        return None
    if _etag(row) not in said:
        raise _outdated(f"The property is at revision {row.revision}.")
    return row.revision


@contextmanager
def _told_by_field() -> Iterator[None]:
    """Convert a refused edit to an answer with the reasons."""
    try:
        yield
    except Invalid as error:
        fields = [(fault.path, fault.message) for fault in error.faults]
        raise Refused(400, "invalid", "Some fields are not valid.", fields) from error
    except Outdated as error:
        raise _outdated(f"{error}.") from error


def _outdated(message: str) -> Refused:
    return Refused(412, "outdated", f"{message} Read it again, then repeat the change.")


def _etag(row: Property) -> str:
    return f'"{row.revision}"'


def _answer(row: Property, status: int = 200) -> Response:
    return Response(PropertySerializer(row).data, status=status, headers={"ETag": _etag(row)})

"""The API views of orders (S12). They read, or call the same functions as the pages."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from threading import BoundedSemaphore
from typing import Any
from uuid import uuid4, uuid5

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.urls import reverse
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer

from crm_sync.api.body import MomentField, Strict
from crm_sync.api.error_answers import Refused
from crm_sync.api.views import (
    WITHOUT_READ,
    ListView,
    NewestFirst,
    PageQuery,
    Pages,
    QueryView,
    View,
)
from crm_sync.platform import references
from orders.api.serializers import (
    CancelSerializer,
    MaterialSetSerializer,
    MaterialsSerializer,
    OrderSerializer,
    PlacementSerializer,
    PlaceSerializer,
    RescheduleSerializer,
)
from orders.materials.deliveries import marketing_of_property, of_order, of_property
from orders.models import Assignment, ChangeRequest, Order, Placement, StatusChange
from orders.models.order import WITH_REFERENCE
from orders.placing import changes
from orders.placing.failures import (
    AlreadySent,
    KeyReused,
    NoSuchChoice,
    OutcomeUnknown,
    RefusedBefore,
)
from orders.placing.wish import place_once
from properties.models import Property

READ, WRITE = "orders:read", "orders:write"
SHOWN = ("assignments", WITH_REFERENCE)
CALLS_AT_ONCE = 4  # in one process, which has eight threads
_calling = BoundedSemaphore(CALLS_AT_ONCE)
KEY = "Idempotency-Key"
_KEY = re.compile(r"[\x21-\x7e]{1,255}")
KEY_OF_A_PLACEMENT = OpenApiParameter(
    KEY,
    str,
    OpenApiParameter.HEADER,
    required=True,
    description="A repeated key places no second order",
)
KEY_OF_A_CHANGE = OpenApiParameter(
    KEY,
    str,
    OpenApiParameter.HEADER,
    description="A repeated key sends again only what was certainly not done",
)


class OrderView(View):
    """A view about rows of the workspace."""

    def property_(self, reference: str) -> Property:
        """Return the property with this reference, or raise 404."""
        return get_object_or_404(self.within(Property.objects.all()), object_reference_id=reference)

    def order(self, order_id: str) -> Order:
        """Return the order with this id of the platform, or raise 404."""
        rows = self.within(Order.objects.prefetch_related(*SHOWN))
        return get_object_or_404(rows, platform_id=order_id)

    def key(self) -> str:
        """Return the idempotency key of the call, or "".

        Raises:
            Refused: the key is too long, or contains anything except visible ASCII.
        """
        said = self.request.headers.get(KEY, "")
        if said and not _KEY.fullmatch(said):
            text = "1 to 255 visible characters of ASCII, without a space."
            raise Refused(400, "bad_key", f"{KEY} must be {text}", [(KEY, text)])
        return said


class OrderQuery(PageQuery):
    """The filters of the list of orders."""

    # No choices: an unknown status of the platform is stored unchanged (A28).
    status = serializers.CharField(
        required=False, max_length=100, help_text="The status of the order, such as PLACED"
    )
    updated_since = MomentField(
        required=False, help_text="Read from the platform, or changed by a callback, since then"
    )
    reference = serializers.CharField(
        required=False, max_length=references.LIMIT, help_text="Orders of exactly this property"
    )


class OrderList(ListView[Order]):
    """All orders of the workspace."""

    scopes = {"GET": READ}
    query = OrderQuery
    serializer_class = OrderSerializer
    pagination_class = Pages

    @extend_schema(operation_id="orders_list", parameters=[OrderQuery])
    def get(self, request: Request) -> Response:
        """List orders with their assignments, in the order in which we learned of them."""
        return self.list(request)

    def get_queryset(self) -> QuerySet[Order]:
        """Return the orders that match the query, with their assignments."""
        rows = self.within(Order.objects.defer("observed").prefetch_related(*SHOWN))
        if status := self.asked.get("status"):
            rows = rows.filter(status=status)
        if reference := self.asked.get("reference"):
            mine = self.within(Property.objects.filter(object_reference_id=reference))
            tied = Order.objects.filter(real_estate_property__in=mine).values("pk")
            untied = rows.filter(real_estate_property=None, object_reference_id=reference)
            rows = rows.filter(pk__in=tied.union(untied.values("pk")))  # each along an index
        if since := self.asked.get("updated_since"):
            rows = rows.filter(_updated(since))
        return rows


def _updated(since: datetime) -> Q:
    """Select orders of which we learned something since then, by our clock."""
    lines = StatusChange.objects.filter(order=OuterRef("pk"), created_at__gte=since)
    parts = Assignment.objects.filter(order=OuterRef("pk"), read_at__gte=since)
    return Q(created_at__gte=since) | Q(read_at__gte=since) | Exists(lines) | Exists(parts)


class PropertyOrders(OrderView, ListView[Order]):
    """The orders of a property."""

    scopes = {"GET": READ}
    serializer_class = OrderSerializer
    pagination_class = NewestFirst

    @extend_schema(operation_id="properties_orders")
    def get(self, request: Request, reference: str) -> Response:
        """List the orders of a property with their assignments, the newest first."""
        return self.list(request)

    def get_queryset(self) -> Any:
        """Return the orders of the property with their assignments."""
        if getattr(self, "swagger_fake_view", False):  # the schema has no address
            return Order.objects.none()
        mine = self.property_(self.kwargs["reference"])
        rows = Order.objects.filter(real_estate_property=mine)
        return rows.defer("observed").prefetch_related(*SHOWN)


class PropertyMaterials(OrderView, QueryView):
    """The materials of a property, without pages."""

    query = Strict

    scopes = {"GET": READ}

    @extend_schema(operation_id="properties_materials", responses=MaterialsSerializer)
    def get(self, request: Request, reference: str) -> Response:
        """List the latest materials of a property, and the materials generated for it."""
        row = self.property_(reference)
        return _materials([*of_property(row), *marketing_of_property(row)])


class Placements(OrderView):
    """New orders for a property."""

    scopes = {"POST": WRITE}

    @extend_schema(
        operation_id="placements_post",
        request=PlaceSerializer,
        responses={200: PlacementSerializer, 202: PlacementSerializer, 204: WITHOUT_READ},
        parameters=[KEY_OF_A_PLACEMENT],
    )
    def post(self, request: Request, reference: str) -> Response:
        """Place an order, at most once for each key. A worker sends it."""
        self.property_(reference)
        if not (key := self.key()):
            text = "It names the order, so that a repeated call does not order twice."
            raise Refused(400, "key_missing", f"{KEY} is missing. {text}", [(KEY, "is missing")])
        given = _read(PlaceSerializer(data=request.data))
        with _told():
            placement, is_new = place_once(
                self.token.workspace,
                key=key,
                program=str(self.token),
                reference=reference,
                user=given["user"],
                products=given["products"],
                instructions=given.get("instructions", {}),
                now=timezone.now(),
            )
        status = 202 if is_new else 200
        address = reverse("api_placement", kwargs={"placement_id": placement.pk})
        return self.written(
            READ,
            lambda: Response(PlacementSerializer(placement).data, status=status),
            {"Location": address},
        )


class OnePlacement(OrderView):
    """One placement."""

    scopes = {"GET": READ}

    @extend_schema(operation_id="placements_get", responses=PlacementSerializer)
    def get(self, request: Request, placement_id: int) -> Response:
        """Read a placement: its state, its problem, and its order."""
        rows = self.within(Placement.objects.select_related("order"))
        return Response(PlacementSerializer(get_object_or_404(rows, pk=placement_id)).data)


class OneOrder(OrderView):
    """One order, by the platform's id."""

    scopes = {"GET": READ}

    @extend_schema(operation_id="orders_get", responses=OrderSerializer)
    def get(self, request: Request, order_id: str) -> Response:
        """Read an order with its assignments."""
        return Response(OrderSerializer(self.order(order_id)).data)


class OrderMaterials(OrderView, QueryView):
    """The materials of an order, without pages."""

    query = Strict

    scopes = {"GET": READ}

    @extend_schema(operation_id="orders_materials", responses=MaterialsSerializer)
    def get(self, request: Request, order_id: str) -> Response:
        """List the materials of an order, in the sequence of delivery."""
        return _materials(of_order(self.order(order_id)))


class ChangeView(OrderView):
    """A change of an order: sent once, in the name of a user of the platform (A34)."""

    scopes = {"POST": WRITE}

    def changed(
        self, order_id: str, change: Callable[..., Order], body: BaseSerializer[Any]
    ) -> Response:
        """Send the change and return the order as it is afterwards."""
        order, key, given = self.order(order_id), self.key(), _read(body)
        name = f"{change.__name__} {order.pk} {key}"
        token = uuid5(self.token.workspace.uuid, name) if key else uuid4()
        try:
            with _told():
                change(order, program=str(self.token), token=token, now=timezone.now(), **given)
        except Refused as refused:
            done = ChangeRequest.objects.filter(token=token, outcome=ChangeRequest.Outcome.DONE)
            if refused.get_codes() != "already_sent" or not done.exists():
                raise
        return self.written(READ, lambda: Response(OrderSerializer(self.order(order_id)).data))


class Reschedule(ChangeView):
    """A reschedule."""

    @extend_schema(
        operation_id="orders_reschedule",
        request=RescheduleSerializer,
        responses={200: OrderSerializer, 204: WITHOUT_READ},
        parameters=[KEY_OF_A_CHANGE],
    )
    def post(self, request: Request, order_id: str) -> Response:
        """Request another appointment."""
        body = RescheduleSerializer(data=request.data)
        return self.changed(order_id, changes.reschedule, body)


class Cancel(ChangeView):
    """A cancellation."""

    @extend_schema(
        operation_id="orders_cancel",
        request=CancelSerializer,
        responses={200: OrderSerializer, 204: WITHOUT_READ},
        parameters=[KEY_OF_A_CHANGE],
    )
    def post(self, request: Request, order_id: str) -> Response:
        """Cancel an order."""
        return self.changed(order_id, changes.cancel, CancelSerializer(data=request.data))


def _read(body: BaseSerializer[Any]) -> dict[str, Any]:
    body.is_valid(raise_exception=True)
    return dict(body.validated_data)


def _materials(sets: list[Any]) -> Response:
    return Response({"items": MaterialSetSerializer(sets, many=True).data})


@contextmanager
def _told() -> Iterator[None]:
    """Answer with the reason if an order could not be placed or changed.

    The platform is called in the block and may be slow. At most `CALLS_AT_ONCE` requests wait for
    it, so that its delay does not slow down every page.
    """
    if not _calling.acquire(blocking=False):
        raise Refused(503, "busy", "Other calls wait for the platform. Try again soon.", wait=5)
    try:
        yield
    except NoSuchChoice as error:
        raise Refused(422, "no_such_choice", str(error)) from error
    except KeyReused as error:
        raise Refused(422, "key_reused", f"{KEY}: {error}.") from error
    except RefusedBefore as error:
        raise Refused(409, "refused_by_platform", str(error)) from error
    except AlreadySent as error:
        raise Refused(409, "already_sent", str(error)) from error
    except OutcomeUnknown as error:
        raise Refused(504, "outcome_unknown", str(error)) from error
    finally:
        _calling.release()

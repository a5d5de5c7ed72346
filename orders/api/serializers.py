"""The serializers of orders, assignments, materials, placements and request bodies."""

from typing import Any

from django.urls import reverse
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from crm_sync.api.body import MomentField, Strict
from crm_sync.platform.problems import explain
from orders.models import (
    Assignment,
    Material,
    MaterialFile,
    MaterialSet,
    Order,
    Placement,
    PlacementState as State,
)
from orders.models.placement import OPEN_STATES
from orders.placing.duplicates import already_ordered
from orders.placing.session_offer import total

Role = MaterialFile.Role


class AssignmentSerializer(serializers.ModelSerializer[Assignment]):
    """One unit of work of an order."""

    id = serializers.CharField(source="platform_id")
    type = serializers.CharField(source="assignment_type")
    actionRequired = serializers.CharField(source="action_required")  # noqa: N815 - wire names
    scheduledAt = serializers.DateTimeField(source="scheduled_at", allow_null=True)  # noqa: N815
    estimatedDeliveryDate = serializers.DateField(  # noqa: N815
        source="estimated_delivery_date", allow_null=True
    )
    photographer = serializers.DictField(help_text="id, name, email, phone, as far as known")
    withdrawnAt = serializers.DateTimeField(  # noqa: N815
        source="withdrawn_at",
        allow_null=True,
        help_text="Since when the platform has it no longer",
    )
    products = serializers.ListField(child=serializers.CharField())

    class Meta:
        model = Assignment
        fields = (
            *("id", "type", "status", "actionRequired", "products", "scheduledAt"),
            *("estimatedDeliveryDate", "photographer", "withdrawnAt"),
        )


class OrderSerializer(serializers.ModelSerializer[Order]):
    """An order, as stored here."""

    id = serializers.CharField(source="platform_id")
    reference = serializers.CharField()
    userId = serializers.CharField(source="user_platform_id")  # noqa: N815
    placedAt = serializers.DateTimeField(source="placed_at", allow_null=True)  # noqa: N815
    readAt = serializers.DateTimeField(source="read_at", allow_null=True)  # noqa: N815
    problem = serializers.SerializerMethodField()
    assignments = AssignmentSerializer(many=True)

    class Meta:
        model = Order
        fields = (
            *("id", "reference", "userId", "status", "placedAt", "readAt", "problem"),
            "assignments",
        )

    def get_problem(self, row: Order) -> str:
        """Return why its last read failed, or ""."""
        return str(explain(row.problem)) if row.problem else ""


class StoredFileSerializer(serializers.ModelSerializer[MaterialFile]):
    """A file of a material that is stored here, and the address of its bytes."""

    address = serializers.SerializerMethodField()
    mimeType = serializers.CharField(source="content_type")  # noqa: N815
    size = serializers.IntegerField(allow_null=True, help_text="Bytes")
    sha256 = serializers.CharField(source="digest")

    class Meta:
        model = MaterialFile
        fields = ("address", "mimeType", "size", "sha256")

    def get_address(self, row: MaterialFile) -> str:
        """Return the path of its bytes in this API."""
        return reverse("api_file", kwargs={"file_id": row.pk})


class MaterialSerializer(serializers.ModelSerializer[Material]):
    """A file, or a tour that has an address and no file."""

    id = serializers.CharField(source="platform_id")
    fileName = serializers.CharField(source="file_name")  # noqa: N815
    mimeType = serializers.CharField(source="mime_type")  # noqa: N815
    size = serializers.IntegerField(allow_null=True, help_text="Bytes")
    thumbnailUrl = serializers.CharField(source="thumbnail_url")  # noqa: N815
    modifiedAt = serializers.DateTimeField(source="modified_at", allow_null=True)  # noqa: N815
    withdrawnAt = serializers.DateTimeField(  # noqa: N815
        source="withdrawn_at",
        allow_null=True,
        help_text="Since when the platform lists it no longer",
    )
    file = serializers.SerializerMethodField()

    class Meta:
        model = Material
        fields = (
            *("id", "fileName", "mimeType", "size", "url", "thumbnailUrl", "modifiedAt"),
            *("withdrawnAt", "file"),
        )

    @extend_schema_field(StoredFileSerializer(allow_null=True))
    def get_file(self, row: Material) -> Any:
        """Return the file that is stored here, null if there is none."""
        stored = [one for one in row.files.all() if one.name and one.role == Role.FILE]
        return StoredFileSerializer(stored[0]).data if stored else None


class MaterialSetSerializer(serializers.ModelSerializer[MaterialSet]):
    """Materials that were announced together."""

    order = serializers.CharField(source="order.platform_id", allow_null=True, default=None)
    visualType = serializers.CharField(source="visual_type")  # noqa: N815
    targetPlatform = serializers.CharField(source="target_platform")  # noqa: N815
    readyAt = serializers.DateTimeField(source="ready_at")  # noqa: N815
    materials = MaterialSerializer(many=True)

    class Meta:
        model = MaterialSet
        fields = ("order", "product", "visualType", "targetPlatform", "readyAt", "materials")


class MaterialsSerializer(serializers.Serializer[Any]):
    """The delivered materials, in sets."""

    items = MaterialSetSerializer(many=True)


class AmountSerializer(serializers.Serializer[Any]):
    """An amount of money as text, since a float could lose cents."""

    amount = serializers.CharField()
    currency = serializers.CharField(help_text='"" where the platform names none')


class TotalSerializer(serializers.Serializer[Any]):
    """The sum in each currency, and the number of pieces without a price."""

    amounts = AmountSerializer(many=True)
    unpriced = serializers.IntegerField()


class PlacementSerializer(serializers.ModelSerializer[Placement]):
    """An order on its way to the platform. It has an `order` once it is PLACED."""

    reference = serializers.CharField(source="object_reference_id")
    state = serializers.ChoiceField(State.choices)
    isConfirmed = serializers.SerializerMethodField()  # noqa: N815
    problem = serializers.SerializerMethodField()
    order = serializers.CharField(source="order.platform_id", allow_null=True, default=None)
    products = serializers.ListField(
        child=serializers.DictField(), help_text="As the platform offers them, and a quantity"
    )
    sum = serializers.SerializerMethodField()
    instructions = serializers.DictField(child=serializers.CharField())
    warnings = serializers.SerializerMethodField()
    createdAt = serializers.DateTimeField(source="created_at")  # noqa: N815
    sentAt = serializers.DateTimeField(source="sent_at", allow_null=True)  # noqa: N815

    class Meta:
        model = Placement
        fields = (
            *("id", "reference", "state", "isConfirmed", "problem", "order", "products", "sum"),
            *("instructions", "warnings", "createdAt", "sentAt"),
        )

    def get_isConfirmed(self, row: Placement) -> bool:  # noqa: N802
        """Return whether it was confirmed, so that a worker sends it or has sent it."""
        return row.state not in OPEN_STATES

    def get_problem(self, row: Placement) -> str:
        """Return what is wrong, or ""."""
        return str(explain(row.problem)) if row.problem else ""

    @extend_schema_field(TotalSerializer)
    def get_sum(self, row: Placement) -> dict[str, Any]:
        """Return the total cost of the products."""
        return total(row.products).document

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_warnings(self, row: Placement) -> list[str]:
        """Return the open orders with the same products, or none once it was sent."""
        if row.state not in (*OPEN_STATES, State.CONFIRMED):
            return []
        return [str(one) for one in already_ordered([row])[0]]


class InstructionsSerializer(Strict):
    """The ids of the chosen options. If one is missing, the first option is used (A32)."""

    billing = serializers.CharField(required=False, max_length=255)
    organization = serializers.CharField(required=False, max_length=255)
    delivery = serializers.CharField(required=False, max_length=255)


class PlaceSerializer(Strict):
    """The user and the products of a new order."""

    user = serializers.CharField(max_length=255, help_text="A platform id or a userReferenceId")
    products = serializers.ListField(
        child=serializers.CharField(max_length=255),
        min_length=1,
        max_length=100,
        help_text="Ids, or values such as GROUND_PHOTO; one named twice is ordered twice",
    )
    instructions = InstructionsSerializer(required=False)


class CancelSerializer(Strict):
    """The user who cancels an order, and the reason."""

    user = serializers.CharField(max_length=255, help_text="A platform id or a userReferenceId")
    reason = serializers.CharField(max_length=2000, required=False)


class RescheduleSerializer(CancelSerializer):
    """The appointment to move. Without `assignment`, all appointments that can be moved (A49)."""

    assignment = serializers.CharField(max_length=255, required=False)
    proposedAt = MomentField(required=False, source="proposed_at")  # noqa: N815

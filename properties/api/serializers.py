"""The shapes of a property, a change and a conflict in the API, in the platform's names."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from crm_sync.platform.problems import explain
from properties.api.property_schema import READ
from properties.domain import owners
from properties.domain.difference import smallest_patch
from properties.models import Change, Conflict, Property
from properties.models.property import ProblemKind, SyncState

# Any JSON, including null: with "or null", null would match twice, which is no match.
VALUE = {"allow_null": False, "help_text": "A value of the field at `path`, null for none"}


@extend_schema_field(READ)
class Document(serializers.DictField):
    """A property in the platform's names."""


class ProblemSerializer(serializers.Serializer[Any]):
    """Why a field waits for a person; the path is "" for the whole property."""

    kind = serializers.ChoiceField(ProblemKind.choices)
    path = serializers.CharField()
    message = serializers.CharField()


class ConflictSerializer(serializers.ModelSerializer[Conflict]):
    """A field that both sides changed, with all three values (I4)."""

    since = serializers.DateTimeField(source="created_at")

    class Meta:
        model = Conflict
        fields = ("path", "ours", "base", "theirs", "since")
        extra_kwargs = dict.fromkeys(("ours", "base", "theirs"), VALUE)


class SummarySerializer(serializers.ModelSerializer[Property]):
    """A property in a list."""

    reference = serializers.CharField(source="object_reference_id", allow_null=True)
    platformId = serializers.CharField(source="platform_id", allow_null=True)  # noqa: N815 - wire
    state = serializers.ChoiceField(SyncState.choices, source="sync_state")
    problems = serializers.SerializerMethodField()
    createdAt = serializers.DateTimeField(source="created_at")  # noqa: N815
    readAt = serializers.DateTimeField(source="read_at", allow_null=True)  # noqa: N815
    pushedAt = serializers.DateTimeField(source="pushed_at", allow_null=True)  # noqa: N815

    class Meta:
        model = Property
        fields: tuple[str, ...] = (
            *("reference", "platformId", "revision", "state", "problems"),
            *("createdAt", "readAt", "pushedAt"),
        )

    @extend_schema_field(ProblemSerializer(many=True))
    def get_problems(self, row: Property) -> list[dict[str, str]]:
        """Return each problem of each field."""
        return [
            {"kind": kind, "path": path, "message": str(explain(problem))}
            for kind, path, problem in row.problems
        ]


class PropertySerializer(SummarySerializer):
    """All that is known of a property."""

    desired = Document(help_text="What we want")
    observed = Document(help_text="What the platform last confirmed")
    cannotClear = serializers.SerializerMethodField()  # noqa: N815
    conflicts = serializers.SerializerMethodField()

    class Meta(SummarySerializer.Meta):
        fields = (*SummarySerializer.Meta.fields, "desired", "observed", "cannotClear", "conflicts")

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_cannotClear(self, row: Property) -> list[str]:  # noqa: N802
        """Return the fields that the platform keeps, since no PATCH can say what we want (A12)."""
        return sorted(smallest_patch(row, owners.of(row), blocked=()).unsendable)

    @extend_schema_field(ConflictSerializer(many=True))
    def get_conflicts(self, row: Property) -> Any:
        """Return the open conflicts."""
        rows = Conflict.objects.filter(real_estate_property=row, decision="").order_by("path")
        return ConflictSerializer(rows, many=True).data


class ChangeSerializer(serializers.ModelSerializer[Change]):
    """One change; the creation of a property has the path "" and its whole document in `new`."""

    by = serializers.CharField(source="who", help_text="A person, or “API: ” and a token's name")

    class Meta:
        model = Change
        fields = ("at", "revision", "path", "old", "new", "origin", "by", "note")
        extra_kwargs = dict.fromkeys(("old", "new"), VALUE)

"""Sets of announced materials, and the materials in them."""

from django.db import models
from django.utils import timezone

from crm_sync.models.due import DueModel, due_index, no_half_lease
from crm_sync.models.problem import ProblemField
from orders.models.assignment import Assignment
from orders.models.order import Order


class MaterialSet(DueModel):
    """One VISUALS_READY or MARKETING_MATERIALS_READY. Its list is fetched at `due_at`."""

    workspace = models.ForeignKey("crm_sync.Workspace", on_delete=models.PROTECT)
    order = models.ForeignKey(
        Order, null=True, blank=True, on_delete=models.PROTECT, related_name="material_sets"
    )
    assignment = models.ForeignKey(
        Assignment, null=True, blank=True, on_delete=models.PROTECT, related_name="material_sets"
    )
    property_platform_id = models.CharField(max_length=255, blank=True, default="")
    real_estate_property = models.ForeignKey(
        "properties.Property",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        verbose_name="property",
    )
    product = models.CharField(max_length=100, blank=True, default="")
    visual_type = models.CharField(max_length=100, blank=True, default="")
    target_platform = models.CharField(max_length=100, blank=True, default="")
    ready_at = models.DateTimeField(help_text="By the platform's clock")
    fetched_at = models.DateTimeField(
        null=True, blank=True, help_text="When its list last brought something new, by our clock"
    )
    # The reads since the last request that listed nothing of this set. Failed reads count as
    # attempts.
    empty_reads = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    was_expected = models.BooleanField(
        default=False,
        db_default=False,
        editable=False,
        help_text="Its list was asked for since its assignment was delivered",
    )
    problem = ProblemField(blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["assignment", "product", "visual_type"],
                condition=models.Q(assignment__isnull=False),
                name="one_set_of_visuals",
            ),
            models.UniqueConstraint(
                fields=["workspace", "property_platform_id", "target_platform"],
                condition=models.Q(assignment__isnull=True),
                name="one_set_of_marketing_materials",
            ),
            no_half_lease("material_set"),
            models.CheckConstraint(
                condition=models.Q(due_at__isnull=False)
                | models.Q(fetched_at__isnull=False)
                | ~models.Q(problem=""),
                name="announced_materials_are_fetched_or_say_why_not",
            ),
        ]
        indexes = [
            due_index("material_set"),
        ]

    def __str__(self) -> str:
        what = self.target_platform or f"{self.product} {self.visual_type}"
        return f"{what} ({self.pk})"


class Material(models.Model):
    """One delivered item (A38, A40): a file, or a tour that has an address and no file."""

    material_set = models.ForeignKey(
        MaterialSet, on_delete=models.PROTECT, related_name="materials"
    )
    platform_id = models.CharField("material", max_length=255)
    product = models.CharField(max_length=100, blank=True, default="")
    visual_type = models.CharField(max_length=100, blank=True, default="")
    target_platform = models.CharField(max_length=100, blank=True, default="")
    file_name = models.TextField(blank=True, default="")
    mime_type = models.CharField(max_length=255, blank=True, default="")
    size = models.BigIntegerField(null=True, blank=True)
    url = models.TextField(blank=True, default="")
    thumbnail_url = models.TextField(blank=True, default="")
    modified_at = models.DateTimeField(null=True, blank=True)
    withdrawn_at = models.DateTimeField(
        null=True, blank=True, help_text="Since when a whole list of the platform lacks it"
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["material_set", "platform_id"], name="one_material_per_id"
            )
        ]

    def __str__(self) -> str:
        return f"material {self.platform_id}"

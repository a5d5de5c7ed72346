"""A file of a material, as we store it."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from crm_sync.models.due import DueModel, due_index, no_half_lease
from crm_sync.models.problem import SentenceField
from orders.models.material import Material


class MaterialFile(DueModel):
    """One file that is wanted here. It is downloaded at `due_at`.

    `name` is empty until the whole file is in the storage (I27). A newer version is downloaded
    beside the present file, and then replaces it.
    """

    class Role(models.TextChoices):
        FILE = "FILE", _("file")
        THUMBNAIL = "THUMBNAIL", _("thumbnail")

    workspace = models.ForeignKey("crm_sync.Workspace", on_delete=models.PROTECT)
    material = models.ForeignKey(Material, on_delete=models.PROTECT, related_name="files")
    role = models.CharField(max_length=20, choices=Role.choices)
    name = models.CharField(max_length=255, blank=True, default="", help_text="In the storage")
    content_type = models.CharField(max_length=100, blank=True, default="")
    size = models.BigIntegerField(null=True, blank=True, help_text="Bytes")
    digest = models.CharField(max_length=64, blank=True, default="", help_text="SHA-256")
    modified_at = models.DateTimeField(
        null=True, blank=True, help_text="Of the version that is stored, by the platform's clock"
    )
    stored_at = models.DateTimeField(null=True, blank=True)
    problem = SentenceField(blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name = _("material file")
        verbose_name_plural = _("material files")
        constraints = [
            models.UniqueConstraint(
                fields=["material", "role"], name="one_file_of_a_material_in_each_role"
            ),
            no_half_lease("material_file"),
            models.CheckConstraint(
                condition=models.Q(name="", stored_at=None, digest="")
                | ~models.Q(name="") & models.Q(stored_at__isnull=False) & ~models.Q(digest=""),
                name="stored_file_has_a_name_and_a_digest",
            ),
            models.CheckConstraint(
                condition=models.Q(due_at__isnull=False)
                | ~models.Q(name="")
                | ~models.Q(problem=""),
                name="wanted_files_are_stored_or_say_why_not",
            ),
        ]
        indexes = [
            due_index("material_file"),
            # The overview and the list of files count the files that a person has to check.
            models.Index(
                fields=["workspace"],
                condition=models.Q(due_at=None, name=""),
                name="material_file_with_a_person",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_role_display()} {self.pk}"

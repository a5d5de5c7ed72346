"""The targets of a workspace: where delivered files are uploaded, and which file is where."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.models.due import DueModel, due_index, no_half_lease
from crm_sync.models.problem import SentenceField
from crm_sync.secrets import EncryptedTextField
from orders.models.material import Material


class TargetKind(models.TextChoices):
    """What a target is, which says how a file gets there."""

    FOLDER = "FOLDER", _("Folder of the server")
    SFTP = "SFTP", "SFTP"
    FTPS = "FTPS", "FTPS"
    WEBDAV = "WEBDAV", "WebDAV"
    S3 = "S3", _("Storage with S3")


class Quality(models.TextChoices):
    """Which of the two qualities of a picture a target takes (A52)."""

    BOTH = "BOTH", _("Both")
    HD = "HD", _("HD: for print")
    WEB = "WEB", _("WEB: for pages")


class Content(models.TextChoices):
    """Which types of files a target takes."""

    ALL = "ALL", _("Pictures and documents")
    PICTURES = "PICTURES", _("Pictures")
    DOCUMENTS = "DOCUMENTS", _("Everything but pictures")


class Target(DueModel):
    """A place of another system. The row is the queue of its files.

    From `due_at` on a file may be uploaded, so a target that does not answer waits alone.
    `attempts` counts the failures since the last success. A person asks for a test with
    `is_test_asked`.
    """

    workspace = models.ForeignKey(
        "crm_sync.Workspace", verbose_name=_("workspace"), on_delete=models.PROTECT
    )
    name = models.CharField(
        _("name"), max_length=100, help_text=_("For people, such as the name of the other system.")
    )
    kind = models.CharField(_("kind"), max_length=10, choices=TargetKind, default=TargetKind.SFTP)
    address = models.CharField(
        _("address"),
        max_length=500,
        help_text=_(
            "sftp://…, ftps://…, https://… for WebDAV, https://server/bucket for S3, or a folder of"
            " the server that TARGET_FOLDERS names."
        ),
    )
    region = models.CharField(
        _("region"), max_length=50, blank=True, default="", help_text=_("Of S3, such as eu-west-1.")
    )
    user = models.CharField(
        _("user"), max_length=200, blank=True, default="", help_text=_("For S3 the access key.")
    )
    secret = EncryptedTextField(blank=True, default="")
    # The key of an SFTP server at the first connection.
    host_key = models.TextField(blank=True, default="", editable=False)
    pattern = models.CharField(
        _("names of the files"), max_length=200, default="{reference}/{product}/{nn}"
    )
    products = models.JSONField(_("products"), default=list, blank=True)
    quality = models.CharField(
        _("quality of photos"), max_length=10, choices=Quality, default=Quality.BOTH
    )
    content = models.CharField(
        _("types of files"), max_length=10, choices=Content, default=Content.ALL
    )
    longest_edge = models.PositiveIntegerField(
        _("longest edge in pixels"),
        null=True,
        blank=True,
        validators=[MinValueValidator(100), MaxValueValidator(20_000)],
        help_text=_("Larger JPEG, PNG and WebP pictures are made smaller; empty to leave them."),
    )
    is_enabled = models.BooleanField(_("upload new files"), default=True)
    is_test_asked = models.BooleanField(default=False, editable=False)
    tested_at = models.DateTimeField(null=True, blank=True, editable=False)
    uploaded_at = models.DateTimeField(null=True, blank=True, editable=False)
    failing_since = models.DateTimeField(null=True, blank=True, editable=False)
    problem = SentenceField(blank=True, default="", editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("target")
        verbose_name_plural = _("targets")
        constraints = [
            no_half_lease("target"),
            models.CheckConstraint(
                condition=Q(kind__in=TargetKind.values), name="target_has_a_known_kind"
            ),
            models.CheckConstraint(
                condition=Q(quality__in=Quality.values, content__in=Content.values),
                name="target_takes_known_files",
            ),
            models.CheckConstraint(
                condition=Q(due_at__isnull=False), name="target_has_a_time_for_its_files"
            ),
        ]
        indexes = [due_index("target")]

    def __str__(self) -> str:
        return gettext("target %(number)s") % {"number": self.pk}


class TargetFile(models.Model):
    """A stored file of a material that is wanted at a target, and the version that is there.

    `name` is chosen before the first byte is sent, and stays: a newer version replaces the file.
    Only the holder of the lease of the target writes it; any process may set `due_at`.
    """

    workspace = models.ForeignKey("crm_sync.Workspace", on_delete=models.PROTECT)
    target = models.ForeignKey(
        Target, on_delete=models.PROTECT, related_name="files", db_index=False
    )
    material = models.ForeignKey(Material, on_delete=models.PROTECT, related_name="target_files")
    name = models.TextField(blank=True, default="", help_text="At the target, with its folders")
    # Of the name as a file system compares it: two materials never have the same.
    name_digest = models.CharField(max_length=64, blank=True, default="")
    digest = models.CharField(
        max_length=64, blank=True, default="", help_text="SHA-256 of the version that is there"
    )
    size = models.BigIntegerField(null=True, blank=True, help_text="Bytes that were sent")
    uploaded_at = models.DateTimeField(null=True, blank=True)
    due_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveIntegerField(default=0)
    problem = SentenceField(blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name = _("file at a target")
        verbose_name_plural = _("files at targets")
        constraints = [
            models.UniqueConstraint(
                fields=["target", "material"], name="one_file_of_a_material_at_a_target"
            ),
            models.UniqueConstraint(
                fields=["target", "name_digest"],
                condition=~Q(name_digest=""),
                name="one_material_for_a_name_at_a_target",
            ),
            models.CheckConstraint(
                condition=Q(digest="", uploaded_at=None)
                | ~Q(digest="") & ~Q(name_digest="") & Q(uploaded_at__isnull=False),
                name="uploaded_file_has_a_name_and_a_time",
            ),
            models.CheckConstraint(
                condition=Q(due_at__isnull=False) | ~Q(digest="") | ~Q(problem=""),
                name="files_for_a_target_are_there_or_say_why_not",
            ),
        ]
        indexes = [
            models.Index(
                fields=["target", "due_at"],
                condition=Q(due_at__isnull=False),
                name="target_file_due",
            ),
            # The overview counts the files that a person has to check.
            models.Index(
                fields=["workspace"],
                condition=Q(due_at=None) & ~Q(problem=""),
                name="target_file_with_a_person",
            ),
        ]

    def __str__(self) -> str:
        return gettext("file %(number)s at a target") % {"number": self.pk}

"""The senders of feeds to a workspace, and how to read their feeds."""

from django.core.validators import MinLengthValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class Reference(models.TextChoices):
    """The part of a record that identifies a property in IDX, SwissRETS and OpenImmo."""

    AUTO = (
        "AUTO",
        _(
            "In IDX property, house and object, or what named its objects until now; in SwissRETS"
            " its reference, or its id where that is repeated; in OpenImmo objektnr_extern"
        ),
    )
    OBJECT = "OBJECT", _("Its reference alone")
    TRIPLE = (
        "TRIPLE",
        _("In IDX property, house and object together, also where some are blank"),
    )
    INTERN = "INTERN", _("In OpenImmo objektnr_intern")
    OBID = "OBID", _("In OpenImmo openimmo_obid")


class Missing(models.TextChoices):
    """What happens to a property that its sender's full feed lacks. It is never deleted."""

    LIST = "LIST", _("List it, and leave it as it is")
    SET_STATE = "SET_STATE", _("Set its availability state")


_KEY = "SENDER_"


class Sender(models.Model):
    """A sender of feeds, with the facts that a file does not contain."""

    Reference = Reference
    Missing = Missing

    workspace = models.ForeignKey(
        "crm_sync.Workspace", verbose_name=_("workspace"), on_delete=models.PROTECT
    )
    name = models.CharField(_("name"), max_length=80)
    language = models.CharField(
        _("language"),
        max_length=2,
        default="de",
        validators=[MinLengthValidator(2)],
        help_text="Two letters. Of the texts in IDX, which has no place for their language.",
    )
    reference = models.CharField(
        _("what names a property"),
        max_length=10,
        choices=Reference,
        default=Reference.AUTO,
    )
    flags = models.JSONField(
        _("flags"),
        default=dict,
        blank=True,
        help_text="IDX: column to the field that its flag sets",
    )
    sheet = models.CharField(
        _("sheet"),
        max_length=31,
        blank=True,
        default="",
        help_text="Excel: empty takes the first with a table",
    )
    header_row = models.PositiveIntegerField(
        _("header row"), default=0, help_text="The row with the names of the columns; 0 finds it"
    )
    columns = models.JSONField(
        _("columns"),
        default=dict,
        blank=True,
        help_text="Tables: a column of the file to one of ours",
    )
    lenient = models.BooleanField(
        _("set bad values aside"),
        default=True,
        help_text=_("Otherwise one bad value refuses its record."),
    )
    missing = models.CharField(
        _("what a full feed lacks"), max_length=10, choices=Missing, default=Missing.LIST
    )
    missing_state = models.CharField(_("state to set"), max_length=20, blank=True, default="")

    class Meta:
        verbose_name = _("sender")
        verbose_name_plural = _("senders")
        ordering = ("name",)
        constraints = [
            models.UniqueConstraint(fields=["workspace", "name"], name="sender_has_its_name_once"),
            models.CheckConstraint(
                condition=~Q(missing=Missing.SET_STATE) | ~Q(missing_state=""),
                name="sender_that_sets_a_state_names_it",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def feed_key(self) -> str:
        """The value of `Property.fed_by` for properties from this sender, in any format."""
        return f"{_KEY}{self.pk}"

    @staticmethod
    def is_key(fed_by: str) -> bool:
        """Return whether `Property.fed_by` names a sender, and not a format."""
        return fed_by.startswith(_KEY)

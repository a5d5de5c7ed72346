"""The users of the platform, who order, reschedule and cancel there (§2.5)."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from crm_sync.models.due import DueModel, no_half_lease
from crm_sync.models.problem import ProblemField
from crm_sync.translated import Text


def acting(platform_id: str, reference: str) -> dict[str, str]:
    """Return the one member of a body that names a user: the reference if there is no id (A34).

    The platform refuses a body with both members, and a body without any.
    """
    return {"userId": platform_id} if platform_id else {"userReferenceId": reference}


class PlatformUser(models.Model):
    """The mirror of one user of the platform, and our account of the same person.

    A user who is gone remains while orders or placements name them. Otherwise `KEEP_DAYS` limits
    how long.
    """

    workspace = models.ForeignKey("crm_sync.Workspace", on_delete=models.PROTECT)
    # "" only if the row is not stored: the platform gave a reference and no id.
    platform_id = models.CharField("id", max_length=255)
    user_reference_id = models.CharField("reference", max_length=255, blank=True, default="")
    name = models.CharField(max_length=255, blank=True, default="")
    email = models.CharField("e-mail", max_length=255, blank=True, default="")
    language = models.CharField(max_length=255, blank=True, default="")
    phone = models.CharField(max_length=255, blank=True, default="")
    country = models.CharField(max_length=255, blank=True, default="")
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="platform_users",
        help_text="Who this is among our own accounts. Orders of that account act as this user.",
    )
    is_tied_by_hand = models.BooleanField(
        default=False, help_text="Somebody chose the account, or that it is nobody's"
    )
    seen_in = models.PositiveIntegerField(default=0, help_text="The last walk that showed it")
    seen_at = models.DateTimeField(default=timezone.now)
    gone_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name = _("platform user")
        verbose_name_plural = _("platform users")
        constraints = [
            models.UniqueConstraint(fields=["workspace", "platform_id"], name="one_user_per_id"),
            models.CheckConstraint(
                condition=~models.Q(platform_id=""), name="user_of_the_platform_has_an_id"
            ),
        ]
        indexes = [
            models.Index(fields=["workspace", "user_reference_id"], name="user_reference"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.key})" if self.name else self.key

    @property
    def key(self) -> str:
        """The reference, or the id if there is none."""
        return self.user_reference_id or self.platform_id

    @property
    def acting(self) -> dict[str, str]:
        """The one member of a request body that names the acting user (A34)."""
        return acting(self.platform_id, self.user_reference_id)


NOTED: dict[str, Text] = {
    "gone": _("%(user)s, gone"),
    "not known here": _("%(user)s, not known here"),
}


@dataclass(frozen=True)
class Who:
    """A user of the platform, as shown to people.

    Attributes:
        key: the reference, or the id if there is none; "" for nobody.
        name: "" if it is unknown.
        note: "gone", "not known here" or "", a key of `NOTED`.
        pk: of its `PlatformUser`, if there is one.
    """

    key: str
    name: str = ""
    note: str = ""
    pk: int | None = None

    def __str__(self) -> str:
        text = f"{self.name} ({self.key})" if self.name else self.key
        return NOTED[self.note] % {"user": text} if self.note else text

    @classmethod
    def of(cls, user: PlatformUser | None, platform_id: str, reference: str = "") -> "Who":
        """Return the user that a row names by an id and a reference.

        Args:
            user: the user with this id, if we know one.
        """
        if user is not None:
            return cls(user.key, user.name, "gone" if user.gone_at else "", user.pk)
        key = reference or platform_id
        return cls(key, note="not known here" if key else "")


def named_user(related_name: str) -> "models.ForeignObject[Any, Any]":
    """Return the relation of a row to the user in its column `user_platform_id`.

    It has no column of its own. A row may name a user before any read has shown that user, so a
    foreign key would point to nothing. Load it by `prefetch_related`, which gives None for an
    unknown user. Without that, an unknown user raises DoesNotExist.
    """
    return models.ForeignObject(
        PlatformUser,
        from_fields=["workspace", "user_platform_id"],
        to_fields=["workspace", "platform_id"],
        on_delete=models.DO_NOTHING,
        null=True,
        editable=False,
        serialize=False,
        related_name=related_name,
    )


class UserList(DueModel):
    """How far a workspace's list of users was read. The next page is read at `due_at`.

    Pages may shift while they are read, so a walk may miss a user. A user is gone if they are
    missing in two complete walks in a row.
    """

    workspace = models.OneToOneField(
        "crm_sync.Workspace", on_delete=models.PROTECT, related_name="user_list"
    )
    page = models.PositiveIntegerField(default=0, help_text="The next page to read, zero-based")
    walk = models.PositiveIntegerField(default=1, help_text="The number of the walk under way")
    complete = models.PositiveIntegerField(default=0, help_text="The last complete walk; 0: none")
    listed = models.PositiveIntegerField(default=0, help_text="Users on the pages of this walk")
    set_aside = models.PositiveIntegerField(
        default=0, help_text="Entries of these pages that cannot be kept"
    )
    begun_at = models.DateTimeField(null=True, blank=True, help_text="When this walk began")
    asked_at = models.DateTimeField(null=True, blank=True, help_text="When a walk was asked for")
    read_at = models.DateTimeField(null=True, blank=True, help_text="The end of a complete walk")
    problem = ProblemField(blank=True, default="", help_text="Why the last read failed")

    class Meta:
        constraints = [
            no_half_lease("user_list"),
            models.CheckConstraint(
                condition=models.Q(due_at__isnull=False), name="user_list_is_read_again"
            ),
        ]

    def __str__(self) -> str:
        return f"users of workspace {self.workspace_id}"

"""The private address at which a person's calendar program reads the appointments."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext, gettext_lazy as _


class CalendarFeed(models.Model):
    """One row per person. The address is shown once, and only its digest is stored.

    Anyone with the address can read the appointments until it is renewed, the password changes, or
    the row is deleted.
    """

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="calendar_feed"
    )
    digest = models.CharField(max_length=64, unique=True, editable=False)
    only_mine = models.BooleanField(default=False, help_text="Only the orders of this person")
    # The digest of the password when the address was made: the address ends with that password. ""
    # if an earlier version made it.
    password_digest = models.CharField(max_length=128, default="", editable=False)
    created_at = models.DateTimeField(help_text="When the address was made, or renewed")

    class Meta:
        verbose_name = _("calendar address")
        verbose_name_plural = _("calendar addresses")

    def __str__(self) -> str:
        return gettext("calendar address of %(name)s") % {"name": self.person}

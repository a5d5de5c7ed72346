"""The token with which a program calls our API, in one workspace."""

from datetime import datetime

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class ApiToken(models.Model):
    """The token of one program. It is shown once, and only its digest is stored.

    It can be revoked but not deleted, because the history names it.
    """

    workspace = models.ForeignKey("crm_sync.Workspace", on_delete=models.PROTECT)
    name = models.CharField(max_length=100, help_text=_("Whose program it is, as the history says"))
    scopes = models.JSONField(default=list, help_text=_("What it may do, such as properties:read"))
    prefix = models.CharField(_("begins with"), max_length=12, editable=False)
    token_digest = models.CharField(max_length=64, unique=True, editable=False)
    expires_at = models.DateTimeField(_("valid until"), null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, editable=False
    )

    class Meta:
        verbose_name = _("API token")
        verbose_name_plural = _("API tokens")
        constraints = [
            models.UniqueConstraint(fields=["workspace", "name"], name="one_api_token_of_a_name")
        ]

    def __str__(self) -> str:
        return f"API: {self.name}"

    def is_valid(self, now: datetime) -> bool:
        """Return whether a call may use it. It ends with the account that created it (S17)."""
        if self.created_by is not None and not self.created_by.is_active:
            return False
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

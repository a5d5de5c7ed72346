"""Whose account at the provider of one login is which account here (S25)."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class ProviderAccount(models.Model):
    """A person of the provider. Only the pair of issuer and subject names one for ever."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="provider_account"
    )
    issuer = models.CharField(max_length=500)
    subject = models.CharField(max_length=255)

    class Meta:
        verbose_name = _("account at the provider")
        verbose_name_plural = _("accounts at the provider")
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                fields=["issuer", "subject"], name="one_account_per_subject_of_a_provider"
            )
        ]

    def __str__(self) -> str:
        return self.subject

"""The authenticator app of a person, with its key encrypted at rest (S5, S17)."""

from base64 import b32encode
from binascii import unhexlify
from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy as _
from django_otp.models import Device, DeviceManager, ThrottlingMixin, TimestampMixin
from django_otp.plugins.otp_totp.models import (
    TOTPDevice,
    default_key as new_key,  # a migration's name for it
)

from crm_sync.secrets import EncryptedTextField, SecretUnreadable


class AppManager(DeviceManager):  # type: ignore[misc]
    """Loads the key only when a code is compared. Each request reads the other columns."""

    def get_queryset(self) -> models.QuerySet[Any]:
        """Return the devices without keys, so that an unreadable key does not break a page."""
        rows: models.QuerySet[Any] = super().get_queryset().defer("key")
        return rows


class AuthenticatorApp(TimestampMixin, ThrottlingMixin, Device):  # type: ignore[misc]
    """TOTPDevice of django-otp on a table of ours: its column is too short for an encrypted key."""

    key = EncryptedTextField(default=new_key, editable=False)
    drift = models.SmallIntegerField(default=0, editable=False)  # of the phone's clock, in steps
    last_t = models.BigIntegerField(default=-1, editable=False)  # so that each code works only once

    objects = AppManager()
    step, t0, digits, tolerance = 30, 0, 6, 1  # all apps know these; the last is in steps
    verify_token = TOTPDevice.verify_token
    get_throttle_factor = TOTPDevice.get_throttle_factor
    config_url = TOTPDevice.config_url  # the key as an address that an app reads from a QR code
    _read_str_from_settings = TOTPDevice._read_str_from_settings

    class Meta:
        verbose_name = _("second factor")
        verbose_name_plural = _("second factors")

    @property
    def bin_key(self) -> bytes:
        """The key.

        Raises:
            SecretUnreadable: it cannot be decrypted, or is empty, as after `loaddata` (S5). Anybody
                can compute the codes of an empty key.
        """
        if not self.key:
            raise SecretUnreadable("the app has no key: it has to be set up again")
        return unhexlify(self.key)

    @property
    def secret(self) -> str:
        """The key for the app, in base 32."""
        return b32encode(self.bin_key).decode()

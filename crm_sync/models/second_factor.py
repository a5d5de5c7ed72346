"""The authenticator app of a person, with its key encrypted at rest (S5, S17)."""

import time
from base64 import b32encode
from binascii import unhexlify
from typing import Any
from urllib.parse import quote, urlencode

from django.conf import settings
from django.db import models
from django_otp.models import Device, DeviceManager, ThrottlingMixin, TimestampMixin
from django_otp.oath import TOTP
from django_otp.util import random_hex

from crm_sync.secrets import EncryptedTextField

TOLERANCE = 1  # steps of 30 seconds by which a phone's clock may be wrong


def new_key() -> str:
    """Return a new secret in hexadecimal, as long as RFC 4226 advises."""
    return str(random_hex(20))


class AppManager(DeviceManager):  # type: ignore[misc]
    """Loads the key only when a code is compared. Each request reads the other columns."""

    def get_queryset(self) -> models.QuerySet[Any]:
        """Return the devices without keys, so that an unreadable key does not break a page."""
        rows: models.QuerySet[Any] = super().get_queryset().defer("key")
        return rows


class AuthenticatorApp(TimestampMixin, ThrottlingMixin, Device):  # type: ignore[misc]
    """Like TOTPDevice of django-otp, whose column is too short for an encrypted key."""

    key = EncryptedTextField(default=new_key, editable=False)
    drift = models.SmallIntegerField(default=0, editable=False)  # of the phone's clock, in steps
    last_t = models.BigIntegerField(default=-1, editable=False)  # so that each code works only once

    objects = AppManager()

    class Meta:
        verbose_name = "second factor"

    @property
    def secret(self) -> str:
        """The key for the app, in base 32."""
        return b32encode(unhexlify(self.key)).decode()

    @property
    def config_url(self) -> str:
        """The key as an address that an app reads from a QR code."""
        issuer = settings.OTP_TOTP_ISSUER.replace(":", "")
        label = quote(f"{issuer}:{self.user.get_username()}")
        return f"otpauth://totp/{label}?{urlencode({'secret': self.secret, 'issuer': issuer})}"

    def verify_token(self, token: str) -> bool:
        """Return whether a code is right, and use it up. A wrong code delays the next try.

        Raises:
            SecretUnreadable: the key of the app cannot be decrypted.
        """
        if not self.verify_is_allowed()[0]:
            return False
        totp = TOTP(unhexlify(self.key), drift=self.drift)
        totp.time = time.time()
        # An empty key, as after `loaddata` (S5), would let everybody in.
        is_code = bool(self.key) and token.isdecimal()
        if not (is_code and totp.verify(int(token), TOLERANCE, self.last_t + 1)):
            self.throttle_increment()
            return False
        self.last_t, self.drift = totp.t(), totp.drift
        self.throttle_reset(commit=False)
        self.set_last_used_timestamp(commit=False)
        self.save()
        return True

    def get_throttle_factor(self) -> int:
        """Return the seconds to wait after the first wrong code."""
        return 1

"""Secrets at rest: encrypted in the database, rotatable, never shown (S5)."""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.apps import apps
from django.conf import settings
from django.db import models
from django.db.models.functions import Cast

from crm_sync.sentence import sentence


class SecretUnreadable(Exception):
    """No key in SECRET_KEYS_AT_REST decrypts a secret in the database."""


@lru_cache(maxsize=4)
def _fernet(keys: tuple[str, ...]) -> MultiFernet:
    try:
        return MultiFernet([Fernet(key) for key in keys])
    except ValueError:
        raise SecretUnreadable(
            sentence(
                "SECRET_KEYS_AT_REST holds something that is no Fernet key: each is 32 bytes in"
                " URL-safe base64, newest first, separated by commas"
            )
        ) from None


def encrypt(text: str) -> str:
    """Encrypt with the newest key. "" stays "", so that a check for a secret needs no key."""
    return (
        _fernet(tuple(settings.SECRET_KEYS_AT_REST)).encrypt(text.encode()).decode() if text else ""
    )


def decrypt(token: str) -> str:
    """Decrypt with any of the keys.

    Raises:
        SecretUnreadable: no key fits, since the key file or SECRET_KEYS_AT_REST was changed.
    """
    return _decrypted(token, tuple(settings.SECRET_KEYS_AT_REST)) if token else ""


@lru_cache(maxsize=256)  # each callback needs the same secret
def _decrypted(token: str, keys: tuple[str, ...]) -> str:
    try:
        return _fernet(keys).decrypt(token.encode()).decode()
    except InvalidToken:
        raise SecretUnreadable(
            sentence(
                "a stored secret cannot be decrypted: SECRET_KEYS_AT_REST lacks the key it was"
                " written with; put the old key back behind the new one, or enter the secret again"
            )
        ) from None


def is_newest(token: str) -> bool:
    """Return whether a stored secret was encrypted with the first of the keys."""
    try:
        _fernet(tuple(settings.SECRET_KEYS_AT_REST[:1])).decrypt(token.encode())
    except InvalidToken:
        return False
    return True


def rotated(token: str) -> str:
    """Return a stored secret, encrypted with the first of the keys.

    Raises:
        SecretUnreadable: as `decrypt` does.
    """
    return encrypt(decrypt(token))


def encrypted_columns() -> list[tuple[type[models.Model], str]]:
    """Return the columns of all apps that hold secrets."""
    return [
        (model, field.name)
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if isinstance(field, EncryptedTextField)
    ]


def stored(model: type[models.Model], name: str) -> list[tuple[Any, str]]:
    """Return the secrets of a column as they are stored, with the keys of their rows."""
    rows = model._default_manager.annotate(stored=Cast(name, models.TextField())).order_by("pk")
    return [(pk, token) for pk, token in rows.values_list("pk", "stored") if token]


class Secret(str):
    """A string whose `repr` is masked."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Secret('***')" if self else "Secret('')"


def several(text: str) -> list[str]:
    """Return the secrets of a column that holds several, a line each."""
    return [Secret(one) for one in text.split("\n") if one]


if TYPE_CHECKING:
    _TextField = models.TextField[str, str]
else:
    _TextField = models.TextField


class EncryptedTextField(_TextField):
    """A text column that is encrypted in the database."""

    def from_db_value(self, value: str | None, *_: Any) -> Secret | None:
        """Decrypt a value from the database."""
        return None if value is None else Secret(decrypt(value))

    def get_prep_value(self, value: Any) -> Any:
        """Encrypt a value for the database."""
        return None if value is None else encrypt(str(value))

    def value_to_string(self, obj: models.Model) -> str:
        """Omit the secret in `dumpdata`: another installation gets its own secrets."""
        return ""

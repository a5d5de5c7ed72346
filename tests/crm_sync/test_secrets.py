"""Secrets are unreadable at rest, can be rotated, and do not print themselves (S5)."""

import pytest
from cryptography.fernet import Fernet
from django.core import serializers
from django.db import connection

from crm_sync.models import Workspace
from crm_sync.secrets import Secret, SecretUnreadable, decrypt, encrypt

CANARIES = {
    "fixed_token": "canary-token",
    "client_secret": "canary-client",
    "auth_secret": "canary-sécret-\u4e2d",
    "previous_auth_secret": "canary-previous",
}


@pytest.fixture
def keys(settings) -> list[str]:
    """Return three keys; the first is in use."""
    found = [Fernet.generate_key().decode() for _ in range(3)]
    settings.SECRET_KEYS_AT_REST = [found[0]]
    return found


@pytest.fixture
def stored(db, keys) -> Workspace:
    return Workspace.objects.create(slug="main", base_url="http://x.test", **CANARIES)


def raw() -> str:
    """Return all that the database holds of the workspace."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM crm_sync_workspace")
        return repr(cursor.fetchall())


def read() -> dict[str, str]:
    workspace = Workspace.objects.get()
    return {name: getattr(workspace, name) for name in CANARIES}


def test_the_database_holds_no_secret_in_the_clear(stored):
    assert "canary" not in raw()
    assert read() == CANARIES


def test_no_secret_is_written_twice_alike(keys):
    assert encrypt("same") != encrypt("same")
    assert decrypt(encrypt("same")) == "same"


def test_no_secret_is_an_empty_text(db, keys):
    Workspace.objects.create(slug="none", base_url="http://x.test")
    assert read() == dict.fromkeys(CANARIES, "")
    assert (encrypt(""), decrypt("")) == ("", "")


def test_after_a_rotation_the_old_secrets_are_read_and_new_ones_use_the_new_key(
    stored, keys, settings
):
    settings.SECRET_KEYS_AT_REST = [keys[1], keys[0]]
    assert read() == CANARIES
    Workspace.objects.get().save()
    settings.SECRET_KEYS_AT_REST = [keys[1]]
    assert read() == CANARIES


def test_a_lost_key_says_what_to_do(stored, keys, settings):
    settings.SECRET_KEYS_AT_REST = [keys[2]]
    with pytest.raises(SecretUnreadable) as caught:
        Workspace.objects.get()
    assert str(caught.value) == (
        "a stored secret cannot be decrypted: SECRET_KEYS_AT_REST lacks the key it was"
        " written with; put the old key back behind the new one, or enter the secret again"
    )
    settings.SECRET_KEYS_AT_REST = [keys[2], keys[0]]
    assert read() == CANARIES


def test_a_secret_that_somebody_tampered_with_is_unreadable(keys):
    token = encrypt("secret")
    with pytest.raises(SecretUnreadable):
        decrypt(token[:-4] + "AAAA")


def test_a_secret_does_not_print_itself(stored):
    workspace = Workspace.objects.get()
    assert repr(workspace.fixed_token) == "Secret('***')"
    assert repr([Secret(""), Secret("a")]) == "[Secret(''), Secret('***')]"
    assert f"{workspace!r} {workspace}" == "<Workspace: main> main"
    assert "canary" not in repr(vars(workspace))
    assert "canary" not in repr(workspace.client().__dict__)


def test_no_dump_of_the_data_holds_a_secret(stored):
    assert "canary" not in serializers.serialize("json", Workspace.objects.all())

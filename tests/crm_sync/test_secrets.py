"""Secrets are unreadable at rest, can be rotated, and do not print themselves (S5)."""

import json
from io import StringIO

import pytest
from cryptography.fernet import Fernet
from django.core import serializers
from django.core.management import CommandError, call_command
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
    """Return all that the database holds of the workspaces, the oldest first."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM crm_sync_workspace ORDER BY id")
        return repr(cursor.fetchall())


def read() -> dict[str, str]:
    workspace = Workspace.objects.get()
    return {name: getattr(workspace, name) for name in CANARIES}


@pytest.mark.rule("S5")
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


@pytest.mark.rule("S5")
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


@pytest.mark.rule("S5")
def test_no_dump_of_the_data_holds_a_secret(stored):
    assert "canary" not in serializers.serialize("json", Workspace.objects.all())


# --- rotate_keys ---
def rotate(*options: str) -> dict:
    out = StringIO()
    call_command("rotate_keys", "--json", *options, stdout=out)
    return json.loads(out.getvalue())


@pytest.mark.rule("S5")
def test_rotated_secrets_are_read_without_the_old_key(stored, keys, settings):
    settings.SECRET_KEYS_AT_REST = [keys[1], keys[0]]
    assert rotate() == {"encrypted": 4, "newest": 0, "unreadable": []}
    assert rotate() == {"encrypted": 0, "newest": 4, "unreadable": []}
    settings.SECRET_KEYS_AT_REST = [keys[1]]
    assert read() == CANARIES
    assert "canary" not in raw()


def test_a_dry_run_writes_nothing(stored, keys, settings):
    before = raw()
    settings.SECRET_KEYS_AT_REST = [keys[1], keys[0]]
    assert rotate("--dry-run") == {"encrypted": 4, "newest": 0, "unreadable": []}
    assert raw() == before


def test_what_no_key_decrypts_is_named_and_left_and_the_others_are_rotated(stored, keys, settings):
    settings.SECRET_KEYS_AT_REST = [keys[2]]
    other = Workspace.objects.create(slug="other", base_url="http://x.test", fixed_token="new")
    settings.SECRET_KEYS_AT_REST = [keys[1], keys[2]]
    before = raw().partition("'other'")[0]
    with pytest.raises(CommandError) as failed:
        call_command("rotate_keys")
    assert (str(failed.value), failed.value.returncode) == ("no key decrypts 4 of them", 3)
    assert raw().partition("'other'")[0] == before
    settings.SECRET_KEYS_AT_REST = [keys[1]]
    assert Workspace.objects.get(pk=other.pk).fixed_token == "new"


def test_a_secret_that_is_none_stays_none(db, keys):
    Workspace.objects.create(slug="none", base_url="http://x.test")
    assert rotate() == {"encrypted": 0, "newest": 0, "unreadable": []}

"""Our own address is tried as the platform calls it, and nothing is stored by that (§5.2, S9)."""

import ssl
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import time_machine
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.test import Client

from crm_sync.inbox.test_mark import TEST_HEADER, is_ours, sign
from crm_sync.models import ReceivedEvent, Workspace
from crm_sync.platform import transport
from crm_sync.webhook import probe as webhook_probe
from crm_sync.webhook.probe import ProbeStep, probe
from tests.conftest import OURS, _keeping_connections
from tests.crm_sync.sockets import free_port, saying, serving
from tests.platforms import Between

GOOD = [
    ProbeStep("A wrong secret is refused", True, "401 not authenticated"),
    ProbeStep("The right secret is taken", True, "400 empty body"),
]
SECRET = "canary-sécret+with/odd&chars"


@pytest.fixture
def here(settings) -> Between:
    """Mount our own application under our public address."""
    from config.wsgi import application

    settings.PUBLIC_BASE_URL = OURS
    settings.ALLOWED_HOSTS = ["crm.test", "testserver"]
    return Between(_keeping_connections(application), OURS)


@pytest.fixture
def hook(db) -> Workspace:
    return Workspace.objects.create(slug="main", base_url="http://x.test", auth_secret=SECRET)


def untouched(workspace: Workspace) -> bool:
    workspace.refresh_from_db()
    refused = (workspace.refused_callbacks, workspace.last_refusal)
    return refused == (0, "") and not ReceivedEvent.objects.exists()


def failing(workspace: Workspace) -> str:
    *_, last = probe(workspace)
    assert last.is_good is False
    assert SECRET not in last.text
    return last.text


@pytest.mark.parametrize("auth_type", ["HEADER", "BEARER_TOKEN", "QUERY_PARAMETER"])
def test_an_address_that_works_says_so_and_nothing_is_stored_or_counted(here, hook, auth_type):
    Workspace.objects.update(auth_type=auth_type, auth_header_name="X-Odd")
    hook.refresh_from_db()
    assert probe(hook) == GOOD
    assert untouched(hook)


def test_without_a_secret_there_is_nothing_to_try(here, hook):
    Workspace.objects.update(auth_secret="")
    hook.refresh_from_db()
    assert failing(hook) == "None is stored yet: configure the webhook."


@pytest.mark.parametrize("allowed", [True, False])
def test_no_authentication_works_only_where_it_is_allowed(here, hook, settings, allowed):
    settings.CALLBACK_ALLOW_NONE = allowed
    Workspace.objects.update(auth_type="NONE", auth_secret="")
    hook.refresh_from_db()
    (step,) = probe(hook)
    assert (step.is_good, step.text.startswith("400 empty body")) == (allowed, allowed)
    assert untouched(hook)


def test_a_proxy_that_drops_the_header_is_named(here, hook):
    here.before = lambda environ: environ.pop("HTTP_X_API_KEY", None) and None
    assert failing(hook) == (
        "401 not authenticated, where 400 empty body belongs."
        " The secret does not get through: a proxy may drop the header or the query."
    )
    assert untouched(hook)


def test_another_installation_at_our_address_is_named(here, hook):
    elsewhere = Workspace(slug="elsewhere", auth_secret=SECRET, auth_type="HEADER")
    assert "Another installation answers" in failing(elsewhere)


def test_an_address_that_lets_everybody_in_is_named(here, hook):
    body = b'{"error": "empty body"}'
    here.before = lambda _: ("400 Bad Request", [("Content-Type", "application/json")], body)
    wrong, right = probe(hook)
    assert (wrong.is_good, right.is_good) == (False, True)
    assert "Anybody who knows the address" in wrong.text


@pytest.mark.parametrize("auth_type", ["HEADER", "QUERY_PARAMETER"])
def test_a_redirect_is_told_with_its_target_and_without_the_secret(here, hook, auth_type):
    Workspace.objects.update(auth_type=auth_type)
    hook.refresh_from_db()
    target = f"https://elsewhere.test/?token={SECRET}"
    here.before = lambda _: ("301 Moved", [("Location", target)], b"")
    text = failing(hook)
    assert text.startswith("It redirects (301) to https://elsewhere.test/?token=***")


@pytest.mark.parametrize("body", [b"<h1>welcome</h1>", b"[]", b'{"error": 1}', b"\xff", b""])
def test_what_is_not_this_application_is_told(here, hook, body):
    here.before = lambda _: ("200 OK", [], body)
    assert failing(hook).startswith("200, but that was not this application")


def test_nobody_at_the_address_is_told(hook, settings):
    settings.PUBLIC_BASE_URL = f"http://127.0.0.1:{free_port()}"
    assert failing(hook).endswith("cannot connect")


def test_an_address_that_does_not_answer_in_time_is_told(hook, settings, monkeypatch):
    monkeypatch.setattr(webhook_probe, "DEADLINE", 0.3)
    with serving(saying()) as silent:
        settings.PUBLIC_BASE_URL = silent.url
        assert failing(hook).endswith("no whole answer within 0.3 s")


def test_a_certificate_that_nobody_vouches_for_is_told(hook, settings, tmp_path):
    port = free_port()
    threading.Thread(target=_serve_tls, args=(port, tmp_path), daemon=True).start()
    settings.PUBLIC_BASE_URL = f"https://localhost:{port}"
    for _ in range(50):
        text = failing(hook)
        if "cannot connect" not in text:
            break
        time.sleep(0.1)  # until the server listens
    assert text == "The certificate is not accepted: self-signed certificate"


def _serve_tls(port: int, folder: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain
    ) + certificate.public_bytes(serialization.Encoding.PEM)
    (folder / "pem").write_bytes(pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "pem")
    import socket

    with socket.create_server(("127.0.0.1", port)) as listener:
        while True:
            connection, _ = listener.accept()
            try:
                context.wrap_socket(connection, server_side=True).close()
            except OSError:
                connection.close()


# --- the mark ---
def test_only_our_own_fresh_mark_keeps_a_refusal_from_being_counted(here, hook, settings):
    def refusals(mark: str | None) -> int:
        Workspace.objects.update(refused_callbacks=0)
        headers = {} if mark is None else {TEST_HEADER: mark}
        path = f"/webhooks/{hook.uuid}/"
        answer = Client().post(path, b"", content_type="application/json", headers=headers)
        assert answer.status_code == 401
        hook.refresh_from_db()
        return hook.refused_callbacks

    mark = sign()
    assert (refusals(mark), refusals(None), refusals("x" * 5000), refusals("a:b:c")) == (0, 1, 1, 1)
    with time_machine.travel(datetime.now(UTC) + timedelta(seconds=62)):
        assert refusals(mark) == 1
    settings.SECRET_KEY = "another-installation"
    assert is_ours(mark) is False


def test_the_mark_lets_nobody_in(here, hook):
    path = f"/webhooks/{hook.uuid}/"
    headers = {TEST_HEADER: sign()}
    answer = Client().post(path, b'{"a":1}', content_type="application/json", headers=headers)
    assert (answer.status_code, ReceivedEvent.objects.count()) == (401, 0)
    assert transport.MOUNTS  # nothing of this went to a network

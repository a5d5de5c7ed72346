"""The nginx block of docs/operations.md, run as it stands there, in front of the real web."""

import os
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import requests
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.journeys.callers import SECRET
from tests.processes import ROOT, Installation, free_port, wait_until

pytestmark = [pytest.mark.processes, pytest.mark.once]

SURROUNDINGS = """
daemon off;
user {user};
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{}}
http {{
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {block}
}}
"""


@dataclass
class Front:
    """nginx, the callback address behind it, and the folder of its logs."""

    port: int
    path: str
    certificate: Path
    logs: Path
    installation: Installation

    def call(self, path: str, body, **options) -> requests.Response:
        url = f"https://localhost:{self.port}{path}"
        return requests.post(url, data=body, verify=self.certificate, timeout=5, **options)

    def connect(self) -> ssl.SSLSocket:
        context = ssl.create_default_context(cafile=str(self.certificate))
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        return context.wrap_socket(plain, server_hostname="localhost")

    def head(self, *headers: str) -> bytes:
        lines = [f"POST {self.path}?token={SECRET} HTTP/1.1", "Host: localhost", *headers, "", ""]
        return "\r\n".join(lines).encode()

    def log(self) -> str:
        return "".join(one.read_text() for one in self.logs.glob("*.log"))


def documented_block() -> str:
    return re.findall(r"```nginx\n(.*?)```", (ROOT / "docs/operations.md").read_text(), re.DOTALL)[
        0
    ]


def certify(folder: Path) -> None:
    """Write a certificate of localhost that vouches for itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    made = made.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), False)
    signed = made.sign(key, hashes.SHA256())
    form = serialization.Encoding.PEM
    (folder / "crm.example.com.pem").write_bytes(signed.public_bytes(form))
    plain = serialization.NoEncryption()
    text = key.private_bytes(form, serialization.PrivateFormat.PKCS8, plain)
    (folder / "crm.example.com.key").write_bytes(text)


def configuration(folder: Path, port: int, installation: Installation) -> str:
    block = documented_block()
    for theirs, ours in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("/etc/ssl/", f"{folder}/"),
        ("/var/log/nginx/", f"{folder}/"),
        ("crm.example.com;", "localhost;"),
        ("127.0.0.1:8000", f"127.0.0.1:{installation.web_port}"),
        ("127.0.0.1:8001", f"127.0.0.1:{installation.callbacks_port}"),
    ):
        assert theirs in block
        block = block.replace(theirs, ours)
    user = "root" if os.geteuid() == 0 else "nobody"  # the folder is for this user alone
    return SURROUNDINGS.format(user=user, folder=folder, block=block)


@pytest.fixture
def front(tmp_path: Path, database_url) -> Iterator[Front]:
    command = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if command is None:
        assert os.environ.get("CI") != "true", "nginx is not installed: apt-get install nginx-light"
        pytest.skip("nginx is not installed")
    port, folder = free_port(), tmp_path / "nginx"
    folder.mkdir()
    certify(folder)
    public = {"PUBLIC_BASE_URL": f"https://localhost:{port}", "SECURE_HSTS_SECONDS": "60"}
    installation = Installation(tmp_path, database_url, **public)
    path = "/" + installation.run("-m", "tests.journeys.hook").split()[-1].split("/", 3)[3]
    installation.run("-c", BY_QUERY)
    settings = folder / "nginx.conf"
    settings.write_text(configuration(folder, port, installation))
    for kind in ("web", "callbacks"):
        installation.start_procfile(kind)
    with subprocess.Popen([command, "-c", str(settings)]) as nginx:
        found = Front(port, path, folder / "crm.example.com.pem", folder, installation)
        try:
            wait_until("nginx listens", lambda: _listens(port), limit=10)
            yield found
        finally:
            nginx.terminate()
            installation.stop()


BY_QUERY = """
import django
django.setup()
from crm_sync.models import Workspace
Workspace.objects.update(auth_type="QUERY_PARAMETER")
"""


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=0.2).close()
    except OSError:
        return False
    return True


def test_callbacks_arrive_through_the_documented_nginx_however_they_are_sent(front):
    query = f"{front.path}?token={SECRET}"
    assert front.call(query, b'{"n": 1}').status_code == 200
    assert front.call(query, iter([b'{"n"', b": 2}"])).status_code == 200  # chunked
    with front.connect() as slow:
        slow.sendall(front.head("Content-Length: 8"))
        for byte in b'{"n": 3}':
            slow.sendall(bytes([byte]))
            time.sleep(0.1)
        assert slow.recv(65536).startswith(b"HTTP/1.1 200")
    assert front.call(query, b"x" * 300_000).status_code == 413  # our own limit
    assert SECRET not in front.log()
    assert f"POST {front.path} 200" in front.log()


def test_two_hundred_halves_at_nginx_keep_nobody_waiting(front):
    halves = [front.connect() for _ in range(200)]
    for number, one in enumerate(halves):
        one.sendall(front.head("Content-Length: 9")[: -2 if number % 2 else None])
    answers = [
        front.call(f"{front.path}?token={SECRET}", b'{"n": %d}' % n).status_code for n in range(20)
    ]
    assert answers == [200] * 20
    for one in halves:
        one.close()


def test_a_browser_behind_it_is_known_to_come_by_https(front):
    """Whatever it says of that itself."""
    address = f"https://localhost:{front.port}/admin/login/"
    browser = requests.Session()
    browser.trust_env, browser.verify = False, str(front.certificate)
    page = browser.get(address, timeout=5, headers={"X-Forwarded-Proto": "http"})
    assert page.headers["Strict-Transport-Security"] == "max-age=60"  # said over https alone
    (token,) = [one for one in browser.cookies if one.name == "__Host-csrftoken"]
    assert token.secure
    form = {"username": "a", "password": "b", "csrfmiddlewaretoken": token.value}
    origin = {"Origin": f"https://localhost:{front.port}", "Referer": address}
    assert browser.post(address, form, headers=origin, timeout=5).status_code == 200


def test_callbacks_have_a_process_of_their_own_and_the_web_takes_them_while_it_is_away(front):
    query = f"{front.path}?token={SECRET}"
    front.installation.freeze("web")
    assert front.call(query, b'{"n": 1}').status_code == 200
    front.installation.thaw("web")
    front.installation.freeze("callbacks")
    body = b'{"n": 2}'
    url = f"https://localhost:{front.port}{query}"
    assert requests.post(url, body, verify=front.certificate, timeout=25).status_code == 200
    front.installation.kill("callbacks")
    assert front.call(query, b'{"n": 3}').status_code == 200


def test_a_loop_of_logins_ends_at_nginx_and_other_pages_open(front):
    address = f"https://localhost:{front.port}"
    browser = requests.Session()
    browser.trust_env, browser.verify = False, str(front.certificate)
    codes = [browser.get(f"{address}/admin/login/", timeout=5).status_code for _ in range(60)]
    assert codes[:31] == [200] * 31  # a burst of thirty is an office in the morning
    assert codes[-1] == 429
    assert browser.get(f"{address}/healthz", timeout=5).status_code == 200


def test_what_is_too_large_ends_at_nginx_and_no_log_has_the_secret_while_the_web_is_away(front):
    query = f"{front.path}?token={SECRET}"
    with front.connect() as large:
        large.sendall(front.head("Content-Length: 35000000"))
        assert large.recv(65536).startswith(b"HTTP/1.1 413")
    front.installation.stop()
    wait_until("502", lambda: front.call(query, b"{}").status_code == 502, limit=10)
    assert SECRET not in front.log()

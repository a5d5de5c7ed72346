"""nginx with the block of docs/operations.md as it stands there, in front of the real web."""

import os
import re
import shutil
import socket
import ssl
import subprocess
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

# The least connections of those that Debian (768) and the image (1,024) set.
SURROUNDINGS = """
daemon off;
user {user};
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{ worker_connections 768; }}
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
        """Longer than nginx waits for two servers, so that a test sees its answer."""
        url = f"https://localhost:{self.port}{path}"
        return requests.post(url, data=body, verify=self.certificate, timeout=25, **options)

    def connect(self) -> ssl.SSLSocket:
        context = ssl.create_default_context(cafile=str(self.certificate))
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        return context.wrap_socket(plain, server_hostname="localhost")

    def head(self, *headers: str) -> bytes:
        lines = [f"POST {self.path}?token={SECRET} HTTP/1.1", "Host: localhost", *headers, "", ""]
        return "\r\n".join(lines).encode()

    def post(self, body: bytes) -> requests.Response:
        """Send a callback as the platform does."""
        return self.call(f"{self.path}?token={SECRET}", body)

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

"""A file is asked for outside of our own network alone, however its address is written (S13)."""

import contextlib
import re
import socket
import ssl
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from crm_sync.platform import outside
from crm_sync.platform.addresses import is_public
from crm_sync.platform.errors import RejectedError, TransientError
from crm_sync.platform.outside import RequestOptions
from tests.crm_sync.sockets import (
    OK,
    Server,
    Talk,
    answering,
    free_port,
    full_port,
    saying,
    serving,
)

HERE = ["127.0.0.1"]
INSIDE = "the address leads into our own network"


def body_of(url: str, *, inside=HERE, deadline: float = 2.0, **headers: str) -> bytes:
    with outside.get(url, RequestOptions(headers, inside), deadline=deadline) as answer:
        assert answer.status == 200
        return b"".join(answer.chunks())


@pytest.mark.parametrize(
    "ip",
    [
        *("127.0.0.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254"),
        *("100.64.0.1", "192.0.2.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"),
        *("::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fec0::1", "ff02::1"),
        *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "2001:db8::1"),
        *("64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::", "2001:0:1::1"),
        *("::ffff:1.1.1.1", "::ffff:0:1.1.1.1", "::FFFF:0101:0101", "192.88.99.1"),
        *("3fff::1", "3fff:fff:ffff::1", "5f00::1"),
    ],
)
def test_an_address_of_our_network_is_not_public_in_whatever_form(ip):
    assert is_public(ip) is False


@pytest.mark.parametrize("ip", ["1.1.1.1", "192.88.98.255", "2606:4700::1111", "4000::1"])
def test_an_address_of_the_internet_is_public(ip):
    assert is_public(ip) is True


@pytest.mark.rule("S13")
@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0", "LOCALHOST"),
        *("localhost", "[::1]", "[::ffff:127.0.0.1]", "user@127.0.0.1", "1.1.1.1@127.0.0.1"),
    ],
)
def test_no_way_to_write_the_loopback_leads_to_it(host):
    with serving(answering(b"secret")) as server:
        with pytest.raises(RejectedError, match=INSIDE):
            body_of(f"https://{host}:{server.port}/", inside=[])
        assert server.requests == []


@pytest.mark.parametrize("host", ["[::1]", "127.0.0.1", "localhost"])
def test_an_address_without_a_port_is_checked_as_it_is_written(host):
    with pytest.raises(RejectedError, match=f"{INSIDE}: {re.escape(host.strip('[]'))}$"):
        body_of(f"https://{host}/", inside=[])


def test_one_private_address_among_several_is_enough_to_refuse(monkeypatch):
    answer(monkeypatch, [["1.1.1.1", "10.0.0.1"]])
    with pytest.raises(RejectedError, match=INSIDE):
        body_of("https://cdn.test/", inside=[])


@pytest.mark.rule("S13")
def test_a_name_that_answers_differently_the_second_time_is_asked_once(monkeypatch):
    with serving(answering(b"secret")) as server:
        # Public, and assigned to nobody.
        asked = answer(monkeypatch, [["4000::1"], ["127.0.0.1"]])
        started = time.monotonic()
        with pytest.raises(TransientError):
            body_of(f"https://cdn.test:{server.port}/", inside=[], deadline=0.3)
        assert time.monotonic() - started < 1.0
        assert (asked, server.requests) == (["cdn.test"], [])


def test_all_addresses_of_a_name_have_one_deadline(monkeypatch):
    ips = [f"127.0.0.{number}" for number in range(1, 9)]
    answer(monkeypatch, [ips, ips])
    with full_port() as port:
        started = time.monotonic()
        with pytest.raises(TransientError):
            body_of(f"http://cdn.test:{port}/", inside=["cdn.test"], deadline=0.3)
        with pytest.raises(TimeoutError):
            outside.connect("cdn.test", port, ["cdn.test"], timeout=0.3)
        assert time.monotonic() - started < 1.6


def answer(monkeypatch, ips: list[list[str]]) -> list[str]:
    """Let names resolve to these, one list after the other; return the names that are asked."""
    asked: list[str] = []
    real, left = socket.getaddrinfo, list(ips)

    def resolve(host, port, *args, **how):
        if host != "cdn.test":
            return real(host, port, *args, **how)
        asked.append(host)
        kind = (socket.AF_INET, socket.SOCK_STREAM, 6, "")
        return [(*kind, (ip, port)) for ip in left.pop(0)]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return asked


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://1.1.1.1/a.jpg", "not encrypted"),
        ("ftp://1.1.1.1/a.jpg", "not encrypted"),
        ("file:///etc/passwd", "not encrypted"),
        ("javascript:alert(1)", "not encrypted"),
        ("//1.1.1.1/a", "not a web address"),
        ("a.jpg", "not a web address"),
        ("https://", "not a web address"),
        ("https://1.1.1.1:port/", "not a web address"),
    ],
)
def test_what_is_no_encrypted_web_address_is_refused(url, told):
    with pytest.raises(RejectedError, match=told):
        body_of(url)


@pytest.mark.rule("S13")
@pytest.mark.parametrize(
    ("target", "error", "told"),
    [
        ("https://localhost:{port}/", RejectedError, INSIDE),
        ("http://169.254.169.254/latest/meta-data/", RejectedError, "not encrypted"),
        ("https://169.254.169.254/latest/meta-data/", RejectedError, INSIDE),
        ("file:///etc/passwd", RejectedError, "not encrypted"),
        ("/again", RejectedError, "leads on more than 3 times"),
        ("http://[x", RejectedError, "not a web address"),
    ],
)
def test_each_redirect_is_checked_like_the_first_address(target, error, told):
    with serving(answering(b"secret")) as other:
        headers = f"Location: {target.format(port=other.port)}"
        redirect = answering(b"", headers, status="302 Found")
        with serving(redirect) as server, pytest.raises(error, match=told):
            body_of(server.url)
        assert other.requests == []


def test_a_redirect_to_where_we_may_ask_is_followed_without_any_token(monkeypatch):
    with serving(answering(b"whole")) as other:
        location = f"Location: {other.url}/b.jpg?x=1"
        with serving(answering(b"", location, status="307 Temporary Redirect")) as server:
            assert body_of(f"{server.url}/a b.jpg", Range="bytes=1-") == b"whole"
    (first,), (second,) = server.requests, other.requests
    assert first.startswith(b"GET /a%20b.jpg HTTP/1.1\r\n")
    assert second.startswith(b"GET /b.jpg?x=1 HTTP/1.1\r\n")
    for request in (first, second):
        assert b"authorization" not in request.lower()
        assert b"cookie" not in request.lower()
        assert b"Range: bytes=1-" in request
    assert f"Host: 127.0.0.1:{other.port}\r\n".encode() in second


@pytest.mark.parametrize("letter", ["ü".encode(), "ü".encode("latin-1"), b"%C3%BC"])
def test_a_redirect_to_a_name_with_a_letter_is_followed_however_it_is_written(letter):
    moved = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /f%br.jpg\r\n\r\n" % letter

    def talk(connection: socket.socket) -> None:
        is_first = server.requests[-1].startswith(b"GET / ")
        connection.sendall(moved if is_first else OK + b"Content-Length: 5\r\n\r\nwhole")

    with serving(talk) as server:
        assert body_of(server.url) == b"whole"
    assert server.requests[1].startswith(b"GET /f%C3%BCr.jpg HTTP/1.1\r\n")


@pytest.mark.parametrize("name", ["127.0.0.1:{port}", "127.0.0.1"])
def test_a_host_that_is_named_may_be_asked_and_no_other(name):
    with serving(answering(b"whole")) as server, serving(answering(b"secret")) as other:
        inside = [name.format(port=server.port)]
        assert body_of(server.url, inside=inside) == b"whole"
        if ":" in inside[0]:
            with pytest.raises(RejectedError, match="not encrypted"):
                body_of(other.url, inside=inside)


@pytest.mark.parametrize(
    "talk",
    [
        pytest.param(saying(), id="no answer"),
        pytest.param(saying(OK, *[b"X-A: b\r\n"] * 100, pause=0.05), id="a head that drips"),
        pytest.param(saying(OK + b"\r\n", *[b"x"] * 100, pause=0.05), id="a body that drips"),
        pytest.param(
            saying(OK + b"Content-Length: 99\r\n\r\n", *[b"x"] * 99, pause=0.05), id="with a length"
        ),
    ],
)
def test_what_does_not_end_is_cut_at_the_deadline(talk):
    with serving(talk) as server:
        started = time.monotonic()
        with pytest.raises(TransientError, match="not all of it came in time"):
            body_of(server.url, deadline=0.3)
        assert time.monotonic() - started < 1.0


def test_what_breaks_off_before_its_length_is_no_file():
    talk = saying(OK + b"Content-Length: 9\r\n\r\nhalf", close=True)
    with serving(talk) as server, pytest.raises(TransientError, match=r"failed: it broke off$"):
        body_of(server.url)


def test_nobody_there_is_an_error_to_try_again():
    with pytest.raises(TransientError, match=r"^the connection failed: nobody answers there$"):
        body_of(f"http://127.0.0.1:{free_port()}/")
    with pytest.raises(TransientError, match=r"the name nowhere\.invalid is not known"):
        body_of("https://nowhere.invalid/")


def certificate(folder: Path, name: str) -> Path:
    """Return a file with a key and a certificate for a name, which only itself has signed."""
    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    built = x509.CertificateBuilder(who, who, key.public_key(), 1)
    built = built.not_valid_before(datetime.now(UTC) - timedelta(days=1))
    built = built.not_valid_after(datetime.now(UTC) + timedelta(days=1))
    built = built.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    signed = built.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)
    plain = (Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path = folder / "certificate.pem"
    path.write_bytes(key.private_bytes(*plain) + signed)
    return path


def secure(talk: Talk, pem: Path, base: type[Server] = Server) -> Server:
    """Return a server that speaks TLS with that certificate, and otherwise does as `base` does."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)

    class Secure(base):
        def _serve(self, connection: socket.socket) -> None:
            with contextlib.suppress(OSError):
                super()._serve(context.wrap_socket(connection, server_side=True))

    return Secure(talk)


@pytest.mark.rule("S13")
@pytest.mark.parametrize(
    ("name", "is_trusted", "arrives"),
    [("localhost", True, True), ("localhost", False, False), ("another.test", True, False)],
)
def test_the_certificate_must_be_that_of_the_name_that_was_asked(
    tmp_path, settings, name, is_trusted, arrives
):
    pem = certificate(tmp_path, name)
    if is_trusted:
        settings.CA_BUNDLE = str(pem)
    server = secure(answering(b"whole"), pem)
    try:
        url = f"https://localhost:{server.port}/"
        if arrives:
            assert body_of(url, inside=["localhost"]) == b"whole"
        else:
            with pytest.raises(TransientError, match="failed: its certificate is not accepted"):
                body_of(url, inside=["localhost"])
    finally:
        server.close()


def test_a_network_that_is_named_may_be_asked_over_https_and_no_other():
    with serving(answering(b"secret")) as server:
        with pytest.raises(RejectedError, match=INSIDE):
            body_of(f"https://127.0.0.1:{server.port}/", inside=["127.1.0.0/16", "10.0.0.0/8"])
        assert server.requests == []
    assert outside.resolve("127.0.0.1", 1, ["127.0.0.0/8", "::1/128"], within=1) == ["127.0.0.1"]


def test_what_is_private_goes_to_the_first_address_and_to_no_other_server():
    options = RequestOptions(inside=HERE, private={"Authorization": "Basic secret"})
    with serving(answering(b"whole")) as other:
        location = f"Location: {other.url}/feed"
        with (
            serving(answering(b"", location, status="302 Found")) as server,
            outside.get(server.url, options, deadline=2.0) as answer,
        ):
            assert b"".join(answer.chunks()) == b"whole"
    (first,), (second,) = server.requests, other.requests
    assert b"Authorization: Basic secret" in first
    assert b"Authorization" not in second


def test_a_server_that_falls_silent_is_given_up_before_the_deadline():
    options = RequestOptions(inside=HERE, silence=0.1)
    with serving(saying(OK + b"Content-Length: 9\r\n\r\nhalf")) as server:
        started = time.monotonic()
        with (
            pytest.raises(TransientError, match=r"failed: no answer came in time$"),
            outside.get(server.url, options, deadline=30.0) as answer,
        ):
            list(answer.chunks())
        assert time.monotonic() - started < 5.0

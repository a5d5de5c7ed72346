"""A file comes from each kind of server: whole, only if it is another, each refusal in words."""

import base64
import hmac
import io
import itertools
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path

import paramiko
import pytest
import requests
import time_machine

from crm_sync.platform.errors import RejectedError, TransientError
from properties.sources.address import parsed
from properties.sources.fetch import fetch, sftp
from properties.sources.fetch.transfer import Fetched, FileVersion, Place, Sink, StillUploaded
from tests.crm_sync.sockets import OK, answering, free_port, saying, serving
from tests.crm_sync.test_outside import certificate
from tests.properties.sources.servers import (
    PASSWORD,
    USER,
    ftp_server,
    greeting,
    host_keys,
    listing,
    sftp_server,
)

HERE = ["127.0.0.1", "localhost"]
FEED = b"IDX3.01#" + b"x" * 300_000
LONG_AGO = time.time() - 86_400
NOTHING = FileVersion()


ROOT = Path(__file__).parents[3]


def got(
    url: str,
    known: FileVersion = NOTHING,
    *,
    limit: int = 10**6,
    check: Callable[[], float] = lambda: 60.0,
    **place: object,
) -> tuple[bytes, Fetched | None]:
    """Fetch; return the bytes that came and what came with them."""
    whole: dict[str, object] = {"user": USER, "secret": PASSWORD, "inside": HERE} | place
    file = io.BytesIO()
    found = fetch(Place(parsed(url), **whole), known, Sink(file, limit, check))  # type: ignore[arg-type]
    return file.getvalue(), found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "served"
    put(place / "out" / "unload.txt", FEED)
    return place


def put(path: Path, content: bytes, at: float = LONG_AGO) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (at, at))


@contextmanager
def local(folder: Path) -> Iterator[str]:
    yield str(folder)


@contextmanager
def by_ftp(folder: Path) -> Iterator[str]:
    with ftp_server(folder) as port:
        yield f"ftp://127.0.0.1:{port}"


@contextmanager
def by_sftp(folder: Path) -> Iterator[str]:
    with sftp_server(folder) as port:
        yield f"sftp://127.0.0.1:{port}"


FILES = pytest.mark.parametrize("served", [local, by_ftp, by_sftp])
SERVERS = pytest.mark.parametrize("served", [by_ftp, by_sftp])
Served = Callable[[Path], AbstractContextManager[str]]


# --- files of a file system, near or far ---
@FILES
def test_a_file_comes_whole_and_the_second_time_only_if_it_is_another(folder, served: Served):
    ask = partial(got, folders=[str(folder)])
    with served(folder) as root:
        content, first = ask(f"{root}/out/unload.txt")
        assert (content, first.name, first.beside) == (FEED, "unload.txt", ())
        assert ask(f"{root}/out/unload.txt", first.stamp) == (b"", None)
        put(folder / "out" / "unload.txt", b"y" * len(FEED), LONG_AGO + 5)
        content, second = ask(f"{root}/out/unload.txt", first.stamp)
        assert content == b"y" * len(FEED)
        assert second.stamp != first.stamp


@FILES
def test_a_file_that_was_just_written_is_fetched_again(folder, served: Served):
    put(folder / "out" / "unload.txt", FEED, time.time() - 90)
    with served(folder) as root:
        _, found = got(f"{root}/out/unload.txt", folders=[str(folder)])
        assert found.stamp == NOTHING
        assert got(f"{root}/out/unload.txt", found.stamp, folders=[str(folder)])[0] == FEED


@FILES
@pytest.mark.parametrize("ago", [5, -1800], ids=["a moment ago", "by a clock ahead of ours"])
def test_a_file_that_may_still_be_uploaded_waits(folder, served: Served, ago):
    put(folder / "out" / "unload.txt", FEED[:5000], time.time() - ago)
    with served(folder) as root, pytest.raises(StillUploaded, match="it may still be uploaded"):
        got(f"{root}/out/unload.txt", folders=[str(folder)])


@FILES
def test_a_file_from_the_future_is_taken_all_the_same(folder, served: Served):
    put(folder / "out" / "unload.txt", FEED, time.time() + 86_400)
    with served(folder) as root:
        assert got(f"{root}/out/unload.txt", folders=[str(folder)])[0] == FEED


@FILES
def test_a_file_that_is_another_one_at_the_second_look_waits(folder, served: Served):
    path, later = folder / "out" / "unload.txt", itertools.count(LONG_AGO + 1)
    put(path, FEED * 25)  # more than is read ahead

    def replaced() -> float:
        os.utime(path, (time.time(), next(later)))
        return 60.0

    told = "unload.txt was changed while it was read: it may still be uploaded"
    with served(folder) as root, pytest.raises(StillUploaded, match=re.escape(told)):
        got(f"{root}/out/unload.txt", limit=10**7, folders=[str(folder)], check=replaced)


def test_a_server_that_tells_no_time_is_asked_for_the_size_again(folder):
    def none(handler: object, path: str) -> None:
        handler.respond("502 not here")  # type: ignore[attr-defined]

    path, sizes = folder / "out" / "unload.txt", []

    def growing() -> float:
        sizes.append(path.stat().st_size)
        if len(sizes) == 3:
            put(path, FEED + b"more")
        return 60.0

    with ftp_server(folder, ftp_MDTM=none) as port:
        url = f"ftp://127.0.0.1:{port}/out/unload.txt"
        assert got(url)[0] == FEED
        with pytest.raises(StillUploaded, match="changed while it was read"):
            got(url, check=growing)


@pytest.mark.parametrize(
    ("lines", "waits"),
    [
        (("Last-Modified: {young}", "Accept-Ranges: bytes"), True),
        (("Last-Modified: {old}", "Accept-Ranges: bytes"), False),
        (("Last-Modified: {young}",), False),
        (("Accept-Ranges: bytes",), False),
        (("Last-Modified: yesterday", "Accept-Ranges: bytes"), False),
    ],
)
def test_a_web_server_says_by_its_own_clock_how_old_a_file_is(lines, waits):
    times = {"young": "Mon, 02 Mar 2009 11:59:30 GMT", "old": "Mon, 02 Mar 2009 11:00:00 GMT"}
    said = ["Date: Mon, 02 Mar 2009 12:00:00 GMT", *(one.format(**times) for one in lines)]
    with serving(answering(FEED, *said)) as server:
        if waits:
            with pytest.raises(StillUploaded, match="was changed 30 seconds ago"):
                got(server.url)
        else:
            assert got(server.url)[0] == FEED


@FILES
def test_of_a_folder_the_unload_is_taken_and_the_pictures_beside_it_are_named(
    tmp_path, served: Served
):
    whole = tmp_path / "agency"
    put(whole / "data" / "unload.txt", FEED)
    put(whole / "readme.txt", b"hello")
    put(whole / "images.csv", b"pictures")
    with served(tmp_path) as root:
        content, found = got(f"{root}/agency/", folders=[str(tmp_path)])
    assert (content, found.name) == (FEED, "unload.txt")
    assert {"readme.txt", "images.csv"} <= set(found.beside)


@FILES
@pytest.mark.parametrize(
    ("names", "told"),
    [
        (
            ["a.xml", "b.xml"],
            "no feed can be taken from the folder: holds several feeds: a.xml, b.xml",
        ),
        (["a.jpg", ".b.xml"], "from the folder: holds neither data/unload.txt nor another feed"),
    ],
)
def test_a_folder_without_the_one_feed_is_told(tmp_path, served: Served, names, told):
    for name in names:
        put(tmp_path / "agency" / name, b"x")
    with served(tmp_path) as root, pytest.raises(RejectedError, match=told):
        got(f"{root}/agency/", folders=[str(tmp_path)])


@FILES
def test_what_is_not_there_and_what_is_too_large_is_told(folder, served: Served):
    with served(folder) as root:
        ask = partial(got, folders=[str(folder)])
        with pytest.raises(RejectedError, match=r"nothing is at this|there is no such file"):
            ask(f"{root}/out/another.txt")
        with pytest.raises(
            RejectedError, match=r"larger than 100,000 bytes, the most that is taken"
        ):
            ask(f"{root}/out/unload.txt", limit=100_000)


@FILES
def test_whoever_waits_can_end_it_at_each_piece(folder, served: Served):
    def stop() -> float:
        raise TransientError("not in time", unclear=False)

    with served(folder) as root, pytest.raises(TransientError, match="not in time"):
        got(f"{root}/out/unload.txt", folders=[str(folder)], check=stop)


# --- servers ---
DRIPS = 20  # of 0.2 s


@pytest.mark.parametrize(
    ("scheme", "pieces"),
    [
        ("ftp", [b"2"] * DRIPS),
        ("ftp", [b"220-and more\r\n"] * DRIPS),
        ("sftp", [b"S"] * DRIPS),
        ("sftp", [b"hello\r\n"] * DRIPS),
        ("http", [b"HTTP/1.1 200 OK\r\n", *[b"X: 1\r\n"] * DRIPS]),
    ],
)
def test_a_server_whose_greeting_drips_is_left_when_the_time_is_over(scheme, pieces):
    with greeting(pieces, pause=0.2) as port:
        assert_late(f"{scheme}://127.0.0.1:{port}/a.xml")


def assert_late(url: str) -> None:
    """A fetch that has half a second takes not much longer."""
    started = time.monotonic()
    with pytest.raises(TransientError, match=r"^not all of it came in time$"):
        got(url, check=lambda: 0.5)
    assert time.monotonic() - started < 2.0


@pytest.mark.parametrize("scheme", ["ftp", "ftps"])
@pytest.mark.parametrize("piece", [b"x", b"name.jpg\r\n"])
def test_an_ftp_folder_whose_list_drips_is_left_when_the_time_is_over(
    folder, tmp_path, settings, scheme, piece
):
    pem = certificate(tmp_path, "localhost")
    settings.CA_BUNDLE = str(pem)
    drip = listing([piece] * DRIPS, pause=0.2)
    secured = pem if scheme == "ftps" else None
    with ftp_server(folder, certificate=secured, ftp_NLST=drip) as port:
        assert_late(f"{scheme}://localhost:{port}/out/")


def test_an_sftp_folder_whose_list_does_not_come_is_left_when_the_time_is_over(folder):
    with sftp_server(folder, listed=lambda: time.sleep(4) or []) as port:
        assert_late(f"sftp://127.0.0.1:{port}/out/")


MANY = r"^the folder holds more than 100,000 files$"


@pytest.mark.parametrize("length", [20, 5000])
def test_an_ftp_folder_with_a_list_without_an_end_is_refused_after_so_many_names(folder, length):
    sent = [0]

    def names() -> Iterator[bytes]:
        while sent[0] < 100 * 1024**2:
            piece = b"".join(b"%0*d\r\n" % (length, number) for number in range(10))
            sent[0] += len(piece)
            yield piece

    with (
        ftp_server(folder, ftp_NLST=listing(names())) as port,
        pytest.raises(RejectedError, match=MANY),
    ):
        got(f"ftp://127.0.0.1:{port}/out/")
    assert sent[0] < 50 * 1024**2


def test_an_sftp_folder_with_a_long_list_is_refused_as_one_with_many_names(folder):
    names = [f"{number:04}.jpg".rjust(5000, "x") for number in range(2001)]
    with (
        sftp_server(folder, listed=lambda: names) as port,
        pytest.raises(RejectedError, match=MANY),
    ):
        got(f"sftp://127.0.0.1:{port}/out/")


@pytest.mark.parametrize("server", [ftp_server, sftp_server])
def test_whoever_waits_can_end_it_at_each_name(folder, server):
    seen = []

    def stop() -> float:
        seen.append(1)
        if len(seen) > 2:
            raise TransientError("not in time", unclear=False)
        return 60.0

    for name in ("1.jpg", "2.jpg", "3.jpg"):
        put(folder / "pictures" / name, b"picture")
    scheme = server.__name__.partition("_")[0]
    with server(folder) as port, pytest.raises(TransientError, match=r"^not in time$"):
        got(f"{scheme}://127.0.0.1:{port}/pictures/", check=stop)
    assert len(seen) == 3


@SERVERS
@pytest.mark.parametrize("who", [{"secret": "wrong"}, {"user": "wrong"}, {"secret": ""}])
def test_a_wrong_password_is_told_and_is_not_in_the_text(folder, served: Served, who):
    with (
        served(folder) as root,
        pytest.raises(RejectedError, match="does not accept the user and the password") as told,
    ):
        got(f"{root}/out/unload.txt", **who)
    assert "wrong" not in str(told.value)


@pytest.mark.rule("S13")
@SERVERS
def test_our_own_network_is_refused_unless_it_is_named(folder, served: Served):
    with served(folder) as root:
        with pytest.raises(RejectedError, match="leads into our own network"):
            got(f"{root}/out/unload.txt", inside=[])
        assert got(f"{root}/out/unload.txt", inside=["127.0.0.0/8"])[0] == FEED


@pytest.mark.parametrize("scheme", ["http", "ftp", "ftps", "sftp"])
def test_nobody_there_is_an_error_to_try_again(scheme):
    told = r"^the connection( to 127\.0\.0\.1)? failed: nobody answers there$"
    with pytest.raises(TransientError, match=told):
        got(f"{scheme}://127.0.0.1:{free_port()}/a.xml")


@pytest.mark.parametrize("server", [ftp_server, sftp_server])
@pytest.mark.parametrize("cut_after", [0, 40_000])
def test_a_server_that_breaks_off_in_the_middle_is_an_error_to_try_again(folder, server, cut_after):
    scheme = server.__name__.partition("_")[0]
    # The second: what had come was read before the end of the connection was seen.
    told = r"the connection to 127.0.0.1 failed: |[\d,]+ bytes came, 300,008 were announced"
    with server(folder, cut_after=cut_after) as port, pytest.raises(TransientError) as error:
        got(f"{scheme}://127.0.0.1:{port}/out/unload.txt")
    assert re.match(told, str(error.value))
    assert not re.search(r"Errno|Error\b|Exception|\(\)|None", str(error.value))


@pytest.mark.parametrize("path", ["out/unload.txt", "out/"])
def test_a_file_that_is_not_whole_is_an_error_also_where_the_server_says_it_is(folder, path):
    with (
        ftp_server(folder, cut_after=40_000, dies=False) as port,
        pytest.raises(TransientError, match=r"^40,000 bytes came, 300,008 were announced$"),
    ):
        got(f"ftp://127.0.0.1:{port}/{path}")


@pytest.mark.parametrize("server", [ftp_server, sftp_server])
@pytest.mark.parametrize("name", ["Ämtli Strasse 1.xml", "a?b#c%.xml", "-l"])
def test_an_odd_name_is_asked_for_as_it_is(folder, server, name):
    put(folder / name, b"odd")
    quoted = requests.utils.quote(name)
    scheme = server.__name__.partition("_")[0]
    with server(folder) as port:
        assert got(f"{scheme}://127.0.0.1:{port}/{quoted}")[0] == b"odd"


# --- FTP ---
@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
def test_an_ftp_server_may_greet_and_write_names_in_utf_8_and_in_latin_1(tmp_path, encoding):
    put(tmp_path / "agency" / "Käufe.xml", FEED)
    put(tmp_path / "agency" / "Bälle.jpg", b"picture")
    with ftp_server(tmp_path, encoding=encoding, banner="Grüezi") as port:
        content, found = got(f"ftp://127.0.0.1:{port}/agency/")
    assert (content, found.name, found.beside) == (FEED, "Käufe.xml", ("Bälle.jpg",))


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
def test_what_an_ftp_server_says_is_told_without_what_no_database_takes(tmp_path, encoding):
    for name in ("Käufe.xml", "Mieten à Genève.xml"):
        put(tmp_path / "agency" / name, FEED)
    with ftp_server(tmp_path, encoding=encoding, banner="Grüezi") as port:
        with pytest.raises(RejectedError) as told:
            got(f"ftp://127.0.0.1:{port}/agency/")
        reason = "holds several feeds: Käufe.xml, Mieten à Genève.xml"
        assert str(told.value) == f"no feed can be taken from the folder: {reason}"
    with (
        greeting(["530 Zürich ist geschlossen\r\n".encode(encoding)]) as port,
        pytest.raises(RejectedError, match=r"^127.0.0.1 refuses: 530 Zürich ist geschlossen$"),
    ):
        got(f"ftp://127.0.0.1:{port}/a.xml")


def test_a_greeting_without_an_end_is_an_error_to_try_again():
    told = r"^an answer of 127.0.0.1 has more than 1,000 lines$"
    with (
        greeting([b"220-hello\r\n" * 1001]) as port,
        pytest.raises(TransientError, match=told),
    ):
        got(f"ftp://127.0.0.1:{port}/a.xml")


def test_a_size_that_is_no_number_is_an_error_to_try_again(folder):
    with (
        ftp_server(folder, ftp_SIZE=lambda self, path: self.respond("213 plenty")) as port,
        pytest.raises(TransientError, match=r"^127.0.0.1 answers what no FTP server should$"),
    ):
        got(f"ftp://127.0.0.1:{port}/out/unload.txt")


# --- FTPS ---
@pytest.mark.parametrize("is_trusted", [True, False])
def test_ftps_asks_for_the_certificate_of_the_name(folder, tmp_path, settings, is_trusted):
    pem = certificate(tmp_path, "localhost")
    if is_trusted:
        settings.CA_BUNDLE = str(pem)
    with ftp_server(folder, certificate=pem) as port:
        url = f"ftps://localhost:{port}/out/unload.txt"
        if is_trusted:
            assert got(url)[0] == FEED
        else:
            with pytest.raises(RejectedError, match="the certificate of localhost is not accepted"):
                got(url)


def test_a_server_that_knows_no_encryption_gets_no_password_by_ftps(folder):
    with (
        ftp_server(folder) as port,
        pytest.raises(RejectedError, match=r"127.0.0.1 refuses: 5"),
    ):
        got(f"ftps://127.0.0.1:{port}/out/unload.txt")


# --- SFTP ---
def test_a_name_on_an_sftp_server_that_is_not_in_utf_8_is_told(folder):
    with (
        sftp_server(folder, listed=lambda: [b"K\xe4ufe.xml"]) as port,
        pytest.raises(RejectedError, match=r"^a name on 127.0.0.1 is not in UTF-8$"),
    ):
        got(f"sftp://127.0.0.1:{port}/out/")


@pytest.mark.rule("S13")
def test_the_key_of_a_host_is_kept_and_another_one_is_refused_before_the_password(folder):
    first, second = host_keys()
    with sftp_server(folder, key=first) as port:
        _, found = got(f"sftp://127.0.0.1:{port}/out/unload.txt")
        again = got(f"sftp://127.0.0.1:{port}/out/unload.txt", host_key=found.host_key)
        assert again[0] == FEED
    with (
        sftp_server(folder, key=second) as port,
        pytest.raises(RejectedError, match="shows another key than before") as told,
    ):
        got(f"sftp://127.0.0.1:{port}/out/unload.txt", secret="wrong", host_key=found.host_key)
    assert sftp.fingerprint(found.host_key) in str(told.value)
    assert sftp.fingerprint(found.host_key).endswith(first.fingerprint)


@pytest.mark.parametrize("kind", [paramiko.ECDSAKey, paramiko.RSAKey])
def test_a_private_key_logs_in_without_a_password(folder, kind):
    key = kind.generate() if kind is paramiko.ECDSAKey else kind.generate(2048)
    text = io.StringIO()
    key.write_private_key(text)
    with sftp_server(folder, known=key) as port:
        url = f"sftp://127.0.0.1:{port}/out/unload.txt"
        assert got(url, secret=text.getvalue())[0] == FEED
        with pytest.raises(RejectedError, match="does not accept the user"):
            got(url, secret=text.getvalue(), user="another")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----", "cannot be read"),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", "cannot be read"),
    ],
)
def test_a_private_key_that_cannot_be_read_is_told(folder, text, told):
    with sftp_server(folder) as port, pytest.raises(RejectedError, match=told):
        got(f"sftp://127.0.0.1:{port}/out/unload.txt", secret=text)


# --- HTTP ---
def test_a_web_server_is_asked_with_what_it_said_the_last_time():
    with serving(answering(FEED, 'ETag: "one"', "Last-Modified: yesterday")) as server:
        content, found = got(f"{server.url}/stock.xml?key=1")
        assert (content, found.name) == (FEED, "stock.xml")
        assert found.stamp == FileVersion('"one"', "yesterday")
        assert got(f"{server.url}/stock.xml", found.stamp) == (b"", None)
    first, second = server.requests
    assert b"If-None-Match" not in first
    assert b'If-None-Match: "one"\r\nIf-Modified-Since: yesterday' in second
    token = base64.b64encode(f"{USER}:{PASSWORD}".encode())
    assert b"Authorization: Basic " + token in first


def test_not_modified_is_unchanged():
    with serving(saying(b"HTTP/1.1 304 Not Modified\r\n\r\n")) as server:
        assert got(f"{server.url}/stock.xml", FileVersion('"one"')) == (b"", None)


@pytest.mark.rule("S13")
@pytest.mark.parametrize(
    ("place", "line"),
    [
        ({"sign_in": "BEARER"}, b"Authorization: Bearer s3cret word"),
        ({"sign_in": "HEADER", "header": "X-Api-Key"}, b"X-Api-Key: s3cret word"),
    ],
)
def test_a_token_and_a_header_go_to_their_server_alone(place, line):
    with serving(answering(FEED)) as other:
        moved = answering(b"", f"Location: {other.url}/moved", status="302 Found")
        with serving(moved) as server:
            assert got(f"{server.url}/stock.xml", **place)[0] == FEED
    assert line in server.requests[0].split(b"\r\n")
    assert line.partition(b":")[0] not in other.requests[0]


@pytest.mark.rule("S13")
def test_a_request_is_signed_with_its_path_its_query_and_the_time():
    with serving(answering(FEED)) as server, time_machine.travel(1_800_000_000, tick=False):
        assert got(f"{server.url}/out ü.xml?agency=7", sign_in="SIGNED")[0] == FEED
    head = server.requests[0].decode().split("\r\n")
    target = "/out%20%C3%BC.xml?agency=7"
    assert head[0] == f"GET {target} HTTP/1.1"
    text = f"GET\n{target}\n1800000000".encode()
    signature = hmac.new(PASSWORD.encode(), text, "sha256").hexdigest()
    assert f"X-Signature: {signature}" in head
    assert {f"X-Key: {USER}", "X-Timestamp: 1800000000"} <= set(head)
    assert PASSWORD not in server.requests[0].decode()


@pytest.mark.parametrize(
    ("way", "told"),
    [
        ("BEARER", "does not accept the token"),
        ("HEADER", "does not accept the header with its value"),
        ("SIGNED", "does not accept the signature: its key may be another one, or the clock"),
    ],
)
def test_a_server_that_lets_nobody_in_is_told_by_what_it_was_shown(way, told):
    nobody = answering(b"", status="401 Unauthorized")
    with serving(nobody) as server, pytest.raises(RejectedError, match=told) as error:
        got(server.url, sign_in=way, header="X-Api-Key")
    assert PASSWORD not in str(error.value)


def test_nobody_is_named_to_a_server_without_a_user():
    with serving(answering(FEED)) as server:
        assert got(server.url, user="", secret="")[0] == FEED
    assert b"Authorization" not in server.requests[0]


@pytest.mark.parametrize(
    ("status", "error", "told"),
    [
        ("401 Unauthorized", RejectedError, "does not accept the user and the password"),
        ("403 Forbidden", RejectedError, "does not accept the user and the password"),
        ("404 Not Found", RejectedError, "nothing is at this address"),
        ("410 Gone", RejectedError, "nothing is at this address"),
        ("429 Too Many Requests", TransientError, "127.0.0.1 answers 429"),
        ("503 Service Unavailable", TransientError, "127.0.0.1 answers 503"),
        ("204 No Content", RejectedError, "answers 204, and no file"),
        ("302 Found", RejectedError, "answers 302, and no file"),
        ("418 I'm a teapot", RejectedError, "answers 418, and no file"),
    ],
)
def test_each_answer_without_a_file_has_words(status, error, told):
    with serving(answering(b"", status=status)) as server, pytest.raises(error, match=told):
        got(server.url)


def test_a_file_too_large_is_refused_before_it_comes_and_while_it_does():
    told = "larger than 1,000 bytes"
    with serving(answering(FEED)) as server, pytest.raises(RejectedError, match=told):
        got(server.url, limit=1000)
    endless = saying(OK + b"\r\n", *[b"x" * 400] * 5, close=True)
    with serving(endless) as server, pytest.raises(RejectedError, match=told):
        got(server.url, limit=1000)


def test_a_web_server_that_breaks_off_is_an_error_to_try_again():
    half = saying(OK + b"Content-Length: 9\r\n\r\nhalf", close=True)
    with serving(half) as server, pytest.raises(TransientError, match="the connection failed"):
        got(server.url)


# --- folders of this machine ---
@pytest.mark.parametrize("path", ["/etc/passwd", "{0}/../secret.xml", "{0}/link.xml", "{0}2/a.xml"])
def test_a_file_outside_of_the_named_folders_is_refused(tmp_path, path):
    inside = tmp_path / "feeds"
    for name in ("secret.xml", "feeds2/a.xml", "feeds/ok.xml"):
        put(tmp_path / name, b"x")
    (inside / "link.xml").symlink_to(tmp_path / "secret.xml")
    with pytest.raises(RejectedError, match="SOURCE_FOLDERS"):
        got(path.format(inside), folders=[str(inside)])
    with pytest.raises(RejectedError, match="SOURCE_FOLDERS"):
        got(f"{inside}/ok.xml", folders=[])


def test_a_link_in_a_folder_leads_nowhere_else(tmp_path):
    put(tmp_path / "secret.xml", b"x")
    (tmp_path / "feeds").mkdir()
    (tmp_path / "feeds" / "link.xml").symlink_to(tmp_path / "secret.xml")
    with pytest.raises(RejectedError, match="a link that leads out of the folder"):
        got(f"{tmp_path}/feeds/", folders=[str(tmp_path)])


@pytest.mark.parametrize("kind", ["pipe", "socket", "pipe in a folder"])
def test_a_pipe_or_a_socket_is_refused_without_waiting_for_its_other_end(tmp_path, kind):
    path = tmp_path / "unload.txt"
    if kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
    else:
        os.mkfifo(path)
    asked = tmp_path if kind == "pipe in a folder" else path
    with pytest.raises(RejectedError, match="no file of bytes, but a pipe"):
        got(str(asked), folders=[str(tmp_path)])


@pytest.fixture
def hanging() -> Path:
    """Return a regular file whose read does not return, as on a file system that is away."""
    path = Path("/proc/kmsg")
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        pytest.skip("the kernel's messages cannot be read: no file hangs here")
    with suppress(BlockingIOError):
        while os.read(descriptor, 65536):
            pass
    os.close(descriptor)
    return path


WAITS_FOR_EVER = """
import io, signal, sys, time
import time_machine
from tests.properties.sources.test_fetch import got
def end(*_): sys.exit(7)
signal.signal(signal.SIGTERM, end)
def check():
    print("waits", flush=True)
    return 60.0
# The kernel says of its files that they changed when it came to know them: just now, at times.
with time_machine.travel(time.time() + 86_400):
    got(sys.argv[1], folders=[sys.argv[2]], check=check)
"""


def test_a_process_whose_file_system_hangs_ends_by_its_signal(hanging):
    command = [sys.executable, "-c", WAITS_FOR_EVER, str(hanging), str(hanging.parent)]
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "config.settings"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, cwd=ROOT) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == [b"waits\n"] * 2
        process.terminate()
        try:
            assert process.wait(5) == 7
        finally:
            process.kill()


def test_a_file_system_that_hangs_is_left_and_other_files_come(tmp_path, hanging):
    folders = [str(tmp_path), str(hanging.parent)]
    put(tmp_path / "unload.txt", FEED)
    with time_machine.travel(time.time() + 86_400):
        left = iter([1.0, 0.3, 0.3])

        def until_it_is_over() -> float:
            for seconds in left:
                return seconds
            raise TransientError("not in time", unclear=False)

        with pytest.raises(TransientError, match="not in time"):
            got(str(hanging), folders=folders, check=until_it_is_over)
        with pytest.raises(TransientError, match="an earlier attempt still waits for it"):
            got(str(hanging), folders=folders)
        assert got(f"{tmp_path}/unload.txt", folders=folders)[0] == FEED


def test_two_sources_with_the_same_file_are_fetched_at_the_same_time(tmp_path):
    put(tmp_path / "unload.txt", FEED)
    others: list[bytes] = []

    def check() -> float:
        if not others:
            others.append(b"")
            others.append(got(f"{tmp_path}/unload.txt", folders=[str(tmp_path)])[0])
        return 60.0

    assert got(f"{tmp_path}/unload.txt", folders=[str(tmp_path)], check=check)[0] == FEED
    assert others == [b"", FEED]

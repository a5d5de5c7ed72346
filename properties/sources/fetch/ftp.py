"""Fetch a file from an FTP server, encrypted (FTPS) or not.

Servers write names and answers in UTF-8 or in Latin-1, and need a name back as they wrote it. So
the connection treats each byte as a character of Latin-1; see `sent` and `_read`.
"""

import calendar
import ftplib
import re
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

from crm_sync.platform import broken, outside
from crm_sync.platform.sockets import timed, tls
from crm_sync.platform.transport import ca_bundle
from crm_sync.sentence import sentence
from properties.sources.address import IMPLICIT_TLS
from properties.sources.fetch.transfer import (
    SILENCE,
    Fetched,
    FileVersion,
    FolderListing,
    Listed,
    Listing,
    Place,
    Sink,
    failed,
    in_time,
    look_again,
    not_connected,
    path_of,
    rejected,
    settled,
    shown,
    wait_for_upload,
)

BLOCK = 64 * 1024  # bytes
BYTES = "latin-1"
ANSWER = 1000  # lines of one answer
SECOND_LOOK = 2.0  # seconds until the size is read again, if a server returns no time
_NO_LOGIN = ("430", "530", "332", "532")
_UNKNOWN = ("500", "502", "504")


def fetch(place: Place, known: FileVersion, sink: Sink) -> Fetched | None:
    """See `fetch.fetch`."""
    with in_time(sink.check) as end, connected(place, end) as server:
        path, beside = path_of(place.address, partial(_names, server, sink))
        # A list of names is sent in text mode, in which many servers return no size.
        server.voidcmd("TYPE I")
        stamp, name = _stamp(server, path), shown(path.rpartition("/")[2])
        if known.tells and stamp == known:
            return None
        sink.expect(stamp.size)
        if stamp.modified:
            wait_for_upload(name, float(stamp.modified), time.time())
        server.retrbinary(f"RETR {sent(path)}", sink.write, BLOCK)
        if not stamp.modified:
            time.sleep(SECOND_LOOK)
        look_again(name, stamp, _stamp(server, path))
        sink.finish(stamp.size)
    return Fetched(name, settled(stamp, time.time()), beside=beside)


def listing(place: Place, check: Callable[[], float]) -> Listing:
    """See `fetch.listing`."""
    files: list[Listed] = []
    names = FolderListing(check)

    def take(line: str) -> None:
        facts, _, name = _read(line).partition(" ")
        names.add(name)
        found = dict(one.lower().split("=", 1) for one in facts.split(";") if "=" in one)
        if found.get("type", "file") == "file":
            size = int(found["size"]) if "size" in found else None
            files.append(Listed(name, FileVersion(modified=_time(found.get("modify")), size=size)))

    with in_time(check) as end, connected(place, end) as server:
        folder = place.address.path.removeprefix("/")
        try:
            server.retrlines(f"MLSD {sent(folder)}" if folder else "MLSD", take)
        except ftplib.error_perm as error:
            if not str(error).startswith(_UNKNOWN):
                raise
            text = sentence(
                "%(host)s does not list the sizes and times of files (MLSD), so its files cannot"
                " be taken in turn",
                host=place.address.host,
            )
            raise rejected(text) from error
    return Listing(tuple(files))


@contextmanager
def connected(place: Place, end: float) -> Iterator[ftplib.FTP]:
    """Yield the connection of a user who is logged in, encrypted for FTPS.

    Args:
        end: when everything must have ended, on the monotonic clock.

    Raises:
        RejectedError, TransientError: as `fetch.fetch` does, also for what fails in the block.
    """
    with _told(place), closing(_connection(place, end)) as server:
        try:
            server.login(sent(place.user or "anonymous"), sent(place.secret))
        except ftplib.error_perm as error:
            if str(error).startswith(_NO_LOGIN):
                text = sentence(
                    "%(host)s does not accept the user and the password", host=place.address.host
                )
                raise rejected(text) from error
            raise
        if isinstance(server, ftplib.FTP_TLS):
            server.prot_p()
        yield server


class _Plain(ftplib.FTP):
    """FTP whose answers are limited, and whose data connections share the control's deadline."""

    lines = 0  # of the current answer

    def putline(self, line: str) -> None:
        self.lines = 0
        super().putline(line)

    def getline(self) -> str:
        self.lines += 1
        if self.lines > ANSWER:
            text = sentence(
                "an answer of %(host)s has more than %(most)s lines", host=self.host, most=ANSWER
            )
            raise failed(text)
        return super().getline()

    def ntransfercmd(self, cmd: str, rest: Any = None) -> Any:
        control: Any = self.sock
        self.timeout = control.limit()
        connection, size = ftplib.FTP.ntransfercmd(self, cmd, rest)  # noqa: S321 - not that of FTP_TLS
        return timed(connection, end=control.end, silence=SILENCE), size


class _Secure(_Plain, ftplib.FTP_TLS):
    """FTPS whose data connections reuse the TLS session of the first, as many servers require."""

    def ntransfercmd(self, cmd: str, rest: Any = None) -> Any:
        connection, size = super().ntransfercmd(cmd, rest)
        session = self.sock.session if isinstance(self.sock, ssl.SSLSocket) else None
        secured = self.context.wrap_socket(connection, server_hostname=self.host, session=session)
        return secured, size


def _connection(place: Place, end: float) -> ftplib.FTP:
    """Connect only to an address that was checked (S13)."""
    one = place.address
    context = tls()
    context.load_verify_locations(ca_bundle())
    is_secure = one.scheme == "ftps"
    server = _Secure(context=context, encoding=BYTES) if is_secure else _Plain(encoding=BYTES)
    connection: Any = outside.connect(one.host, one.port, place.inside, timeout=SILENCE, end=end)
    if is_secure and one.port == IMPLICIT_TLS:
        connection = context.wrap_socket(connection, server_hostname=one.host)
    server.host, server.port, server.timeout = one.host, one.port, SILENCE
    server.sock, server.af = connection, connection.family
    server.file = connection.makefile("r", encoding=server.encoding)
    try:
        server.welcome = server.getresp()
    except BaseException:
        server.close()
        raise
    return server


@contextmanager
def _told(place: Place) -> Iterator[None]:
    host = place.address.host
    try:
        yield
    except ssl.SSLCertVerificationError as error:
        text = sentence(
            "the certificate of %(host)s is not accepted: %(reason)s",
            host=host,
            reason=error.verify_message,
        )
        raise rejected(text) from error
    except ftplib.error_perm as error:
        if str(error).startswith("550"):
            text = sentence(
                "nothing is at this address, or the user may not read it (%(reason)s)",
                reason=said(error),
            )
            raise rejected(text) from error
        text = sentence("%(host)s refuses: %(reason)s", host=host, reason=said(error))
        raise rejected(text) from error
    except ftplib.Error as error:
        raise not_connected(host, said(error)) from error
    except (EOFError, OSError) as error:
        raise not_connected(host, broken.why(error)) from error
    except ValueError as error:  # such as a size that is no number
        raise failed(sentence("%(host)s answers what no FTP server should", host=host)) from error


def sent(text: str) -> str:
    """Return a text in the form in which the connection takes it."""
    return text.encode("utf-8", "surrogateescape").decode(BYTES)


def _read(text: str) -> str:
    """Decode a text of the connection; lone surrogates represent the bytes that are not UTF-8."""
    return text.encode(BYTES).decode("utf-8", "surrogateescape")


def said(error: ftplib.Error) -> str:
    """Return the server's answer in an error, for people."""
    return shown(_read(str(error)))


def _names(server: ftplib.FTP, sink: Sink, folder: str) -> list[str]:
    names = FolderListing(sink.check)

    def take(line: str) -> None:
        names.add(_read(line).rstrip("/").rpartition("/")[2])

    server.retrlines(f"NLST {sent(folder or '.')}", take)
    return names.found


def _stamp(server: ftplib.FTP, path: str) -> FileVersion:
    return FileVersion(modified=_modified(server, path), size=_size(server, path))


def _modified(server: ftplib.FTP, path: str) -> str:
    """Return when the file was changed, in seconds since 1970; "" if the server has no time."""
    try:
        answer = server.sendcmd(f"MDTM {sent(path)}")
    except ftplib.error_perm:
        return ""
    return _time(answer.strip().removeprefix("213 "))


def _time(text: str | None) -> str:
    """Return a time of the protocol in seconds since 1970; "" if it is none."""
    found = re.fullmatch(r"(\d{14})(\.\d+)?", text or "", re.ASCII)
    if not found:
        return ""
    try:
        return f"{calendar.timegm(time.strptime(found[1], '%Y%m%d%H%M%S'))}{found[2] or ''}"
    except ValueError:
        return ""


def _size(server: ftplib.FTP, path: str) -> int | None:
    try:
        return server.size(sent(path))
    except ftplib.error_perm:
        return None

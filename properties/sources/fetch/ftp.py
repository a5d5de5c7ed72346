"""A file from an FTP server, encrypted (FTPS) or not."""

import calendar
import ftplib
import re
import ssl
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

from crm_sync.platform import outside, transport
from properties.sources.address import IMPLICIT_TLS
from properties.sources.fetch.remote import path_of
from properties.sources.fetch.wanted import (
    SILENCE,
    Fetched,
    Place,
    Sink,
    Stamp,
    failed,
    rejected,
    settled,
)

BLOCK = 64 * 1024  # bytes
MOST = 100_000  # names in a folder
_NO_LOGIN = ("430", "530", "332", "532")


def fetch(place: Place, known: Stamp, sink: Sink) -> Fetched | None:
    """See `fetch.fetch`."""
    with _told(place), closing(_connection(place)) as server:
        try:
            server.login(place.user or "anonymous", place.secret)
        except ftplib.error_perm as error:
            if str(error).startswith(_NO_LOGIN):
                text = f"{place.address.host} does not accept the user and the password"
                raise rejected(text) from error
            raise
        if isinstance(server, ftplib.FTP_TLS):
            server.prot_p()
        path, beside = path_of(place.address, partial(_names, server))
        # A list of names comes as text, and in that mode many servers tell no size.
        server.voidcmd("TYPE I")
        stamp = Stamp(modified=_modified(server, path), size=_size(server, path))
        if known.tells and stamp == known:
            return None
        sink.expect(stamp.size)
        server.retrbinary(f"RETR {path}", sink.write, BLOCK)
        sink.finish(stamp.size)
    return Fetched(path.rpartition("/")[2], settled(stamp, time.time()), beside=beside)


class _Secure(ftplib.FTP_TLS):
    """FTPS whose data connections go on in the session of the first, as many servers demand."""

    def ntransfercmd(self, cmd: str, rest: Any = None) -> Any:
        """Open a data connection."""
        connection, size = super(ftplib.FTP_TLS, self).ntransfercmd(cmd, rest)
        session = self.sock.session if isinstance(self.sock, ssl.SSLSocket) else None
        secured = self.context.wrap_socket(connection, server_hostname=self.host, session=session)
        return secured, size


def _connection(place: Place) -> ftplib.FTP:
    """Connect to an address that was checked, and to no other (S13)."""
    one = place.address
    context = ssl.create_default_context(cafile=transport.ca_bundle())
    is_secure = one.scheme == "ftps"
    server: ftplib.FTP = _Secure(context=context) if is_secure else ftplib.FTP()  # noqa: S321 - senders have no other
    connection = outside.connect(one.host, one.port, place.inside, timeout=SILENCE)
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
    """Say what failed in words."""
    host = place.address.host
    try:
        yield
    except ssl.SSLCertVerificationError as error:
        raise rejected(
            f"the certificate of {host} is not accepted: {error.verify_message}"
        ) from error
    except ftplib.error_perm as error:
        if str(error).startswith("550"):
            text = f"nothing is at this address, or the user may not read it ({error})"
            raise rejected(text) from error
        raise rejected(f"{host} refuses: {error}") from error
    except (ftplib.Error, EOFError, OSError) as error:
        raise failed(f"the connection to {host} failed: {error or type(error).__name__}") from error


def _names(server: ftplib.FTP, folder: str) -> set[str]:
    found: set[str] = set()
    for line in server.nlst(folder or "."):
        found.add(line.rstrip("/").rpartition("/")[2])
        if len(found) > MOST:
            raise rejected(f"the folder holds more than {MOST:,} files")
    return found


def _modified(server: ftplib.FTP, path: str) -> str:
    """Return when the file was changed in seconds since 1970; "" where the server cannot say."""
    try:
        answer = server.sendcmd(f"MDTM {path}")
    except ftplib.error_perm:
        return ""
    found = re.match(r"213 (\d{14})(\.\d+)?$", answer.strip(), re.ASCII)
    if not found:
        return ""
    try:
        return f"{calendar.timegm(time.strptime(found[1], '%Y%m%d%H%M%S'))}{found[2] or ''}"
    except ValueError:
        return ""


def _size(server: ftplib.FTP, path: str) -> int | None:
    try:
        return server.size(path)
    except ftplib.error_perm:
        return None

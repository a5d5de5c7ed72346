"""Put files on an FTPS server."""

import ftplib
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from crm_sync.sentence import sentence
from orders.targets.put.target_connection import Connection, Limits, Readable, incomplete
from properties.sources.fetch import ftp
from properties.sources.fetch.transfer import Place, failed, rejected

_REFUSED = ("532", "550", "553")  # no right, no such folder, no such name
_UNKNOWN = ("500", "501", "502", "504")  # the server does not know the command


@contextmanager
def opened(place: Place, limits: Limits) -> Iterator[Connection]:
    """See `put.opened`."""
    with ftp.connected(place, limits.end) as server:
        server.voidcmd("TYPE I")
        yield FtpsConnection(server, place, limits)


class FtpsConnection:
    """The files of a server; see `Connection`."""

    host_key = ""
    renames = True

    def __init__(self, server: ftplib.FTP, place: Place, limits: Limits) -> None:
        self._server, self._limits, self._host = server, limits, place.address.host
        # Relative to the start folder of the server. After two slashes it is absolute.
        self._base = place.address.path.removeprefix("/").rstrip("/")
        self._folders: set[str] = set()  # that are there

    def exists(self, path: str) -> bool:
        """See `Connection`. A server that has no sizes lists the folder."""
        self._limits.left()
        try:
            return self._server.size(self._at(path)) is not None
        except ftplib.error_perm as error:
            if not str(error).startswith(_UNKNOWN):
                return False
        folder, _, name = self._at(path).rpartition("/")
        try:
            found = self._server.nlst(folder or ".")
        except ftplib.error_perm:  # an empty folder, or none
            return False
        finally:
            self._server.voidcmd("TYPE I")  # a list is sent in text mode
        return name in {one.rstrip("/").rpartition("/")[2] for one in found}

    def put(self, path: str, file: Readable, size: int, digest: str) -> None:
        """See `Connection`."""
        self.remove(path)
        self._make_folders(path.rpartition("/")[0])
        sent = 0

        def count(block: bytes) -> None:
            nonlocal sent
            self._limits.left()
            sent += len(block)

        with self._written(path):
            self._server.storbinary(f"STOR {self._at(path)}", file, ftp.BLOCK, count)
        try:
            there = self._server.size(self._at(path))
        except ftplib.error_perm:  # the server has no sizes
            there = sent
        if there != size:
            raise failed(incomplete(self._host, there, size))

    def rename(self, path: str, name: str) -> None:
        """See `Connection`.

        Where a server renames to no name that is taken, an older version is removed first: for a
        moment there is no file, and never a part of one.
        """
        self._limits.left()
        with self._written(name):
            try:
                self._server.rename(self._at(path), self._at(name))
            except ftplib.error_perm:
                if not self.exists(name):
                    raise
                self.remove(name)
                self._server.rename(self._at(path), self._at(name))

    def remove(self, path: str) -> None:
        """See `Connection`."""
        self._limits.left()
        if self.exists(path):
            with self._written(path):
                self._server.delete(self._at(path))

    def _at(self, path: str) -> str:
        return ftp.sent(f"{self._base}/{path}" if self._base else path)

    def _make_folders(self, folder: str) -> None:
        """Make a folder and those above it. A server says the same of one that is there already."""
        parts = folder.split("/") if folder else []
        for count in range(1, len(parts) + 1):
            path = "/".join(parts[:count])
            if path not in self._folders:
                with suppress(ftplib.error_perm):  # if it is not there, the file is refused
                    self._server.mkd(self._at(path))
                self._folders.add(path)

    @contextmanager
    def _written(self, path: str) -> Iterator[None]:
        """Say what a server refuses; a connection that breaks is told by `ftp.connected`."""
        try:
            yield
        except ftplib.Error as error:
            said = ftp.said(error)
            text = sentence(
                "%(host)s did not take %(path)s: %(reason)s",
                host=self._host,
                path=path,
                reason=said,
            )
            raise (rejected if said.startswith(_REFUSED) else failed)(text) from error

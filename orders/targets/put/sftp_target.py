"""Put files on an SFTP server, whose key must be the one that was seen first."""

from collections.abc import Iterator
from contextlib import contextmanager

import paramiko

from crm_sync.sentence import sentence
from orders.targets.put.target_connection import Connection, Limits, Readable, incomplete
from properties.sources.fetch import sftp
from properties.sources.fetch.transfer import Place, failed, rejected


@contextmanager
def opened(place: Place, limits: Limits) -> Iterator[Connection]:
    """See `put.opened`."""
    with sftp.connected(place, limits.end) as (client, host_key):
        yield SftpConnection(client, host_key, place, limits)


class SftpConnection:
    """The files of a server; see `Connection`."""

    renames = True

    def __init__(
        self, client: paramiko.SFTPClient, host_key: str, place: Place, limits: Limits
    ) -> None:
        self._client, self._limits, self.host_key = client, limits, host_key
        self._host = place.address.host
        # Relative to the start folder of the server. After two slashes it is absolute.
        self._base = place.address.path.removeprefix("/").rstrip("/")
        self._folders: set[str] = set()  # that are there

    def exists(self, path: str) -> bool:
        """See `Connection`."""
        self._limits.left()
        return self._size(self._at(path)) is not None

    def put(self, path: str, file: Readable, size: int, digest: str) -> None:
        """See `Connection`."""
        self.remove(path)
        self._make_folders(path.rpartition("/")[0])
        # A new file, so a worker that hung before cannot write into this one (I3).
        with self._written(path), self._client.open(self._at(path), "wx") as there:
            there.set_pipelined(True)
            for block in self._limits.blocks(file):
                there.write(block)
        if (there_now := self._size(self._at(path))) != size:
            raise failed(incomplete(self._host, there_now, size))

    def rename(self, path: str, name: str) -> None:
        """See `Connection`.

        Without OpenSSH's `posix-rename`, an older version is removed first: for a moment there is
        no file, and never a part of one.
        """
        with self._written(name):
            try:
                self._client.posix_rename(self._at(path), self._at(name))
            except OSError as error:
                if error.errno is not None:  # the connection broke, or the server knows the call
                    raise
                if self.exists(name):
                    self.remove(name)
                self._client.rename(self._at(path), self._at(name))

    def remove(self, path: str) -> None:
        """See `Connection`."""
        self._limits.left()
        with self._written(path):
            try:
                self._client.remove(self._at(path))
            except FileNotFoundError:
                return

    def _at(self, path: str) -> str:
        return f"{self._base}/{path}" if self._base else path

    def _size(self, path: str) -> int | None:
        try:
            return self._client.stat(path).st_size or 0
        except FileNotFoundError:
            return None

    def _make_folders(self, folder: str) -> None:
        """Make a folder and those above it; the folder of the address must be there."""
        parts = folder.split("/") if folder else []
        for count in range(1, len(parts) + 1):
            path = "/".join(parts[:count])
            if path in self._folders:
                continue
            if self._size(self._at(path)) is None:
                with self._written(path):
                    self._client.mkdir(self._at(path))
            self._folders.add(path)

    @contextmanager
    def _written(self, path: str) -> Iterator[None]:
        """Say what a server refuses; a connection that breaks is told by `sftp.connected`."""
        try:
            yield
        except PermissionError as error:
            text = sentence(
                "%(host)s does not let the user write %(path)s", host=self._host, path=path
            )
            raise rejected(text) from error
        except FileNotFoundError as error:
            text = sentence("%(host)s has no folder for %(path)s", host=self._host, path=path)
            raise rejected(text) from error
        except OSError as error:
            if error.errno is not None or isinstance(error, TimeoutError):  # the connection
                raise
            text = sentence(
                "%(host)s did not take %(path)s: %(reason)s",
                host=self._host,
                path=path,
                reason=str(error),
            )
            raise failed(text) from error

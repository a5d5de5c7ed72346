"""Put files on a server with WebDAV (RFC 4918)."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from orders.targets.put import web_requests
from orders.targets.put.target_connection import Connection, Limits, Readable
from orders.targets.put.web_requests import FileBody
from properties.sources.fetch import web_server
from properties.sources.fetch.transfer import Place

FOUND = 207  # PROPFIND answers with it
NOT_FOUND, THERE = 404, 405  # MKCOL answers 405 where something is


@contextmanager
def opened(place: Place, limits: Limits) -> Iterator[Connection]:
    """See `put.opened`. The folder of the address must be there."""
    connection = WebdavConnection(place, limits)
    connection.ask("PROPFIND", "", {"Depth": "0"}, well=[FOUND])
    yield connection


class WebdavConnection:
    """The files of a server; see `Connection`."""

    host_key = ""
    renames = True

    def __init__(self, place: Place, limits: Limits) -> None:
        self._place, self._limits = place, limits
        self._folders: set[str] = set()  # that are there

    def exists(self, path: str) -> bool:
        """See `Connection`."""
        return self.ask("PROPFIND", path, {"Depth": "0"}, well=[FOUND, NOT_FOUND]) != NOT_FOUND

    def put(self, path: str, file: Readable, size: int, digest: str) -> None:
        """See `Connection`."""
        parts = path.split("/")[:-1]
        for count in range(1, len(parts) + 1):
            folder = "/".join(parts[:count])
            if folder not in self._folders:
                self.ask("MKCOL", f"{folder}/", {}, well=[THERE])
                self._folders.add(folder)
        body = FileBody(file, size, self._limits)
        self.ask("PUT", path, {"Content-Type": web_requests.type_of(path)}, body=body)

    def rename(self, path: str, name: str) -> None:
        """See `Connection`."""
        final = web_requests.address_of(self._place, name)
        self.ask("MOVE", path, {"Destination": final, "Overwrite": "T"})

    def remove(self, path: str) -> None:
        """See `Connection`."""
        self.ask("DELETE", path, {}, well=[NOT_FOUND])

    def ask(
        self,
        method: str,
        path: str,
        headers: dict[str, str],
        *,
        body: FileBody | None = None,
        well: list[int] | None = None,
    ) -> int:
        """Send a request about a path; see `web_requests.ask`."""
        shown = web_server.headers(self._place, "", time.time())
        how = web_requests.options(self._place, {**headers, **shown})
        url = web_requests.address_of(self._place, path)
        return web_requests.ask(method, url, how, self._limits, body=body, well=well or ())

"""Put files into a storage that speaks S3.

One PUT writes a whole object or none, so no object is renamed.
The address names the bucket, in the host or as the first part of the path.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from urllib.parse import urlsplit

from crm_sync.sentence import sentence
from orders.targets.put import web_requests
from orders.targets.put.aws_signature import Signer
from orders.targets.put.target_connection import (
    Connection,
    Limits,
    Readable,
    TargetPlace,
    Unwelcome,
)
from orders.targets.put.web_requests import FileBody

FORBIDDEN, NOT_FOUND = 403, 404
NOTHING = hashlib.sha256().hexdigest()


@contextmanager
def opened(place: TargetPlace, limits: Limits) -> Iterator[Connection]:
    """See `put.opened`."""
    yield BucketConnection(place, limits)


class BucketConnection:
    """The objects of a bucket; see `Connection`."""

    host_key = ""
    renames = False

    def __init__(self, place: TargetPlace, limits: Limits) -> None:
        self._place, self._limits = place, limits
        self._signer = Signer(place.user, place.secret, place.region or "us-east-1")

    def exists(self, path: str) -> bool:
        """See `Connection`. The key needs the right to list, else a missing object is a 403."""
        return self._ask("HEAD", path, well=[NOT_FOUND]) != NOT_FOUND

    def put(self, path: str, file: Readable, size: int, digest: str) -> None:
        """See `Connection`. The digest is part of the signature, so other bytes are refused."""
        self._ask("PUT", path, digest=digest, body=FileBody(file, size, self._limits))

    def rename(self, path: str, name: str) -> None:
        """S3 has no rename, and none is needed."""
        raise NotImplementedError

    def remove(self, path: str) -> None:
        """See `Connection`."""
        self._ask("DELETE", path, well=[NOT_FOUND])

    def _ask(
        self,
        method: str,
        path: str,
        *,
        digest: str = NOTHING,
        body: FileBody | None = None,
        well: list[int] | None = None,
    ) -> int:
        url = web_requests.address_of(self._place, path)
        parts = urlsplit(url)
        headers = {"Host": parts.netloc, "x-amz-content-sha256": digest}
        signed = self._signer.headers(method, parts.path, headers, now=datetime.now(UTC))
        if body is not None:
            signed |= {"Content-Type": web_requests.type_of(path)}
        how = web_requests.options(self._place, signed)
        status = web_requests.ask(
            method, url, how, self._limits, body=body, well=[FORBIDDEN, *(well or ())]
        )
        if status == FORBIDDEN:
            raise Unwelcome(
                sentence(
                    "%(host)s does not accept the key, or it may not %(method)s (403)",
                    host=parts.hostname or "",
                    method=method,
                ),
                status=status,
            )
        return status

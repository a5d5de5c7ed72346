"""Store fetched files until they are imports, in a folder that no other user may read."""

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from crm_sync.platform.errors import RejectedError
from properties.feeds.unpack import NotUnpacked, Unpacked, unpack
from properties.sources.fetch import fetch
from properties.sources.fetch.transfer import Fetched, FileVersion, Place, Sink


@dataclass(frozen=True)
class Arrived:
    """A fetched feed in a file of our own.

    Attributes:
        size: the number of fetched bytes, before unpacking.
        digest: the digest of the unpacked feed.
    """

    path: Path
    fetched: Fetched
    unpacked: Unpacked
    size: int
    digest: str


class SourceFiles:
    """The files of one fetch. Files of earlier fetches of the same source are removed first."""

    def __init__(self, key: int) -> None:
        self._folder = Path(settings.DATA_DIR) / "sources"
        self._key = key
        self._name = f"{key}-{secrets.token_hex(8)}"

    def take(self, place: Place, known: FileVersion, check: Callable[[], float]) -> Arrived | None:
        """Fetch a feed and unpack it; return None if it is unchanged.

        Raises:
            RejectedError: see `fetch`; or the feed cannot be unpacked.
            TransientError: see `fetch`.
        """
        self.clear()
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        packed, path = (self._folder / f"{self._name}.{end}" for end in ("packed", "feed"))
        limit = settings.SOURCE_FILE_LIMIT
        with packed.open("xb") as file:
            sink = Sink(file, limit, check)
            fetched = fetch(place, known, sink)
        if fetched is None:
            return None
        try:
            with path.open("xb") as file:
                unpacked = unpack(packed, fetched.name, file, limit=limit)
        except NotUnpacked as error:
            raise RejectedError(str(error), status=0) from error
        packed.unlink()
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return Arrived(path, fetched, unpacked, sink.size, digest)

    def clear(self) -> None:
        """Remove all files of this source."""
        for path in self._folder.glob(f"{self._key}-*"):
            path.unlink(missing_ok=True)

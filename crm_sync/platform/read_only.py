"""Reads a live platform for the checks of `manage.py doctor`."""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from crm_sync.platform.client import Client
from crm_sync.platform.errors import SyncError
from crm_sync.platform.exchange import Exchange


@dataclass
class Live:
    """A platform that is read with at most `most` GETs. No address is read twice.

    Attributes:
        exchanges: all calls until now, also the failed ones.
    """

    client: Client
    most: int
    exchanges: list[Exchange] = field(default_factory=list)
    _known: dict[str, Exchange] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.client.observe = self.exchanges.append
        self.client.hear = lambda _: None  # the doctor writes nothing

    def get(self, path: str, **query: Any) -> Exchange | None:
        """Return the exchange of a read, good or bad; None after `most` reads."""
        key = f"{path} {sorted(query.items())}"
        if key not in self._known:
            began = len(self.exchanges)
            if began >= self.most:
                return None
            with suppress(SyncError):  # the exchange contains the error
                self.client.read(path, **query)
            mine = [one for one in self.exchanges[began:] if one.path.endswith(path)]
            if not mine:
                return None  # there was no token, or the path cannot be called
            self._known[key] = mine[-1]
        return self._known[key]

    def document(self, path: str, **query: Any) -> Any:
        """Return the JSON of a good answer, or None."""
        one = self.get(path, **query)
        return one.document if one is not None and one.error is None else None

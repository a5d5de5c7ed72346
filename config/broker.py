"""The file-system broker of kombu, whose messages appear whole or not at all.

kombu opens a message under its final name and writes it afterwards: a worker that looks in between
takes an empty file, and ends with what its JSON parser raises.
"""

import json
import os
import time
import uuid
from pathlib import Path
from queue import Empty
from typing import Any

from kombu.transport import TRANSPORT_ALIASES, filesystem


class Channel(filesystem.Channel):
    """Writes aside and renames; what is broken all the same is left out, and the tick comes."""

    def _put(self, queue: str, payload: Any, **_: Any) -> None:  # type: ignore[override]
        # Messages are taken in the order of their names: these have as many digits until 2286.
        name = f"{time.time_ns()}_{uuid.uuid4()}.{queue}.msg"
        whole = Path(self.data_folder_out) / name
        aside = whole.with_suffix(".new")
        aside.write_text(json.dumps(payload), encoding="utf-8")
        os.replace(aside, whole)

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        try:
            return super()._get(queue)  # type: ignore[no-untyped-call]
        except ValueError as error:
            raise Empty from error


class Transport(filesystem.Transport):
    """`filesystem://`, as `use` puts it in the place of kombu's own."""

    Channel = Channel


def use() -> None:
    """Make the brokers' addresses mean our transports."""
    TRANSPORT_ALIASES["filesystem"] = "config.broker:Transport"
    TRANSPORT_ALIASES["redis"] = TRANSPORT_ALIASES["rediss"] = "config.redis_broker:Transport"

"""What we ask of Celery's brokers: whole messages, and to be found again soon.

kombu's file-system broker opens a message under its final name and writes it afterwards: a worker
that looks in between takes an empty file, and ends with what its JSON parser raises.
"""

import json
import os
import time
import uuid
from pathlib import Path
from queue import Empty
from typing import Any

from celery.app import amqp
from kombu.connection import Connection
from kombu.transport import TRANSPORT_ALIASES, filesystem

AGAIN_AFTER = 2.0  # seconds from one attempt to reach a broker that is away to the next


class PatientConnection(Connection):
    """A connection whose broker is asked again every two seconds, for ever.

    Worker and beat leave the pauses to kombu, which lets them grow to half a minute; Celery has no
    setting for them.
    """

    def ensure_connection(self, *args: Any, **pauses: Any) -> Connection:
        """Connect; see kombu."""
        steady = {"interval_start": AGAIN_AFTER, "interval_step": 0, "interval_max": AGAIN_AFTER}
        super().ensure_connection(*args, **steady | pauses)  # type: ignore[no-untyped-call]
        return self


class AMQP(amqp.AMQP):  # type: ignore[misc] # Celery has no types
    """Celery's own, with such connections."""

    Connection = PatientConnection


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

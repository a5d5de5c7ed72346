"""Two changes to Celery's brokers: messages are always whole, and reconnecting is fast.

kombu's file-system broker opens a message under its final name and writes it afterwards. A worker
that reads in between gets an empty file, and ends with the error of its JSON parser.
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

AGAIN_AFTER = 2.0  # seconds between two attempts to reach a broker


class PatientConnection(Connection):
    """A connection that tries to reach its broker every two seconds, for ever.

    Worker and beat use the pauses of kombu, which grow to half a minute. Celery has no setting for
    them.
    """

    def ensure_connection(self, *args: Any, **pauses: Any) -> Connection:
        """Connect; see kombu."""
        steady = {"interval_start": AGAIN_AFTER, "interval_step": 0, "interval_max": AGAIN_AFTER}
        super().ensure_connection(*args, **steady | pauses)  # type: ignore[no-untyped-call]
        return self


class AMQP(amqp.AMQP):  # type: ignore[misc] # Celery has no types
    """Celery's own AMQP, with such connections."""

    Connection = PatientConnection


class Channel(filesystem.Channel):
    """Writes a message to another file and renames it. Broken messages are skipped.

    For a skipped message, the tick sends a new one.
    """

    def _put(self, queue: str, payload: Any, **_: Any) -> None:  # type: ignore[override]
        # Messages are read in the order of their names, whose number of digits is equal until 2286.
        name = f"{time.time_ns()}_{uuid.uuid4()}.{queue}.msg"
        whole = Path(self.data_folder_out) / name
        aside = whole.with_suffix(".new")
        try:
            aside.write_text(json.dumps(payload), encoding="utf-8")
            os.replace(aside, whole)
        finally:
            aside.unlink(missing_ok=True)  # a full disk would keep one file for each tick

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        try:
            return super()._get(queue)  # type: ignore[no-untyped-call]
        except ValueError as error:
            raise Empty from error


class Transport(filesystem.Transport):
    """`filesystem://`, with which `use` replaces kombu's own."""

    Channel = Channel


def use() -> None:
    """Use our transports for the addresses of brokers."""
    TRANSPORT_ALIASES["filesystem"] = "config.broker:Transport"
    TRANSPORT_ALIASES["redis"] = TRANSPORT_ALIASES["rediss"] = "config.redis_broker:Transport"

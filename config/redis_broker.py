"""The Redis broker of kombu, changed so that a lost connection does not end a worker.

After a lost connection kombu puts back the messages that are not acknowledged, on a channel whose
transport it has already closed. This raises an AttributeError, which ends Celery like any bug.
"""

from typing import Any

from kombu.transport import redis as kombu_redis
from redis.exceptions import ConnectionError as ConnectionLost


class Channel(kombu_redis.Channel):
    """Raises a connection error for a closed connection, which Celery handles by reconnecting.

    The messages come back when their visibility time-out is over.
    """

    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:
        if self.connection is None or self.connection.client is None:
            raise ConnectionLost("the connection of this channel is closed")
        parameters: dict[str, Any] = super()._connparams(asynchronous)  # type: ignore[no-untyped-call]
        return parameters


class Transport(kombu_redis.Transport):
    """`redis://` and `rediss://`, with which `broker.use` replaces kombu's own."""

    Channel = Channel

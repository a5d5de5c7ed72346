"""The Redis broker of kombu, whose lost connections are reconnected and never end a worker.

After a connection is lost kombu puts back what was not acknowledged, on a channel whose transport
it has already closed. That raises an AttributeError, which Celery takes for a bug and ends with.
"""

from typing import Any

from kombu.transport import redis as kombu_redis
from redis.exceptions import ConnectionError as ConnectionLost


class Channel(kombu_redis.Channel):
    """Says that a closed connection is closed, as Celery knows to handle it.

    The messages come back when their visibility time-out is over.
    """

    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:
        if self.connection is None or self.connection.client is None:
            raise ConnectionLost("the connection of this channel is closed")
        parameters: dict[str, Any] = super()._connparams(asynchronous)  # type: ignore[no-untyped-call]
        return parameters


class Transport(kombu_redis.Transport):
    """`redis://` and `rediss://`, as `broker.use` puts it in the place of kombu's own."""

    Channel = Channel

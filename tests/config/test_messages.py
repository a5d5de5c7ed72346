"""What comes over the broker: a task in JSON, and nothing that could run code (S21)."""

import json
import pickle
from pathlib import Path

import pytest
from celery import Celery
from kombu import Connection
from kombu.exceptions import ContentDisallowed

from config.celery import app

PICKLE = ("application/x-python-serialize", "binary")
JSON = ("application/json", "utf-8")
TASK = {"task": "crm_sync.tick", "id": "1"}


class Runs:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self):
        return Path.touch, (self._path,)


@pytest.fixture
def taken():
    """Send one message to a worker's consumer; return the bodies that it takes and refuses."""

    def taken_(body: bytes, kind: tuple[str, str]) -> tuple[list, list]:
        bodies, refused = [], []
        worker = Celery("one", broker="memory://", set_as_current=False)
        worker.conf.update(accept_content=app.conf.accept_content)
        with Connection("memory://") as connection:
            channel = connection.channel()
            queue = worker.amqp.queues[worker.conf.task_default_queue](channel)
            queue.declare()
            consumer = worker.amqp.TaskConsumer(channel)
            consumer.callbacks = [lambda body, message: bodies.append(body)]
            consumer.on_decode_error = lambda message, error: refused.append(error)
            channel.basic_publish(
                channel.prepare_message(
                    body, content_type=kind[0], content_encoding=kind[1], headers=TASK
                ),
                exchange=queue.exchange.name,
                routing_key=queue.routing_key,
            )
            with consumer:
                connection.drain_events(timeout=5)
            queue.purge()
        return bodies, refused

    return taken_


def test_a_task_in_json_is_taken(taken):
    body = [[], {}, {}]
    assert taken(json.dumps(body).encode(), JSON) == ([body], [])


@pytest.mark.rule("S21")
def test_a_pickled_task_is_refused_and_never_unpickled(taken, tmp_path):
    path = tmp_path / "it ran"
    bodies, refused = taken(pickle.dumps([[Runs(path)], {}, {}]), PICKLE)
    assert (bodies, [type(one) for one in refused]) == ([], [ContentDisallowed])
    assert not path.exists()
    pickle.loads(pickle.dumps(Runs(path)))
    assert path.exists()

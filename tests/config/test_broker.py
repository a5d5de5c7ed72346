"""Messages of the file-system broker are whole, whenever somebody looks (config/broker.py)."""

import resource
import threading
from pathlib import Path
from queue import Empty

import pytest
from kombu import Connection

from config import broker

PAYLOAD = {"words": "many of them " * 20_000}  # long enough to be written in several steps


@pytest.fixture
def channel(tmp_path: Path):
    broker.use()
    folders = {name: str(tmp_path) for name in ("data_folder_in", "data_folder_out")}
    options = folders | {"control_folder": str(tmp_path / "control")}
    with Connection("filesystem://", transport_options=options) as connection:
        yield connection.channel()


def taken(channel, count: int) -> list[dict]:
    found = []
    while len(found) < count:
        try:
            found.append(channel._get("celery"))
        except Empty:
            continue
    return found


def test_a_message_that_is_taken_while_others_are_written_is_whole(channel):
    def write() -> None:
        for number in range(100):
            channel._put("celery", PAYLOAD | {"number": number})

    writer = threading.Thread(target=write)
    writer.start()
    found = taken(channel, 100)
    writer.join()
    assert sorted(one["number"] for one in found) == list(range(100))
    assert {one["words"] for one in found} == {PAYLOAD["words"]}


def test_a_message_that_is_broken_on_the_disk_does_not_end_the_worker(channel, tmp_path: Path):
    (tmp_path / "0_broken.celery.msg").write_bytes(b"")
    channel._put("celery", {"number": 1})
    with pytest.raises(Empty):
        channel._get("celery")
    assert channel._get("celery") == {"number": 1}


def test_a_message_that_cannot_be_written_leaves_no_file(channel, tmp_path: Path):
    """As on a full disk, where a tick a second would leave one each."""
    least, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, most))
    try:
        with pytest.raises(OSError, match="File too large"):
            channel._put("celery", {"number": 1})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (least, most))
    assert [one for one in tmp_path.iterdir() if one.is_file()] == []


def test_a_message_of_another_queue_is_left_there(channel):
    channel._put("other", {"number": 1})
    with pytest.raises(Empty):
        channel._get("celery")
    assert channel._get("other") == {"number": 1}


def test_the_embedded_worker_uses_it():
    from config.celery import app

    with Connection("filesystem://") as connection:
        assert isinstance(connection.transport, broker.Transport)
    assert app.connection().transport.__class__ is broker.Transport


@pytest.mark.parametrize("scheme", ["redis", "rediss"])
def test_a_channel_of_a_closed_connection_to_redis_says_so(scheme):
    broker.use()
    with Connection(f"{scheme}://127.0.0.1:1") as connection:
        transport = connection.transport
        channel = object.__new__(transport.Channel)  # whole ones ask for a server first
        channel.connection = transport
        transport.client = None
        with pytest.raises(transport.connection_errors, match="connection of this channel"):
            channel._connparams()
        channel.connection = None
        with pytest.raises(transport.connection_errors, match="connection of this channel"):
            channel._connparams()


def test_a_worker_never_gives_up_on_its_broker():
    from config.celery import app

    assert app.conf.broker_connection_max_retries is None  # it works without one meanwhile

"""kill -9 of a process that tells operators of alarms, before it noted that they were told."""

import itertools
import json
import math
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from crm_sync.outgoing.worker import AT_ONCE
from tests.crm_sync.receivers import receiving
from tests.journeys.alarming import COUNT
from tests.journeys.mail_server import MailServer, mail_server
from tests.journeys.rows import ask
from tests.processes import Installation, wait_until

ALARMING = ("-m", "tests.journeys.alarming")
LEASED = "select count(*) from crm_sync_alarm where lease_until > current_timestamp"
UNTOLD = "select count(*) from crm_sync_alarm where due_at is not null and kind = '{}'"
DELIVERED = "select count(*) from crm_sync_outgoingmessage where state = 'DELIVERED'"
# Who tells of them: a worker, or beat if there is none.
MAILS = {
    "receiver_failing": ("loop", [f"{COUNT + 1} alarms", f"{COUNT + 1} alarms are over"]),
    "no_worker": ("beat", ["Alarm: No worker is alive", "Over: No worker is alive"]),
}


@pytest.fixture
def mails() -> Iterator[MailServer]:
    with mail_server() as server:
        yield server


@pytest.fixture
def installation(tmp_path: Path, database_url: str, mails: MailServer) -> Iterator[Installation]:
    ours = {"EMAIL_URL": mails.address, "OUTGOING_INTERNAL_HOSTS": "127.0.0.1"}
    one = Installation(tmp_path, database_url, CALL_DEADLINE="4", **ours)
    yield one
    one.stop()


@pytest.mark.processes
@pytest.mark.parametrize("kind", MAILS)
def test_a_mail_of_an_alarm_that_went_out_before_a_kill_goes_once_more_and_no_other_one_does(
    installation, database_url, mails, kind
):
    (process, subjects), untold = MAILS[kind], UNTOLD.format(kind)
    hashes = itertools.cycle("01")  # two processes that go through a set of kinds in two orders

    def start() -> None:
        installation.environment["PYTHONHASHSEED"] = next(hashes)
        if process == "beat":
            installation.start_beat()
        else:
            installation.start_loop(process)

    for number, way in enumerate((("begin", kind), ("end",))):
        installation.run(*ALARMING, *way)
        mails.answers = 1
        start()
        wait_until("two went out", lambda n=number: len(mails.mails) == 3 * n + 2, limit=60)
        installation.kill(process)
        mails.answers = math.inf
        wait_until("nobody holds it", lambda: ask(database_url, LEASED) == [(0,)], limit=20)
        start()
        wait_until("all are told", lambda: ask(database_url, untold) == [(0,)], limit=60)
        installation.kill(process)
    came = [(one["To"].partition("@")[0], one["Subject"]) for one in mails.mails]
    assert came == [(to, subject) for subject in subjects for to in ("one", "two", "two")]
    ids = [one["Message-ID"] for one in mails.mails]
    assert (ids[1], ids[4]) == (ids[2], ids[5])
    assert len(set(ids)) == 4
    assert mails.mails[1].get_payload() == mails.mails[2].get_payload()


@pytest.mark.processes
def test_messages_of_alarms_that_went_out_before_a_kill_go_once_more_with_their_ids(
    installation, database_url
):
    with receiving() as receiver:
        for number, way in enumerate((("begin", "receiver_failing", receiver.url), ("end",))):
            installation.run(*ALARMING, *way)
            receiver.hangs, before = threading.Event(), len(receiver.came)
            installation.start_loop("first")
            wait_until("some went out", lambda n=before: len(receiver.came) > n, limit=60)
            installation.kill("first")
            receiver.hangs.set()
            receiver.hangs = None
            installation.start_loop("second")
            all_of_them = [((number + 1) * COUNT,)]
            wait_until(
                "all are delivered",
                lambda want=all_of_them: ask(database_url, DELIVERED) == want,
                limit=60,
            )
            installation.kill("second")
        came = [(headers["webhook-id"], body) for _, headers, body in receiver.came]
    assert 0 < len(came) - 2 * COUNT <= 2 * AT_ONCE
    assert max(Counter(came).values()) == 2
    said = [json.loads(body)["data"] for body in dict(came).values()]
    assert len(said) == len({(one["alarm"], one["state"]) for one in said}) == 2 * COUNT
    assert Counter(one["state"] for one in said) == {"BEGAN": COUNT, "ENDED": COUNT}

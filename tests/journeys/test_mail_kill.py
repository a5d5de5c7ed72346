"""kill -9 of a worker whose mail has gone out, and whose watermark has not moved yet."""

import math
from pathlib import Path

import pytest

from tests.journeys.mail_server import mail_server
from tests.journeys.rows import ask
from tests.processes import Installation, wait_until

# Of each mail: its subject, and what holds as soon as it is noted and its row is free.
MAILS = {
    "news": (
        "Orders: 1 was cancelled",
        "select count(*) from orders_personsettings where mailed_at is not null"
        " and telling_until is null and lease_token is null",
    ),
    "reminder": (
        "Reminder of 1 appointment",
        "select count(*) from orders_reminder, orders_remindersettings"
        " where mailed_at is not null and lease_token is null",
    ),
}


@pytest.mark.rule("I33")
@pytest.mark.processes
@pytest.mark.parametrize("kind", MAILS)
def test_a_worker_that_is_killed_after_its_mail_went_out_sends_the_same_once_more(
    tmp_path: Path, database_url: str, kind: str
):
    subject, noted = MAILS[kind]
    with mail_server() as server:
        installation = Installation(
            tmp_path, database_url, CALL_DEADLINE="4", EMAIL_URL=server.address
        )
        server.answers = 0
        try:
            installation.run("-m", "tests.journeys.mailing", kind)
            installation.start_loop("first")
            wait_until("the mail went out", lambda: len(server.mails) == 1, limit=60)
            installation.kill("first")
            assert ask(database_url, noted) == [(0,)]
            server.answers = math.inf
            installation.start_loop("second")
            wait_until("the mail went out again", lambda: len(server.mails) == 2, limit=60)
            wait_until("it is noted", lambda: ask(database_url, noted) == [(1,)], limit=20)
        finally:
            installation.stop()
    first, second = server.mails
    assert first["Message-ID"] == second["Message-ID"]
    assert first["Subject"] == second["Subject"] == subject
    assert first.get_payload() == second.get_payload()

"""What an error means for the connection as a whole (A8)."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from crm_sync.models import Workspace
from crm_sync.platform.client import Client
from crm_sync.platform.errors import AuthError, NotFoundError, RejectedError, TransientError

NOW = datetime(2026, 1, 31, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("error", "problem", "pause"),
    [
        (TransientError("busy", unclear=False, pauses=True, retry_after=90), "busy", 90),
        (AuthError("wrong token"), "wrong token", 60),
        (TransientError("no answer", unclear=True), "no answer", None),
        (RejectedError("too long", status=400), "", None),
        (NotFoundError("no such order"), "", None),
    ],
)
def test_only_what_concerns_the_connection_is_noted_and_only_that_pauses(
    main, error, problem, pause
):
    with time_machine.travel(NOW, tick=False), pytest.raises(type(error)), main.calling():
        raise error
    stored = Workspace.objects.get()
    until = NOW + timedelta(seconds=pause) if pause else None
    assert (stored.problem, stored.paused_until) == (problem, until)
    with time_machine.travel(NOW + timedelta(minutes=2), tick=False), stored.calling():
        pass
    stored.refresh_from_db()
    assert (stored.problem, stored.paused_until, stored.pauses) == ("", None, 0)


@pytest.mark.parametrize("by_hand", [False, True])
def test_only_a_person_who_tries_the_connection_ends_a_pause_before_its_time(main, by_hand):
    with pytest.raises(AuthError), main.calling():
        raise AuthError("wrong token")
    with main.calling(by_hand=by_hand):
        pass
    main.refresh_from_db()
    assert (main.paused_until is None, main.problem == "", main.pauses) == (
        (True, True, 0) if by_hand else (False, False, 1)
    )


OLD, NEW = (("https://old.test", "old token"), ("https://new.test", "new token"))


def pair(client: Client) -> tuple[str, str]:
    return client.base_url, client.credentials.value


@pytest.mark.rule("S15")
def test_a_row_that_was_read_without_its_secrets_reads_the_address_anew_with_the_token(main):
    Workspace.objects.update(**dict(zip(("base_url", "fixed_token"), OLD, strict=True)))
    row = Workspace.objects.defer(*Workspace.SECRETS).get()
    Workspace.objects.update(**dict(zip(("base_url", "fixed_token"), NEW, strict=True)))
    assert pair(row.client()) == NEW


class Turning(str):
    """An address; as another thread may, it has the row read anew once somebody looks into it."""

    read_anew: Callable[[], None]

    def __contains__(self, part: str) -> bool:
        self.read_anew()
        return super().__contains__(part)


@pytest.mark.rule("S15")
def test_a_row_that_another_thread_reads_anew_gives_address_and_token_of_one_moment():
    address, token = OLD
    row = Workspace(base_url=Turning(address), fixed_token=token)
    fresh = Workspace(base_url=NEW[0], fixed_token=NEW[1])
    row.base_url.read_anew = lambda: row.__dict__.update(fresh.__dict__)
    assert (pair(row.client()), pair(row.client())) == (OLD, NEW)

"""What an error means for the connection as a whole (A8)."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from crm_sync.models import Workspace
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

"""Room for calls outside a turn: a command takes a slot of the workspace, like a worker (A8)."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from django.utils import timezone

from crm_sync.models import Workspace
from crm_sync.platform.errors import TransientError
from crm_sync.platform.problems import meaning
from crm_sync.sentence import Sentence, sentence
from crm_sync.work import slots

PATIENCE = 5.0  # seconds
NO_REASON = sentence("no reason is noted")

# A context that holds the room for one call, or for the few calls about one property.
Room = Callable[[Workspace], AbstractContextManager[object]]


class NoRoom(TransientError):
    """No call may be made now, and none was made."""

    def __init__(self, reason: Sentence) -> None:
        super().__init__(reason, unclear=False)


@contextmanager
def wait_for_room(workspace: Workspace, patience: float = PATIENCE) -> Iterator[None]:
    """Wait until the workspace allows one more call, and hold a slot for it.

    Args:
        patience: seconds to wait for a free slot.

    Raises:
        NoRoom: the workspace is paused, or no slot becomes free.
    """
    end = time.monotonic() + patience
    while True:
        workspace.refresh_from_db(fields=["paused_until", "pauses", "problem"])
        if workspace.is_paused(timezone.now()):
            reason = meaning(workspace.problem) if workspace.problem else NO_REASON
            raise NoRoom(sentence("the workspace is paused: %(reason)s", reason=reason))
        with slots.hold(workspace) as slot:
            if slot is not None:
                yield
                return
        if time.monotonic() > end:
            raise NoRoom(sentence("the workers use all calls that the workspace allows"))
        time.sleep(0.1)

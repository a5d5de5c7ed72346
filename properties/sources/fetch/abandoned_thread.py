"""Work on a folder in a thread that can be abandoned: a network file system may hang for ever."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from crm_sync.sentence import sentence
from properties.sources.fetch.transfer import failed

# By use and path, the last thread that was abandoned: no other one for a path that hangs.
_abandoned: dict[tuple[str, str], threading.Thread] = {}


@contextmanager
def in_thread(use: str, path: str, work: Callable[[], object]) -> Iterator[threading.Thread]:
    """Start the work in a thread. If it has not ended at the end of the block, it is abandoned.

    Args:
        use: what the thread does with the path, such as "read".

    Raises:
        TransientError: an abandoned thread still waits for this path.
    """
    key = (use, path)
    if (before := _abandoned.get(key)) and before.is_alive():
        raise failed(sentence("the folder does not answer: an earlier attempt still waits for it"))
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield thread
    finally:
        if thread.is_alive():
            _abandoned[key] = thread

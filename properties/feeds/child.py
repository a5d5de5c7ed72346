"""The process that reads one feed: `python -m properties.feeds.child FILE < PROFILE`.

It has no settings of Django, so it reaches no database and no secret, and translates nothing. It
writes the items to its standard output, one item a line, and then how the file ended. A file that
needs too much time or memory ends only this process.
"""

import json
import resource
import signal
import sys
import time
from pathlib import Path
from typing import BinaryIO

from django.apps import apps
from django.conf import settings

from crm_sync.installed import beside
from crm_sync.sentence import Sentence, sentence, sentence_of
from properties.feeds.limits import MAX_MEMORY, MAX_SECONDS
from properties.feeds.profile import Profile
from properties.feeds.recognition import read_feed
from properties.feeds.records import NotAFeed
from properties.feeds.spool import Line


def main(path: Path, profile: Profile, output: BinaryIO) -> None:
    """Write the items of a file, and ["end", kind, problem] as the last line.

    The kind is "whole", "NotAFeed" or "Truncated". After a bug of ours there is no such line.
    """
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # the parent closed the pipe: end silently
    # A number with too many digits makes its value invalid, not the whole file. With Python's limit
    # the JSON reader would crash. The processor time for one record limits it instead.
    sys.set_int_max_str_digits(0)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_DATA, MAX_MEMORY)
    kind, problem, is_too_large = "whole", Sentence(), False
    try:
        _write_items(path, profile, output)
    except NotAFeed as error:
        kind, problem = type(error).__name__, Sentence(str(error))
    except MemoryError:
        is_too_large = True
    if is_too_large:  # outside the except block the memory is free again
        size = resource.getrlimit(resource.RLIMIT_DATA)[0] // 1024**2
        why = sentence("takes more than %(size)s MiB to read: split it", size=size)
        kind, problem = "NotAFeed", sentence_of(path.name, why)
    output.write(json.dumps(["end", kind, problem.stored]).encode("ascii") + b"\n")
    output.flush()


def _write_items(path: Path, profile: Profile, output: BinaryIO) -> None:
    """Write all items. The kernel limits each to MAX_SECONDS of processor time."""
    _limit(resource.RLIMIT_CPU, MAX_SECONDS)
    for item in read_feed(path, profile):
        output.write(Line.of(item).text)
        _limit(resource.RLIMIT_CPU, int(time.process_time()) + MAX_SECONDS)


def _limit(kind: int, value: int) -> None:
    """Set a limit of this process, at most the hard limit that it started with."""
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


if __name__ == "__main__":
    settings.configure(LOCALE_PATHS=[beside("locale")])  # for the names in tables of people
    apps.populate([])
    main(Path(sys.argv[1]), Profile.from_json(sys.stdin.read()), sys.stdout.buffer)

"""The process that reads one feed: `python -m properties.feeds.child FILE < PROFILE`.

It knows neither Django nor a database nor a secret. What it reads goes to its standard output, one
item a line, and behind that how the file ends. A file that asks for too much ends this process and
no other.
"""

import json
import resource
import signal
import sys
import time
from pathlib import Path
from typing import BinaryIO

from properties.feeds.limits import MAX_MEMORY, MAX_SECONDS
from properties.feeds.profile import Profile
from properties.feeds.recognition import read_feed
from properties.feeds.records import NotAFeed
from properties.feeds.spool import Line


def main(path: Path, profile: Profile, output: BinaryIO) -> None:
    """Write what is in a file, and in the last line ["end", kind, problem].

    The kind is "whole", "NotAFeed" or "Truncated". A bug of ours writes no last line.
    """
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # nobody reads any more: end without a word
    # A number with too many costs its value, and not the file. Under a limit of Python's the reader
    # of JSON crashes; what bounds the time here is that of the processor for one record.
    sys.set_int_max_str_digits(0)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_DATA, MAX_MEMORY)
    kind, problem, is_too_large = "whole", "", False
    try:
        _write_items(path, profile, output)
    except NotAFeed as error:
        kind, problem = type(error).__name__, str(error)
    except MemoryError:
        is_too_large = True
    if is_too_large:  # only here is the memory of what failed free again
        size = resource.getrlimit(resource.RLIMIT_DATA)[0] // 1024**2
        kind, problem = "NotAFeed", f"{path.name}: takes more than {size} MiB to read: split it"
    output.write(json.dumps(["end", kind, problem]).encode("ascii") + b"\n")
    output.flush()


def _write_items(path: Path, profile: Profile, output: BinaryIO) -> None:
    """Write all items; each may take MAX_SECONDS of the processor, and the kernel counts them."""
    _limit(resource.RLIMIT_CPU, MAX_SECONDS)
    for item in read_feed(path, profile):
        output.write(Line.of(item).text)
        _limit(resource.RLIMIT_CPU, int(time.process_time()) + MAX_SECONDS)


def _limit(kind: int, value: int) -> None:
    """Set a limit of this process, within the limits that it was started with."""
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Profile.from_json(sys.stdin.read()), sys.stdout.buffer)

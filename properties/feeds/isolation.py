"""Read a feed in a process of its own, which ends with the process that started it.

A parser holds the whole interpreter for as long as it works, and what it builds is built before
anyone can look at it. So files of strangers are read where only the reader can freeze or burst.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, cast

from properties.feeds.limits import MAX_SECONDS
from properties.feeds.profile import USUAL, Profile
from properties.feeds.recognition import reader_of
from properties.feeds.records import Item, NotAFeed, Truncated
from properties.feeds.spool import Line

_END = b'["end",'
_ROOT = Path(__file__).parents[2]
_WHY: dict[str, type[NotAFeed]] = {error.__name__: error for error in (NotAFeed, Truncated)}
# How a parser ends that got no memory and did not check for that.
_BURST = frozenset({-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS})


class ReaderEnded(Exception):
    """The process that reads ended without a word: somebody ended it, or a bug of ours did."""


def open_feed(path: Path, profile: Profile = USUAL) -> Iterator[Item]:
    """Return what is in a file as a stream; raises as `open_lines` does."""
    read = open_lines(path, profile)
    return (line.item() for line in read)


def open_lines(path: Path, profile: Profile = USUAL) -> Iterator[Line]:
    """Return what is in a file as a stream of lines, in its order.

    Its process begins with the first of them, waits when nobody takes more, and ends when the
    stream is closed or its owner is gone.

    Raises NotAFeed at once for a file that cannot be read or is in no format of ours; while it is
    read, NotAFeed for one that turns out to be another format, hostile, or beyond a limit of
    `limits`, Truncated where it breaks off after records, and ReaderEnded. Nothing of such a file
    should be imported.
    """
    reader_of(path)
    return _lines(path, profile)


def _lines(path: Path, profile: Profile) -> Iterator[Line]:
    kind, problem = "", ""
    with _process(path, profile) as process:
        for line in process.stdout or ():
            if not line.endswith(b"\n"):  # it ended in the middle
                break
            if line.startswith(_END):
                _, kind, problem = json.loads(line)
                break
            yield Line.read(line)
        code = process.wait()
    if kind != "whole":
        raise _error(path.name, kind, problem, code)


def _error(name: str, kind: str, problem: str, code: int) -> Exception:
    if kind in _WHY:
        return _WHY[kind](problem)
    if code == -signal.SIGXCPU:
        return NotAFeed(f"{name}: one record takes more than {MAX_SECONDS} seconds to read")
    if code in _BURST:
        return NotAFeed(f"{name}: takes too much memory to read: split it")
    return ReaderEnded(f"{name}: the process that reads it ended with {code}: see the log")


@contextmanager
def _process(path: Path, profile: Profile) -> Iterator[subprocess.Popen[bytes]]:
    """Start the process, with nothing of ours but where the code is; end it in any case."""
    search = os.pathsep.join([str(_ROOT), *filter(None, sys.path)])
    process = subprocess.Popen(  # noqa: S603 - our own interpreter; the path is one argument
        [sys.executable, "-m", "properties.feeds.child", str(path.absolute())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": search, "PYTHONUTF8": "1"},
        start_new_session=True,  # an interrupt of the terminal is for the command
    )
    with process:
        try:
            # If it ended at once, its output shows why.
            with suppress(BrokenPipeError), cast("IO[bytes]", process.stdin) as file:
                file.write(profile.to_json().encode("ascii"))
            yield process
        finally:
            process.kill()

"""Read a feed in a process of its own, which ends with the process that started it.

While a parser works it blocks the whole interpreter, and it builds its result before we can check
the size. So files of strangers are read in a process that can hang or crash alone.
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

from crm_sync.sentence import Sentence, sentence, sentence_of
from properties.feeds.limits import MAX_SECONDS
from properties.feeds.profile import USUAL, Profile
from properties.feeds.recognition import reader_of
from properties.feeds.records import Item, NotAFeed, Truncated
from properties.feeds.spool import Line

_END = b'["end",'
_ROOT = Path(__file__).parents[2]
_WHY: dict[str, type[NotAFeed]] = {error.__name__: error for error in (NotAFeed, Truncated)}
# How a parser ends that gets no memory and does not check for it.
_BURST = frozenset({-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS})


class ReaderEnded(Exception):
    """The reading process ended without a report: it was killed, or it has a bug."""


def open_feed(path: Path, profile: Profile = USUAL) -> Iterator[Item]:
    """Return the items of a file as a stream; raises the errors of `open_lines`."""
    read = open_lines(path, profile)
    return (line.item() for line in read)


def open_lines(path: Path, profile: Profile = USUAL) -> Iterator[Line]:
    """Return the items of a file as a stream of lines, in the order of the file.

    The process starts when the first line is read, waits while no line is read, and ends when the
    stream is closed or the caller's process ends.

    After any of these errors, import nothing of the file.

    Raises:
        NotAFeed: at once, if the file is unreadable or in no format of ours; during reading, if it
            has another format, is hostile, or exceeds a limit of `limits`.
        Truncated: during reading, if the file breaks off after some records.
        ReaderEnded: during reading.
    """
    reader_of(path)
    return _lines(path, profile)


def _lines(path: Path, profile: Profile) -> Iterator[Line]:
    kind, problem = "", Sentence()
    with _process(path, profile) as process:
        for line in process.stdout or ():
            if not line.endswith(b"\n"):  # the process ended within the line
                break
            if line.startswith(_END):
                _, kind, stored = json.loads(line)
                problem = Sentence.of(stored)
                break
            yield Line.read(line)
        code = process.wait()
    if kind != "whole":
        raise _error(path.name, kind, problem, code)


def _error(name: str, kind: str, problem: Sentence, code: int) -> Exception:
    if kind in _WHY:
        return _WHY[kind](problem)
    if code == -signal.SIGXCPU:
        why = sentence("one record takes more than %(most)s seconds to read", most=MAX_SECONDS)
        return NotAFeed.of(name, why)
    if code in _BURST:
        return NotAFeed.of(name, sentence("takes too much memory to read: split it"))
    why = sentence("the process that reads it ended with %(code)s: see the log", code=code)
    return ReaderEnded(sentence_of(name, why))


@contextmanager
def _process(path: Path, profile: Profile) -> Iterator[subprocess.Popen[bytes]]:
    """Start the process, and kill it at the end. Its environment has only the path of the code."""
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

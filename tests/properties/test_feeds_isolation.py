"""A feed is read by a process of its own: the same records, within limits, none left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from openpyxl import Workbook

from properties.feeds import NotAFeed, ReaderEnded, Truncated, open_feed
from properties.feeds.recognition import read_feed
from tests.properties.test_full_feed_guard import as_json

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PROC = Path("/proc")
linux = pytest.mark.skipif(not PROC.is_dir(), reason="looks into /proc")


@pytest.fixture
def long_feed(tmp_path) -> Path:
    """More records than fit between two processes."""
    path = tmp_path / "feed"
    path.write_text(as_json([f"R-{n}" for n in range(5_000)]))
    return path


def readers() -> list[int]:
    """The processes that read a feed for this one."""
    found = []
    for status in PROC.glob("[0-9]*/stat"):
        try:
            parent = int(status.read_text().rpartition(")")[2].split()[1])
            command = (status.parent / "cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if parent == os.getpid() and b"properties.feeds.child" in command:
            found.append(int(status.parent.name))
    return found


def test_it_tells_what_is_read_in_one_process(tmp_path):
    book = Workbook()
    for row in (["objectReferenceId", "floor"], ["R-1", 4], ["R-2", "high"]):
        book.active.append(row)
    book.save(tmp_path / "stock.xlsx")
    names = ("swissrets.xml", "swissrets.json", "idx/unload.txt", "properties.csv")
    for path in (*(EXAMPLES / name for name in names), tmp_path / "stock.xlsx"):
        assert list(open_feed(path)) == list(read_feed(path)) != []


def test_what_is_no_feed_says_so_at_once_and_what_breaks_off_behind_its_records(tmp_path):
    path = tmp_path / "feed"
    path.write_text("once upon a time")
    with pytest.raises(NotAFeed, match="neither SwissRETS"):
        open_feed(path)
    path.write_text(as_json(["R-1", "R-2"])[:-2])
    found = open_feed(path)
    assert [next(found).reference, next(found).reference] == ["R-1", "R-2"]
    with pytest.raises(Truncated, match=r"^feed: broken JSON after record 2"):
        next(found)


def test_its_process_loads_what_reads_workbooks_only_for_a_workbook():
    found = "import properties.feeds.child, sys; print('openpyxl' in sys.modules)"
    command = [sys.executable, "-c", found]
    assert subprocess.run(command, capture_output=True, check=True).stdout == b"False\n"


@linux
def test_its_process_has_limits_and_nothing_of_ours(long_feed, monkeypatch):
    monkeypatch.setenv("PLATFORM_TOKEN", "secret")
    found = open_feed(long_feed)
    next(found)
    (reader,) = readers()
    limits = {
        line[:25].strip(): line[25:].split()[0]
        for line in (PROC / str(reader) / "limits").read_text().splitlines()
    }
    assert (limits["Max data size"], limits["Max core file size"]) == ("536870912", "0")
    assert 30 <= int(limits["Max cpu time"]) <= 31
    variables = (PROC / str(reader) / "environ").read_bytes().split(b"\0")
    names = {variable.partition(b"=")[0] for variable in variables}
    assert names == {b"PYTHONPATH", b"PYTHONUTF8", b""}
    opened = {os.readlink(f) for f in (PROC / str(reader) / "fd").iterdir()}
    assert {name for name in opened if name.startswith("/")} <= {
        "/dev/null",
        str(long_feed),
        os.readlink("/proc/self/fd/2"),
    }
    assert not {name for name in opened if name.startswith("socket")}


@linux
def test_it_waits_when_nobody_takes_more_and_ends_when_the_stream_is_closed(long_feed):
    found = open_feed(long_feed)
    next(found)
    (reader,) = readers()
    eventually(
        lambda: (PROC / str(reader) / "stat").read_text().rpartition(")")[2].split()[0] == "S"
    )
    positions = [
        int(info.read_text().split()[1]) for info in (PROC / str(reader) / "fdinfo").iterdir()
    ]
    assert 0 < max(positions) < long_feed.stat().st_size
    found.close()
    assert readers() == []


@linux
def test_it_is_ended_in_the_middle_of_its_work_too(long_feed):
    found = open_feed(long_feed)
    next(found)
    (reader,) = readers()
    os.kill(reader, signal.SIGSTOP)  # as if it worked on one record for a long time
    found.close()
    assert readers() == []


@linux
def test_it_ends_with_its_owner(long_feed):
    code = (
        "import sys, time; from pathlib import Path; from properties.feeds import open_feed;"
        "found = open_feed(Path(sys.argv[1])); next(found); print('on', flush=True);"
        "time.sleep(600)"
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", code, str(long_feed)], cwd=ROOT, stdout=subprocess.PIPE
    )
    with owner:
        assert owner.stdout.readline() == b"on\n"
        children = (PROC / str(owner.pid) / "task" / str(owner.pid) / "children").read_text()
        (reader,) = children.split()
        owner.kill()
    eventually(lambda: not (PROC / reader).exists())


@linux
@pytest.mark.parametrize(
    ("number", "error", "message"),
    [
        (signal.SIGXCPU, NotAFeed, "^feed: one record takes more than 30 seconds to read$"),
        (signal.SIGSEGV, NotAFeed, "^feed: takes too much memory to read: split it$"),
        (
            signal.SIGKILL,
            ReaderEnded,
            "^feed: the process that reads it ended with -9: see the log$",
        ),
    ],
)
def test_an_end_by_a_signal_says_what_it_means(long_feed, number, error, message):
    found = open_feed(long_feed)
    next(found)
    (reader,) = readers()
    os.kill(reader, number)
    with pytest.raises(error, match=message):
        list(found)


def test_a_file_that_takes_too_much_memory_is_no_feed(tmp_path):
    path = tmp_path / "feed"
    projects = [
        {"units": [{"referenceId": f"unit {n} of {p}"} for n in range(10_000)]} for p in range(50)
    ]
    record = {"id": "1", "unitReferenceId": "unit 1"}
    path.write_text(json.dumps({"projects": projects, "properties": [record]}))
    code = (
        "import resource, sys; from pathlib import Path; from properties.feeds import open_feed;"
        "resource.setrlimit(resource.RLIMIT_DATA, (48 << 20, 48 << 20));"
        "list(open_feed(Path(sys.argv[1])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.splitlines()[-1] == (
        "properties.feeds.records.NotAFeed: feed: takes more than 48 MiB to read: split it"
    )


def eventually(holds) -> None:
    for _ in range(1_000):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError("it never came")

"""What the processes of an installation have used: processor, statements, bytes of WAL."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg

from lab.model.growth import Work

TICKS = os.sysconf("SC_CLK_TCK")
ASKED = """
select (select coalesce(sum(calls), 0) from pg_stat_statements),
    pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')
"""


@dataclass
class Meter:
    """The processes, by the part of the installation that they are, and the database.

    Attributes:
        roots: part → the ids of its first processes.
    """

    roots: dict[str, list[int]]
    database: psycopg.Connection

    def read(self) -> Work:
        """Return what was used until now, in milliseconds of processor."""
        used = {part: sum(map(_used, pids)) for part, pids in self.roots.items()}
        statements, wal = self.database.execute(ASKED).fetchone()
        return Work(**used, statements=float(statements), wal=float(wal))


def postmaster(database: psycopg.Connection) -> int:
    """Return the id of the process that started the one we are connected to."""
    return int(_stat(database.info.backend_pid)[1])


def memory(pid: int) -> float:
    """Return the MiB that a process and its children have at most held, of their own and shared."""
    found = 0.0
    for one in _with_children(pid):
        for line in Path(f"/proc/{one}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                found += int(line.split()[1]) / 1024
    return found


def _used(pid: int) -> float:
    """Return the milliseconds of a process, of its children, and of those that have ended."""
    ticks = 0
    for one in _with_children(pid):
        with suppress(FileNotFoundError, ProcessLookupError):  # its parent counts it then
            ticks += sum(map(int, _stat(one)[11:15]))
    return 1000 * ticks / TICKS


def _with_children(pid: int) -> Iterator[int]:
    """Yield a process and all that it started; one may end meanwhile."""
    yield pid
    with suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for one in (task / "children").read_text().split():
                yield from _with_children(int(one))


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat behind the name, which may have any character."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()

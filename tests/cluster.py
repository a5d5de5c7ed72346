"""A PostgreSQL of a run's own, which it may stop and start again while others use theirs."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.processes import free_port

OWNER = "postgres"  # whom root runs it as: PostgreSQL refuses to run as root


def is_installed() -> bool:
    """Tell whether this machine has what starts a server."""
    return _programs() is not None


class Cluster:
    """A server with its files in a folder that is gone when it is removed."""

    def __init__(self) -> None:
        programs = _programs()
        assert programs is not None, "there is no initdb"
        self.programs, self.port = programs, free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="crm-sync-cluster-"))
        self.url = f"postgres://{OWNER}@127.0.0.1:{self.port}/postgres"
        if os.geteuid() == 0:
            shutil.chown(self.folder, OWNER)
        self._run("initdb", "--auth", "trust", "--username", OWNER, "--no-sync")
        self.start()

    def start(self) -> None:
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1"
        log = self.folder / "log"
        self._run("pg_ctl", "start", "--wait", "--log", str(log), "--options", options)

    def stop(self, *, mode: str = "fast") -> None:
        """End it; `immediate` as a crash does, so that it recovers at its next start."""
        self._run("pg_ctl", "stop", "--wait", "--mode", mode)

    def remove(self) -> None:
        self.stop(mode="immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        as_owner = ("runuser", "-u", OWNER, "--") if os.geteuid() == 0 else ()
        data = ("--pgdata", str(self.folder / "data"))
        command = [*as_owner, str(self.programs / program), *arguments, *data]
        # The server lives on and would hold a pipe open.
        subprocess.run(
            command,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )


def _programs() -> Path | None:
    if asked := shutil.which("pg_config"):
        done = subprocess.run([asked, "--bindir"], capture_output=True, text=True, check=True)
        if (Path(done.stdout.strip()) / "initdb").exists():
            return Path(done.stdout.strip())
    found = shutil.which("initdb")
    return Path(found).resolve().parent if found else None

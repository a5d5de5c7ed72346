"""No other user of the machine reads DATA_DIR: with the database goes every session (S5)."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from tests.config.web import web
from tests.processes import ROOT, Installation, wait_until

LOOK = "from config import settings"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def settings(folder: Path, script: str = LOOK, **options) -> subprocess.CompletedProcess[str]:
    """Load the settings in a process of its own, which begins with the usual rights."""
    return subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env=os.environ | {"DATA_DIR": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        umask=0o022,
        **options,
    )


@pytest.mark.rule("S5")
@pytest.mark.processes
def test_all_that_the_processes_make_is_for_one_user(tmp_path):
    """Web, worker and beat, with the embedded database and broker."""
    before = os.umask(0o022)
    home = tmp_path / "home"
    home.mkdir()
    try:
        folder = tmp_path / "data"
        url = f"sqlite:///{folder / 'db.sqlite3'}"
        installation = Installation(folder, url, HOME=str(home), XDG_RUNTIME_DIR="")
        installation.manage("migrate", "--verbosity", "0")
        installation.manage(
            "createsuperuser", "--username", "a", "--email", "a@x.test", "--noinput"
        )
        installation.start_worker()
        installation.start_loop("loop")  # its main thread keeps the database open
        with web(installation):
            wait_until("the WAL", (folder / "db.sqlite3-wal").exists, limit=20)
        installation.stop()
    finally:
        os.umask(before)
    made = {path for path in [folder, *folder.rglob("*")] if not path.name.endswith(".log")}
    assert {path.name for path in made} > {"db.sqlite3", "secrets.key", "broker", "queue"}
    assert [path for path in made if mode(path) & 0o077] == []
    assert list(home.iterdir()) == []


def test_a_folder_that_others_may_enter_is_closed_once_with_one_line(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "db.sqlite3").write_text("")
    (folder / "secrets.key").write_text(Fernet.generate_key().decode())
    folder.chmod(0o755)
    first, second = settings(folder), settings(folder)
    (line,) = first.stderr.splitlines()
    assert line.startswith(
        f"DATA_DIR {folder} was open to other users of this machine (drwxr-xr-x): now it is for "
    )
    assert (second.returncode, second.stderr) == (0, "")
    assert mode(folder) == 0o700  # nobody else reaches what is in it, whatever its own rights are


def test_a_folder_that_users_share_is_refused_and_left_as_it_is(tmp_path):
    tmp_path.chmod(0o1777)
    done = settings(tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith(
        f"DATA_DIR {tmp_path} is a folder that users share: set DATA_DIR to one of its own."
    )
    assert mode(tmp_path) == 0o1777


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
def test_a_folder_of_somebody_else_is_told_in_words(tmp_path):
    """By calling the rule as that user, who need not be able to read our packages."""
    theirs = Path(tempfile.mkdtemp())  # above `tmp_path` nobody else may look
    theirs.chmod(0o755)
    os.chown(theirs, 1, 1)
    script = (
        "import os; from pathlib import Path; from config import data_dir; os.seteuid(2)\n"
        f"try: data_dir.prepare(Path({str(theirs)!r}))\nexcept Exception as error: print(error)"
    )
    assert settings(tmp_path / "ours", script).stdout.strip() == (
        f"DATA_DIR {theirs} belongs to daemon, and this runs as bin: run it as daemon,"
        f" or `chown -R bin {theirs}`."
    )
    done = settings(theirs)
    assert done.returncode == 0
    assert f"DATA_DIR {theirs} belongs to daemon, and this runs as root" in done.stderr
    shutil.rmtree(theirs)


def test_a_folder_that_cannot_be_made_is_told_in_words(tmp_path):
    (tmp_path / "file").write_text("")
    done = settings(tmp_path / "file" / "data")
    assert done.returncode == 1
    assert f"DATA_DIR {tmp_path / 'file' / 'data'} cannot be made: Not a directory." in done.stderr


def test_a_broker_that_cannot_be_made_is_told_in_words(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    (folder / "broker").write_text("")
    done = settings(folder)
    assert done.returncode == 1
    told = f"DATA_DIR {folder / 'broker' / 'queue'} cannot be made: Not a directory."
    assert told in done.stderr


def test_a_key_that_cannot_be_read_is_told_in_words(tmp_path):
    """As one that root put there is for everybody else."""
    (tmp_path / "data" / "secrets.key").mkdir(mode=0o700, parents=True)
    done = settings(tmp_path / "data")
    assert done.returncode == 1
    assert "secrets.key cannot be read: Is a directory. It must belong to the" in done.stderr

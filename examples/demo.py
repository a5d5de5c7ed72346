"""Start the product and a sandbox of the platform on this machine, with embedded defaults.

    python -m examples.demo            until Ctrl-C; processes that die are started again, and
                                       the next start continues with the same data
    python -m examples.demo --smoke    on free ports, to a finished order, then checked and removed

Exit code with --smoke: 0 if both sides agree, else 1.
"""

import argparse
import fcntl
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from examples.supervisor import Supervisor

ROOT = Path(__file__).resolve().parent.parent
WEB_PORT, SANDBOX_PORT = 8000, 8900
SMOKE_LIMIT = 170  # seconds


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the product with a sandbox of the platform.")
    parser.add_argument("--smoke", action="store_true", help="run to a finished order and check it")
    parser.add_argument("--step", type=float, help="seconds between two steps of an order")
    parser.add_argument("--web-port", type=int, default=WEB_PORT, help="of the admin")
    parser.add_argument("--sandbox-port", type=int, default=SANDBOX_PORT, help="of the sandbox")
    arguments = parser.parse_args()
    ports = arguments.web_port, arguments.sandbox_port
    if not all(0 < port < 65536 for port in ports) or ports[0] == ports[1]:
        parser.error("--web-port and --sandbox-port must be two numbers from 1 to 65535")
    if not arguments.smoke:
        return run(ROOT / "var" / "demo", *ports, step=arguments.step or 8.0)
    folder = Path(tempfile.mkdtemp(prefix="crm-sync-smoke-"))
    try:
        return run(folder, free_port(), free_port(), step=arguments.step or 1.0, smoke=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(folder: Path, web_port: int, sandbox_port: int, *, step: float, smoke: bool = False) -> int:
    """Run the demo, unless another one uses the folder; return the exit code."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / "demo.lock").open("wb") as lock:  # the system releases it when this process ends
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            text = f"A demo runs already with the data in {folder}: stop it with Ctrl-C, or use it."
            print(text, file=sys.stderr)
            return 1
        return run_alone(folder, web_port, sandbox_port, step=step, smoke=smoke)


def run_alone(
    folder: Path, web_port: int, sandbox_port: int, *, step: float, smoke: bool = False
) -> int:
    """Prepare the database, then run the processes. No other demo uses the folder."""
    for name, port in (("web", web_port), ("sandbox", sandbox_port)):
        if not is_free(port):
            text = f"port {port} ({name}) is taken: is the demo running already?"
            print(f"{text} --{name}-port takes another", file=sys.stderr)
            return 1
    token = kept(folder / "platform.token")
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "PYTHONPATH": str(ROOT),
        "PYTHONUNBUFFERED": "1",
        "DATA_DIR": str(folder),
        "DATABASE_URL": f"sqlite:///{folder / 'db.sqlite3'}",
        "CELERY_BROKER_URL": "filesystem://localhost",
        "PUBLIC_BASE_URL": f"http://127.0.0.1:{web_port}",
        "WEB_PORT": str(web_port),
        "SANDBOX_PORT": str(sandbox_port),
        "SANDBOX_STEP": f"{step:g}",
        "MATERIALS_DOWNLOAD": "true",
        "MATERIALS_INTERNAL_HOSTS": f"127.0.0.1:{sandbox_port}",
        "PLATFORM_TOKEN": token,
        "SANDBOX_TOKEN": token,  # not an argument: it may begin with "-"
        "ADMIN_PASSWORD": kept(folder / "admin.password"),
        "DEMO_UNTIL_FINISHED": "1" if smoke else "",
        "LOG_LEVEL": "WARNING",
        "FORKED_BY_MULTIPROCESSING": "1",
    }
    manage = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    if subprocess.run(manage, cwd=ROOT, env=environment, check=False).returncode:
        return 1
    procfile = ROOT / "examples" / "Procfile"
    supervisor = Supervisor(procfile, environment, restarts=not smoke)
    return supervisor.run(limit=SMOKE_LIMIT if smoke else None)


def kept(path: Path) -> str:
    """Return the secret in the file, which the first start generates."""
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(12))
    return path.read_text()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


if __name__ == "__main__":
    sys.exit(main())

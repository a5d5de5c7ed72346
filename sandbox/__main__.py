"""`python -m sandbox`: serve the sandbox on a port."""

from __future__ import annotations

import argparse
import logging
import os
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gunicorn.app.base import BaseApplication
from gunicorn.http.wsgi import Response

from sandbox.app import Sandbox
from sandbox.saving import Saver, Unreadable, load
from sandbox.wire import Refused, parse_body

log = logging.getLogger("sandbox")


def main(arguments: list[str] | None = None) -> int:
    """Serve until told to stop; 0 after SIGTERM or SIGINT, 1 when it cannot start, 2 for usage."""
    options = _options(arguments)
    logging.basicConfig(level=logging.WARNING, format="sandbox: %(message)s")
    try:
        workspace = load(options.state) if options.state else None
        listener = _listen(options.host, options.port)
    except (Unreadable, OSError) as error:
        sys.stderr.write(f"sandbox: {error}\n")
        return 1
    box = Sandbox(
        token=options.token,
        client_id=options.client_id,
        client_secret=options.client_secret,
        workspace=workspace,
        refuse_unknown_fields=options.refuse_unknown_fields,
    )
    try:
        box.faults.set(parse_body(options.faults.encode()))
    except Refused as refused:
        sys.stderr.write(f"sandbox: --faults: {refused.message}\n")
        return 2
    saver = Saver(box, options.state) if options.state else None
    _show_clock_of(box)
    _announce(box, listener, options)
    _Server(box, listener, _Background(box, saver, options.step)).run()
    return 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m sandbox", description=__doc__)
    parser.add_argument("--port", type=int, default=8900, help="0: any that is free")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--token", help="the access token; without it one is made and printed")
    parser.add_argument("--client-id", help="for tokens of POST /auth/token")
    parser.add_argument("--client-secret")
    parser.add_argument(
        "--step", type=float, default=0, metavar="SECONDS", help="orders move on each; 0: never"
    )
    parser.add_argument("--state", type=Path, metavar="FILE", help="keep the state in this file")
    parser.add_argument("--refuse-unknown-fields", action="store_true")
    parser.add_argument("--faults", default="{}", metavar="JSON", help="see sandbox/faults.py")
    options = parser.parse_args(arguments)
    if not 0 <= options.port <= 65535:
        parser.error("--port must be from 0 to 65535")
    if not 0 <= options.step < threading.TIMEOUT_MAX:
        parser.error("--step must be 0 or more")
    if bool(options.client_id) != bool(options.client_secret):
        parser.error("--client-id and --client-secret belong together")
    if options.token == "":
        parser.error("--token is empty")
    return options


def _listen(host: str, port: int) -> socket.socket:
    """Take the port before anything else starts, so that a taken one is one clear message."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=2048)
    except OSError as error:
        raise OSError(f"cannot listen on {host} port {port}: {error.strerror}") from error


def _announce(box: Sandbox, listener: socket.socket, options: argparse.Namespace) -> None:
    host, port = listener.getsockname()[:2]
    line = f"sandbox: http://{f'[{host}]' if ':' in host else host}:{port}"
    sys.stdout.write(line + ("\n" if options.token else f" token {box.access.token}\n"))
    sys.stdout.flush()


class _Background:
    """The threads beside the requests: callbacks, the autopilot, the state file."""

    def __init__(self, box: Sandbox, saver: Saver | None, step_seconds: float) -> None:
        self._box = box
        self._saver = saver
        self._step_seconds = step_seconds
        self._stop = threading.Event()

    def start(self) -> None:
        self._run(self._send)
        if self._step_seconds:
            self._run(self._steer)
        if self._saver:
            self._run(self._save, self._saver)

    def stop(self) -> None:
        self._stop.set()
        if self._saver:
            self._saver.save()

    def _run(self, work: Callable[..., None], *arguments: Any) -> None:
        threading.Thread(target=work, args=arguments, daemon=True).start()

    def _send(self) -> None:
        if self._box.pending:  # of the time before a restart
            self._box.has_pending.set()
        while not self._stop.is_set():
            # A short wait while a fault holds events back: their time comes without a signal.
            self._box.has_pending.wait(0.1 if self._box.delayed else None)
            self._guarded(self._box.deliver)

    def _steer(self) -> None:
        while not self._stop.wait(self._step_seconds):
            self._guarded(self._box.step)

    def _save(self, saver: Saver) -> None:
        while not self._stop.is_set():
            self._guarded(lambda: saver.run(self._stop))

    def _guarded(self, work: Callable[[], object]) -> None:
        """A thread that dies would stop in silence what it does for everybody."""
        try:
            work()
        except Exception:
            log.exception("a fault of the sandbox itself")
            self._stop.wait(1)


class _Server(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
    """One process, since the state is in its memory; threads, since callers wait for each other."""

    def __init__(self, box: Sandbox, listener: socket.socket, background: _Background) -> None:
        self._box = box
        self._settings = {
            "bind": f"fd://{listener.fileno()}",
            "workers": 1,
            "worker_class": "gthread",
            "threads": 32,
            "worker_connections": 1000,
            "keepalive": 75,
            "timeout": 0,
            "graceful_timeout": 10,  # past it the process is killed, and a large state takes time
            "loglevel": "warning",
            "control_socket_disable": True,
            "post_worker_init": lambda worker: background.start(),
            "worker_exit": lambda arbiter, worker: background.stop(),
        }
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._settings.items():
            self.cfg.set(name, value)

    def load(self) -> Sandbox:
        return self._box


def _show_clock_of(box: Sandbox) -> None:
    """Gunicorn drops the application's Date for its own; ours is a clock that can be set."""
    headers_of_gunicorn = Response.default_headers

    def dated(response: Any) -> list[str]:
        headers: list[str] = headers_of_gunicorn(response)
        ours = f"Date: {box.date()}\r\n"
        return [ours if line.startswith("Date:") else line for line in headers]

    Response.default_headers = dated


if __name__ == "__main__":
    # An empty value would make gunicorn read options from the environment.
    os.environ.pop("GUNICORN_CMD_ARGS", None)
    sys.exit(main())

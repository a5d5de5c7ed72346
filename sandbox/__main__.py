"""`python -m sandbox`: serve the sandbox on a port. See docs/sandbox.md."""

import argparse
import logging
import os
import socket
import sys
import threading
from pathlib import Path

from sandbox.app import LOOPBACK, Sandbox
from sandbox.interface.switches import PLATFORMS
from sandbox.server import Background, Server, listen
from sandbox.state.journal import Journal
from sandbox.state.saving import Saver, Unreadable, load, save
from sandbox.wire import Refused, parse_body

MOST_SENDERS = 64


def main(arguments: list[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT and return 0, or 1 if it cannot start, 2 for wrong usage."""
    options = _options(arguments)
    logging.basicConfig(level=logging.WARNING, format="sandbox: %(message)s")
    try:
        box = _sandbox(options)
        if options.state:  # fail at the start if the file cannot be written
            save(box.workspace.to_json(), options.state)
        if options.journal:
            box.journal = Journal(options.journal)
        listener = listen(options.host, options.port)
    except Refused as refused:
        sys.stderr.write(f"sandbox: --faults: {refused.message}\n")
        return 2
    except (Unreadable, OSError) as error:
        sys.stderr.write(f"sandbox: {error}\n")
        return 1
    saver = Saver(box, options.state) if options.state else None
    background = Background(box, saver, step_seconds=options.step, senders=options.senders)
    _announce(box, listener, options)
    Server(box, listener, background).run()
    return 0


def _sandbox(options: argparse.Namespace) -> Sandbox:
    switches = {"platform": options.platform}
    if options.refuse_unknown_fields:
        switches["unknownFields"] = "refused"
    box = Sandbox(
        token=options.token,
        client_id=options.client_id,
        client_secret=options.client_secret,
        workspace=load(options.state) if options.state else None,
        switches=switches,
    )
    named = {name.casefold() for name in (options.host, *options.allow_host)}
    box.hosts = LOOPBACK | named
    box.faults.set(parse_body(options.faults.encode()))
    return box


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    known = argparse.ArgumentParser(prog="python -m sandbox", description=__doc__)
    known.add_argument("--port", type=int, default=8900, help="0: any that is free")
    known.add_argument("--host", default="127.0.0.1", help="127.0.0.1 by default")
    known.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="one more name; *: any"
    )
    known.add_argument(
        "--token",
        default=os.environ.get("SANDBOX_TOKEN") or None,
        help="the access token; better set SANDBOX_TOKEN, since others can see a command line;"
        " without both, one is generated and printed",
    )
    known.add_argument("--client-id", help="for tokens of POST /auth/token")
    known.add_argument("--client-secret", help="belongs to --client-id")
    known.add_argument(
        "--step",
        type=float,
        default=0,
        metavar="SECONDS",
        help="a step of every open order; 0: never",
    )
    known.add_argument(
        "--senders", type=int, default=4, metavar="N", help="callbacks at once; 1: in order"
    )
    known.add_argument("--state", type=Path, metavar="FILE", help="keep the state in this file")
    known.add_argument(
        "--journal",
        type=Path,
        metavar="FILE",
        help="append each call to this file as a line of JSON",
    )
    known.add_argument(
        "--refuse-unknown-fields",
        action="store_true",
        help="answer 400 to a property field that is not in the table; otherwise it is left out",
    )
    known.add_argument(
        "--platform",
        choices=PLATFORMS,
        default="rich",
        help="its behaviour where the interface leaves it open",
    )
    known.add_argument("--faults", default="{}", metavar="JSON", help="see docs/sandbox.md")
    return known


def _options(arguments: list[str] | None) -> argparse.Namespace:
    known = parser()
    options = known.parse_args(arguments)
    if not 0 <= options.port <= 65535:
        known.error("--port must be from 0 to 65535")
    if not 0 <= options.step < threading.TIMEOUT_MAX:
        known.error("--step must be 0 or more")
    if not 1 <= options.senders <= MOST_SENDERS:
        known.error(f"--senders must be from 1 to {MOST_SENDERS}")
    if bool(options.client_id) != bool(options.client_secret):
        known.error("--client-id and --client-secret belong together")
    if options.token == "":
        known.error("--token is empty")
    return options


def _announce(box: Sandbox, listener: socket.socket, options: argparse.Namespace) -> None:
    host, port = listener.getsockname()[:2]
    line = f"sandbox: http://{f'[{host}]' if ':' in host else host}:{port}"
    sys.stdout.write(line + ("\n" if options.token else f" token {box.access.token}\n"))
    sys.stdout.flush()


if __name__ == "__main__":
    # An empty value would make gunicorn read options from the environment.
    os.environ.pop("GUNICORN_CMD_ARGS", None)
    sys.exit(main())

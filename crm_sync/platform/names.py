"""The addresses behind the name of a host, within a time: the resolver knows none (I13)."""

import socket
import threading
from contextlib import suppress
from ipaddress import ip_address
from queue import Empty, SimpleQueue

Found = list[str]


def look_up(host: str, port: int | None, *, within: float) -> Found:
    """Return the IP addresses of a host, in the sequence in which they are to be tried.

    Args:
        within: seconds that it may take. The thread that asks then goes on, and nobody hears it.

    Raises:
        OSError: the name is not known, or cannot be one; TimeoutError where nobody says in time.
    """
    with suppress(ValueError):
        ip_address(host)
        return _ask(host, port)  # no name: nobody is asked
    answers: SimpleQueue[Found | OSError] = SimpleQueue()

    def ask() -> None:
        try:
            answers.put(_ask(host, port))
        except OSError as error:
            answers.put(error)

    threading.Thread(target=ask, name=f"the name {host}", daemon=True).start()
    try:
        found = answers.get(timeout=max(0.0, within))
    except Empty:
        raise TimeoutError(f"the name {host} was not found in time") from None
    if isinstance(found, list):
        return found
    raise found


def _ask(host: str, port: int | None) -> Found:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise socket.gaierror(f"{host} cannot be a name") from error
    return list(dict.fromkeys(str(one[4][0]) for one in found))

"""The IP addresses of a host, found within a time limit, which the resolver lacks (I13)."""

import socket
import threading
from contextlib import suppress
from ipaddress import ip_address
from queue import Empty, SimpleQueue

from crm_sync.sentence import sentence

Found = list[str]


def look_up(host: str, port: int | None, *, within: float) -> Found:
    """Return the IP addresses of a host, in the order in which to try them.

    Args:
        within: seconds that it may take. After that the thread goes on, and its result is lost.

    Raises:
        OSError: the name is not known or not valid. TimeoutError: no result in time.
    """
    with suppress(ValueError):
        ip_address(host)
        return _ask(host, port)  # an IP address needs no query
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
        text = sentence("the name %(host)s was not found in time", host=host)
        raise TimeoutError(text) from None
    if isinstance(found, list):
        return found
    raise found


def _ask(host: str, port: int | None) -> Found:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise socket.gaierror(f"{host} cannot be a name") from error
    return list(dict.fromkeys(str(one[4][0]) for one in found))

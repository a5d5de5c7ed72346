"""Pure: which addresses a workspace may call; each call carries its token (S15)."""

import functools
import re
from ipaddress import ip_address
from urllib.parse import urljoin, urlsplit

LONGEST = 500  # characters
# RFC 6761: no name under these leads to another machine, or to any.
_SPECIAL = ("localhost", "test", "invalid")


@functools.lru_cache(maxsize=256)  # asked before each call
def fault(address: str) -> str:
    """Say what is wrong with a base address, "" when calls may go there."""
    try:
        parts = urlsplit(address)
        is_web = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_web = False
    # A host, and paths can be put behind it: no user, no query, no spaces.
    if not is_web or len(address) > LONGEST or re.search(r"[\s?#@\\]|[^\x21-\x7e]", address):
        return "is no http(s) address"
    if parts.scheme == "http" and not is_local(parts.hostname or ""):
        return "would send the token unencrypted: it must begin with https://"
    return ""


def resolved(address: str, base_url: str) -> str:
    """Return an address of the platform as an absolute one (A51).

    One that is relative leads from the base address; "" and what is no address stay as they are.
    """
    try:
        return urljoin(f"{base_url.rstrip('/')}/", address) if address else ""
    except ValueError:
        return address


def is_local(host: str) -> bool:
    """Tell whether what is sent to this host stays on this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower().rstrip(".").rsplit(".", 1)[-1] in _SPECIAL

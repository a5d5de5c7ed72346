"""Pure: the addresses that a workspace may call. Each call carries its token (S15)."""

import functools
import re
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urljoin, urlsplit

from crm_sync.sentence import Sentence, sentence

LONGEST = 500  # characters
# Last labels of host names that this process answers itself. Only tests set some: a company may
# have its own machines under any label.
IN_PROCESS: frozenset[str] = frozenset()
_NOT_PUBLIC = tuple(
    ip_network(one)
    for one in (
        # IPv6 addresses that contain an IPv4 address, perhaps of our network: mapped, translated,
        # NAT64, 6to4, Teredo, and the relays of 6to4.
        *("::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16"),
        *("2001::/32", "::/96", "192.88.99.0/24"),
        # Site-local, for documentation, and for segment routing (RFC 3879, 9637, 9602).
        *("fec0::/10", "3fff::/20", "5f00::/16"),
        # A cloud's own network. The first holds the metadata of Oracle Cloud (reserved by
        # RFC 6890), the second is the WireServer of Azure.
        *("192.0.0.0/24", "168.63.129.16/32"),
    )
)


@functools.lru_cache(maxsize=256)  # called before each call to the platform
def fault(address: str) -> Sentence | None:
    """Return what is wrong with a base address, or None if it may be called."""
    try:
        parts = urlsplit(address)
        is_web = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_web = False
    if is_web and parts.username is not None:
        return sentence("the address holds a user name")
    if is_web and "?" in address:
        return sentence("the address holds a query")
    # It needs a host, and a path must fit behind it: no fragment, no spaces.
    if not is_web or len(address) > LONGEST or re.search(r"[\s#@\\]|[^\x21-\x7e]", address):
        return sentence("the address is not an http(s) address")
    if parts.scheme == "http" and not is_local(parts.hostname or ""):
        return sentence("the token would be sent unencrypted: the address must begin with https://")
    return None


def shown(address: str) -> str:
    """Return an address for a message, without a user, a password and a query (S5)."""
    return re.sub(r"(?s)\?.*", "?…", re.sub(r"(?s)^(\w+:/*)?.*@", r"\1…@", address))


def resolved(address: str, base_url: str) -> str:
    """Return an absolute address for an address in an answer of the platform (A51).

    A relative address is joined to the base address. "" and an invalid address do not change.
    """
    try:
        return urljoin(f"{base_url.rstrip('/')}/", address) if address else ""
    except ValueError:
        return address


def is_local(host: str) -> bool:
    """Return whether a request to this host never leaves this machine."""
    return is_loopback(host) or _last_label(host) in IN_PROCESS


def is_loopback(host: str) -> bool:
    """Return whether this host is a loopback address or a name that ends in "localhost"."""
    ip = _ip(host)
    return ip.is_loopback if ip else _last_label(host) == "localhost"


def leads_here(host: str) -> bool:
    """Return whether a connection to this host ends on the same machine, as with 0.0.0.0."""
    ip = _ip(host)
    return is_loopback(host) or (ip is not None and ip.is_unspecified)


def _ip(host: str) -> IPv4Address | IPv6Address | None:
    try:
        ip = ip_address(host)
    except ValueError:
        return None
    return (ip.ipv4_mapped if isinstance(ip, IPv6Address) else None) or ip


def _last_label(host: str) -> str:
    return host.lower().rstrip(".").rsplit(".", 1)[-1]


def is_public(ip: str) -> bool:
    """Return whether an IP address is certainly outside our own network (S13).

    Raises:
        ValueError: not an IP address.
    """
    address = ip_address(ip)
    is_outside = not any(address in one for one in _NOT_PUBLIC)
    return is_outside and address.is_global and not address.is_multicast

"""Pure: which addresses a workspace may call; each call carries its token (S15)."""

import functools
import re
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urljoin, urlsplit

LONGEST = 500  # characters
# Last labels of names that are answered within this process, as tests do; else none: a company may
# have machines of its own under any of them.
IN_PROCESS: frozenset[str] = frozenset()
_NOT_PUBLIC = tuple(
    ip_network(one)
    for one in (
        # IPv6 that stands for an address of IPv4, which may be of our network: mapped, translated,
        # NAT64, 6to4, Teredo; and the relays of 6to4.
        *("::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16"),
        *("2001::/32", "::/96", "192.88.99.0/24"),
        # Site-local, for documentation, and for segment routing (RFC 3879, 9637, 9602).
        *("fec0::/10", "3fff::/20", "5f00::/16"),
        # A cloud's own network: the metadata of Oracle Cloud are in the first, which RFC 6890
        # reserves; the second is the WireServer of each machine of Azure.
        *("192.0.0.0/24", "168.63.129.16/32"),
    )
)


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
        return "is not an http(s) address"
    if parts.scheme == "http" and not is_local(parts.hostname or ""):
        return "would send the token unencrypted: it must begin with https://"
    return ""


def resolved(address: str, base_url: str) -> str:
    """Return an address of the platform as an absolute one (A51).

    One that is relative leads from the base address; "" and what is not one stay as they are.
    """
    try:
        return urljoin(f"{base_url.rstrip('/')}/", address) if address else ""
    except ValueError:
        return address


def is_local(host: str) -> bool:
    """Tell whether what is sent to this host goes to no other machine."""
    return is_loopback(host) or _last_label(host) in IN_PROCESS


def is_loopback(host: str) -> bool:
    """Tell whether this host is the machine that asks, whichever that is."""
    ip = _ip(host)
    return ip.is_loopback if ip else _last_label(host) == "localhost"


def leads_here(host: str) -> bool:
    """Tell whether a connection to this host ends on the machine that asks, as 0.0.0.0 does."""
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
    """Tell whether an IP address lies outside of our own network, for certain (S13).

    Raises:
        ValueError: it is no IP address.
    """
    address = ip_address(ip)
    is_outside = not any(address in one for one in _NOT_PUBLIC)
    return is_outside and address.is_global and not address.is_multicast

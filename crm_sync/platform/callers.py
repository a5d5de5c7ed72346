"""Where a call comes from, and whether a workspace takes calls from there (S22)."""

import functools
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest

Network = IPv4Network | IPv6Network
SOCKET = "unix"  # how TRUSTED_PROXIES names a proxy that comes by a socket of this machine
LONGEST = 64  # characters of an address that are kept: a caller may forge the header


def source(request: HttpRequest) -> str:
    """Return the address from which the call comes, "" if it is unknown.

    That is who has connected. Where that is a proxy of TRUSTED_PROXIES, it is whom the proxy names
    last in `X-Forwarded-For`, and so on: what stands before that, any caller can have written.
    """
    found = str(request.META.get("REMOTE_ADDR") or "")
    named = [one.strip() for one in request.headers.get("X-Forwarded-For", "").split(",")]
    while named and is_among(found or SOCKET, settings.TRUSTED_PROXIES):
        found = named.pop()[:LONGEST]
    return found


def is_among(address: str, networks: Sequence[str]) -> bool:
    """Tell whether an address is one of these, or in one of these networks."""
    if address in networks:
        return True
    try:
        one = ip_address(address)
    except ValueError:
        return False
    mapped = getattr(one, "ipv4_mapped", None)  # a server that listens on IPv6 sees both
    return any((mapped or one) in network for network in read(tuple(networks)))


@functools.lru_cache(maxsize=100)
def read(names: tuple[str, ...]) -> list[Network]:
    """Return the networks by their names; `unix` is none.

    Raises:
        ValueError: something is neither an address nor a network.
    """
    return [ip_network(name, strict=False) for name in names if name != SOCKET]


def fault(names: Iterable[str]) -> str:
    """Say what is wrong with the names of networks; "" where nothing is."""
    for name in names:
        try:
            ip_network(name, strict=False)
        except ValueError:
            return f"{name} is neither an address nor a network such as 192.0.2.0/24"
    return ""

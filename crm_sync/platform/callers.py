"""The address of a caller, and whether a workspace accepts calls from there (S22)."""

import functools
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest

from crm_sync.sentence import Sentence, sentence

Network = IPv4Network | IPv6Network
SOCKET = "unix"  # in TRUSTED_PROXIES: a proxy that connects by a Unix socket
LONGEST = 64  # characters of an address that are stored: a caller may forge the header


def source(request: HttpRequest) -> str:
    """Return the address of the caller, or "" if it is unknown.

    This is the address that has connected. If it is a proxy of TRUSTED_PROXIES, use the last
    address in `X-Forwarded-For` instead, and so on. A caller can forge the addresses before it.
    """
    found = str(request.META.get("REMOTE_ADDR") or "")
    named = [one.strip() for one in request.headers.get("X-Forwarded-For", "").split(",")]
    while named and is_among(found or SOCKET, settings.TRUSTED_PROXIES):
        found = named.pop()[:LONGEST]
    return found


def is_among(address: str, networks: Sequence[str]) -> bool:
    """Return whether an address is in the list, or in one of its networks."""
    if address in networks:
        return True
    try:
        one = ip_address(address)
    except ValueError:
        return False
    mapped = getattr(one, "ipv4_mapped", None)  # a server on IPv6 sees IPv4 callers like this
    return any((mapped or one) in network for network in read(tuple(networks)))


@functools.lru_cache(maxsize=100)
def read(names: tuple[str, ...]) -> list[Network]:
    """Return the networks with these names, without `unix`.

    Raises:
        ValueError: a name is neither an address nor a network.
    """
    return [ip_network(name, strict=False) for name in names if name != SOCKET]


def fault(names: Iterable[str]) -> Sentence | None:
    """Return what is wrong with the names of networks, or None."""
    for name in names:
        try:
            ip_network(name, strict=False)
        except ValueError:
            return sentence(
                "%(name)s is neither an address nor a network such as 192.0.2.0/24", name=name
            )
    return None

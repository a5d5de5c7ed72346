"""Where a callback carries its secret (§5.2), also in test calls to our own address."""

import re

from crm_sync.models import Workspace
from crm_sync.sentence import sentence

AuthType = Workspace.AuthType
LONGEST = 100  # characters of a name
# Servers and proxies drop headers with an underscore, or treat it as a hyphen.
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^`|~-]+")
_PARAMETER = re.compile(r"[A-Za-z0-9._~-]+")
# A callback has these headers for another purpose (§6.1), or a proxy or server removes them.
_TAKEN = {
    *("authorization", "content-type", "content-length", "content-encoding", "x-event-type"),
    *("x-order-id", "host", "connection", "transfer-encoding", "expect", "te", "trailer"),
    *("upgrade", "cookie", "proxy-authorization"),
}


class BadName(Exception):
    """No callback can carry the secret under this name."""


def check_names(header: str, parameter: str) -> None:
    """Reject a name of a header or parameter that cannot carry the secret (§2.1).

    Raises:
        BadName: with the reason.
    """
    if not _HEADER.fullmatch(header) or len(header) > LONGEST:
        text = sentence(
            "%(name)s is not the name of a header: letters, digits and hyphens", name=repr(header)
        )
        raise BadName(text)
    if header.lower() in _TAKEN:
        text = sentence("the header %(name)s of a callback says something else", name=header)
        raise BadName(text)
    if not _PARAMETER.fullmatch(parameter) or len(parameter) > LONGEST:
        text = sentence(
            "%(name)s is not the name of a parameter: letters, digits, . _ ~ -",
            name=repr(parameter),
        )
        raise BadName(text)


def carrying(workspace: Workspace, secret: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the headers and the query parameters that authenticate a callback with `secret`."""
    if workspace.auth_type == AuthType.HEADER:
        return {workspace.auth_header_name: in_header(secret)}, {}
    if workspace.auth_type == AuthType.BEARER_TOKEN:
        return {"Authorization": f"Bearer {in_header(secret)}"}, {}
    if workspace.auth_type == AuthType.QUERY_PARAMETER:
        return {}, {workspace.auth_parameter_name: secret}
    return {}, {}


def in_header(secret: str) -> str:
    """Return the header text whose bytes are the secret in UTF-8, which `inbox.auth` compares.

    HTTP libraries and WSGI write and read each character of a header as one byte (Latin-1).
    """
    return secret.encode().decode("latin-1")

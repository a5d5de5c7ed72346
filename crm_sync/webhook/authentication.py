"""Where the secret of a callback travels (§5.2), for calls of our own to our own address."""

from crm_sync.models import Workspace

AuthType = Workspace.AuthType


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
    """Return the text of a header whose bytes are the secret in UTF-8, as `inbox.auth` compares.

    HTTP libraries and WSGI write and read each character of a header as one byte (Latin-1).
    """
    return secret.encode().decode("latin-1")

"""What comes from outside is stored without the secrets that authenticate it (S3, S5)."""

from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import quote

from crm_sync.authentication import in_header
from crm_sync.models import Workspace

MASK = "***"
ALWAYS_MASKED = frozenset({"authorization", "proxy-authorization", "cookie", "x-api-key"})


def masked_headers(headers: Mapping[str, str], workspace: Workspace) -> dict[str, str]:
    """Return the headers, each with a secret in it masked whole, each at most 1000 characters."""
    secrets = _secrets(workspace)
    masked = ALWAYS_MASKED | {workspace.auth_header_name.lower()}
    return {
        name: MASK
        if name.lower() in masked or any(secret in value for secret in secrets)
        else value[:1000]
        for name, value in headers.items()
    }


def masked_text(text: str, workspace: Workspace) -> str:
    """Return the text with each secret in it replaced."""
    for secret in sorted(_secrets(workspace), key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


def _secrets(workspace: Workspace) -> list[str]:
    known = [secret for secret in (workspace.auth_secret, workspace.previous_auth_secret) if secret]
    return [form for secret in known for form in _written_forms(secret)]


@lru_cache(maxsize=256)  # each callback needs the same ones
def _written_forms(secret: str) -> tuple[str, ...]:
    """Return how a header can hold the secret: raw, or in a query."""
    return secret, in_header(secret), quote(secret), quote(secret, safe="")

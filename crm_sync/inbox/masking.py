"""Masks secrets in callbacks and errors before they are stored (S3, S5)."""

from collections.abc import Mapping

from crm_sync.models import Workspace
from crm_sync.platform.errors import Problem
from crm_sync.platform.redaction import MASK, Redactor, written_forms
from crm_sync.secrets import several

ALWAYS_MASKED = frozenset({"authorization", "proxy-authorization", "cookie", "x-api-key"})


def masked_headers(headers: Mapping[str, str], workspace: Workspace) -> dict[str, str]:
    """Return the headers, cut to 1000 characters. A value with a secret is masked completely."""
    secrets = [form for secret in _webhook_secrets(workspace) for form in written_forms(secret)]
    masked = ALWAYS_MASKED | {workspace.auth_header_name.lower()}
    return {
        name: MASK
        if name.lower() in masked or any(secret in value for secret in secrets)
        else value[:1000]
        for name, value in headers.items()
    }


def masked_body(body: bytes, workspace: Workspace) -> bytes:
    """Return the body of a callback with the secrets of the webhook masked.

    The trigger history is masked too when it is read, so both are still the same event.
    """
    return Redactor(_webhook_secrets(workspace)).content(body)


def _webhook_secrets(workspace: Workspace) -> tuple[str, ...]:
    return (*several(workspace.auth_secret), *several(workspace.previous_auth_secret))


def masked_problem(problem: Problem, workspace: Workspace) -> Problem:
    """Return the problem with all secrets of the workspace masked."""
    return Redactor(workspace.secrets).problem(problem)


def masked_text(text: str, workspace: Workspace) -> str:
    """Return the text with all secrets of the workspace masked."""
    return Redactor(workspace.secrets).text(text)

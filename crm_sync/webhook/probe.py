"""Tests with two calls whether our public address accepts callbacks. Nothing is stored.

The calls are like those of the platform, but without a body: the answer must be 401 to a wrong
secret and 400 to ours. Both carry a mark that only this installation can sign, so that they are not
counted as refused callbacks.
"""

import json
import secrets
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _, gettext_lazy

from crm_sync.inbox.masking import masked_text
from crm_sync.inbox.test_mark import TEST_HEADER, sign
from crm_sync.models import Workspace
from crm_sync.platform import transport
from crm_sync.platform.errors import TransientError
from crm_sync.platform.transport import RawAnswer
from crm_sync.sentence import said
from crm_sync.webhook import authentication

DEADLINE = 8.0  # seconds for each of the two calls
UNAUTHENTICATED = (401, "not authenticated")
AUTHENTICATED = (400, "empty body")


@dataclass(frozen=True)
class ProbeStep:
    """One tested thing, whether the result is right, and the result in words."""

    name: str
    is_good: bool
    text: str


def probe(workspace: Workspace) -> list[ProbeStep]:
    """Call our own callback address as the platform would, as far as possible from here.

    Returns:
        the steps. The last one has the reason if no callback can arrive.
    """
    if workspace.auth_type == Workspace.AuthType.NONE:
        return [_step(_("A call without a secret is taken"), _call(workspace, ""), AUTHENTICATED)]
    if not workspace.auth_secret:
        return [
            ProbeStep(
                _("There is a secret"), False, _("None is stored yet: configure the webhook.")
            )
        ]
    wrong = _call(workspace, secrets.token_urlsafe(32))
    steps = [_step(_("A wrong secret is refused"), wrong, UNAUTHENTICATED)]
    if not isinstance(wrong, ProbeStep):
        right = _call(workspace, workspace.auth_secret)
        steps.append(_step(_("The right secret is taken"), right, AUTHENTICATED))
    return steps


def _call(workspace: Workspace, secret: str) -> tuple[int, str] | ProbeStep:
    """Call once and return the answer, or a failed step if none of our endpoints answered."""
    carried, params = authentication.carrying(workspace, secret)
    headers = {"Content-Type": "application/json", TEST_HEADER: sign(), **carried}
    url = workspace.callback_url
    try:
        raw = transport.send("POST", url, deadline=DEADLINE, headers=headers, params=params)
    except TransientError as error:
        return ProbeStep(_("Our address answers"), False, _unreachable(error))
    return _seen(raw, workspace)


def _unreachable(error: TransientError) -> str:
    fault = transport.certificate_fault(error.__cause__)
    return (
        _("The certificate is not accepted: %(fault)s") % {"fault": fault} if fault else said(error)
    )


def _seen(raw: RawAnswer, workspace: Workspace) -> tuple[int, str] | ProbeStep:
    if 300 <= raw.status < 400:
        target = masked_text(raw.headers.get("Location", "nowhere"), workspace)[:200]
        named = {"status": raw.status, "target": target}
        text = _("It redirects (%(status)s) to %(target)s: a callback would be lost there.") % named
        return ProbeStep(_("Our address answers"), False, text)
    words = _words(raw.body)
    if not words:
        text = _("%(status)s, but that was not this application: what stands in front of it?")
        return ProbeStep(_("Our address answers"), False, text % {"status": raw.status})
    return raw.status, words


def _words(body: bytes) -> str:
    try:
        document: Any = json.loads(body)
    except ValueError:
        return ""
    words = document.get("error") if isinstance(document, dict) else None
    return words[:200] if isinstance(words, str) else ""


def _step(name: str, seen: tuple[int, str] | ProbeStep, wanted: tuple[int, str]) -> ProbeStep:
    if isinstance(seen, ProbeStep):
        return seen
    text = f"{seen[0]} {seen[1]}"
    if seen == wanted:
        return ProbeStep(name, True, text)
    named = {"seen": text, "wanted": f"{wanted[0]} {wanted[1]}"}
    text = _("%(seen)s, where %(wanted)s belongs.") % named
    return ProbeStep(name, False, f"{text} {HINTS.get(seen, '')}".rstrip())


HINTS = {
    (404, "unknown callback address"): gettext_lazy(
        "Another installation answers at PUBLIC_BASE_URL."
    ),
    UNAUTHENTICATED: gettext_lazy(
        "The secret does not get through: a proxy may drop the header or the query."
    ),
    AUTHENTICATED: gettext_lazy("Anybody who knows the address can send events."),
}

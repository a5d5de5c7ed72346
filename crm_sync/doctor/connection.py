"""The checks of one workspace on its live platform, with a few reads."""

import functools
from collections.abc import Iterator
from datetime import datetime

from crm_sync import hooks
from crm_sync.doctor import assumptions
from crm_sync.doctor.checking import guarded
from crm_sync.hooks import Finding, Verdict
from crm_sync.installed import command
from crm_sync.models import WebhookMonitor, Workspace
from crm_sync.observing import stops
from crm_sync.platform import clock, responses
from crm_sync.platform.credentials import FixedToken
from crm_sync.platform.errors import AuthError
from crm_sync.platform.exchange import Exchange, Result
from crm_sync.platform.problems import explain
from crm_sync.platform.read_only import Live
from crm_sync.secrets import SecretUnreadable
from crm_sync.webhook import configuration, history

OK, WARNING, FAILED = Verdict.OK, Verdict.WARNING, Verdict.FAILED
MOST = 30  # calls to one platform
DEADLINE = 10.0  # seconds for each
WEBHOOK, LISTS = "/v1/webhooks", ("/v1/users", "/v1/real-estate-properties")
FIRST = {"page": 0, "size": 5}
ENDS_SOON = 7 * 24 * 3600  # seconds


def findings(workspace: Workspace, now: datetime) -> Iterator[Finding]:
    """Yield the findings for a workspace, then the findings of the other apps.

    Without an answer of the platform, the checks that need one are skipped.
    """
    yield from _held(workspace, now)
    try:
        live = Live(workspace.client(deadline=DEADLINE), MOST)
    except (AuthError, SecretUnreadable) as error:
        yield Finding("credentials", FAILED, f"{error}.", command(f"add_workspace {workspace}"))
        return
    asked = [one for path in LISTS if (one := live.get(path, **FIRST)) is not None]
    # A token may be allowed to list properties but not users.
    first = next((one for one in asked if one.error is None), next(iter(asked), None))
    yield from _reached(first, live, workspace, now)
    if first is None or first.error is not None:
        text = "Webhook, fields, values and assumptions: the platform gave no usable answer."
        yield Finding("the rest", Verdict.NOT_CHECKED, text)
        return
    yield _clock(first, now)
    yield from guarded("the webhook", lambda: _webhook(live, workspace))
    yield from _failed_attempts(workspace)
    yield from assumptions.findings(live)
    for look in hooks.plugged().live_checks:
        yield from guarded(look.__module__, functools.partial(look, workspace.pk, live))


def _held(workspace: Workspace, now: datetime) -> Iterator[Finding]:
    """Yield what people hold (I34)."""
    for one in stops.holds([workspace.pk], now):
        text = f"{one.text}. {one.effect}"
        how = "go_live" if one.is_watched else "resume"
        yield Finding("pause", Verdict.WARNING, text, command(f"{how} {workspace}"))


def _reached(
    first: Exchange | None, live: Live, workspace: Workspace, now: datetime
) -> Iterator[Finding]:
    tried = first or (live.exchanges[-1] if live.exchanges else None)
    if tried is None or tried.status is None:
        why = explain(tried.error).sentence if tried and tried.error else "No call could be made."
        remedy = "Check the address of the workspace, and the network."
        yield Finding("platform", FAILED, f"{workspace.base_url}: {why}", remedy)
        return
    if tried.error is not None and tried.result != Result.AUTH:
        problem = explain(tried.error)
        text = f"It answered {tried.status}: {problem.sentence}"
        yield Finding("platform", FAILED, text, problem.remedy)
        return
    text = f"{workspace.base_url} answered {tried.status} within {tried.took * 1000:.0f} ms."
    yield Finding("platform", OK, text)
    if tried.error is not None:
        remedy = f"{command(f'add_workspace {workspace}')} with new credentials."
        yield Finding("token", FAILED, str(explain(tried.error)), remedy)
    elif (left := _left(live, now)) is not None and left < ENDS_SOON:
        text = f"It is accepted, but expires in {left / 3600:.0f} hours."
        yield Finding(
            "token", WARNING, text, f"{command(f'add_workspace {workspace}')} with a new one."
        )
    else:
        yield Finding("token", OK, "It is accepted.")


def _left(live: Live, now: datetime) -> float | None:
    """Return the seconds until a fixed token ends; None for other credentials or no known end."""
    known = live.client.credentials
    end = known.ends_at if isinstance(known, FixedToken) else None
    return None if end is None else end - now.timestamp()


def _clock(first: Exchange, now: datetime) -> Finding:
    theirs = responses.http_date(first.headers.get("Date", ""))
    if theirs is None or "Age" in first.headers:
        text = "Its answers have no Date of their own: only our clock shows which event is early."
        return Finding("clock", Verdict.NOT_CHECKED, text)
    ahead = clock.ClockReading(theirs, now, first.took).ahead
    if not (difference := clock.difference(ahead)):
        return Finding("clock", OK, "Our clock and the platform's differ by less than a minute.")
    verdict = FAILED if abs(ahead) > clock.LIMIT else WARNING
    text = f"The clock of the platform is {difference}."
    remedy = "Synchronise this machine's clock; if it is right, tell the platform."
    return Finding("clock", verdict, text, remedy)


def _webhook(live: Live, workspace: Workspace) -> Iterator[Finding]:
    """Compare the webhook on the platform with our configuration (§2.1, I26)."""
    remedy = command(f"configure_webhook {workspace}")
    one = live.get(WEBHOOK)
    document = one.document if one is not None and one.error is None else None
    if one is None or (one.error is not None and one.result != Result.NOT_FOUND):
        text = str(explain(one.error)) if one and one.error else "It could not be read."
        yield Finding("webhook", FAILED, text, remedy)
    elif not isinstance(document, dict) or not document:
        yield Finding("webhook", FAILED, "None is configured: no event arrives.", remedy)
    else:
        found = history.differences(document, configuration.expected(workspace))
        needs_secret = workspace.auth_type != Workspace.AuthType.NONE
        if needs_secret and document.get("hasAuthSecret") is False:
            found[configuration.NO_SECRET] = {"theirs": "no secret", "ours": "a secret"}
        texts = [f"{name} is {both['theirs']}, not {both['ours']}" for name, both in found.items()]
        if texts:
            yield Finding("webhook", FAILED, f"{'; '.join(texts)}.", remedy)
        else:
            yield Finding(
                "webhook", OK, f"It is set as we want it, and calls {workspace.callback_url}."
            )


def _failed_attempts(workspace: Workspace) -> Iterator[Finding]:
    """Yield what polls have found of attempts that did not reach us."""
    for seen in WebhookMonitor.objects.filter(workspace=workspace, failed__gt=0):
        text = f"Attempts that did not reach us: {seen.failed}; the last: {seen.last_failure}."
        remedy = "Repair the connection to us; then press *Failures seen* on the tab *Webhook*."
        yield Finding("attempts", WARNING, text, remedy)

"""The webhook of a workspace: our settings, the polls, what the platform holds, our address.

A GET shows only what is stored here, and makes no call. A POST calls the platform or our own
address, for people who may change the workspace. Its calls are short, and a failed call becomes a
message.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _, ngettext, ngettext_lazy

from crm_sync.admin.ui.base import ModelAdmin
from crm_sync.admin.ui.cells import badge, exact, exact_moment, two_lines
from crm_sync.admin.ui.delays import say_when
from crm_sync.admin.ui.page import page
from crm_sync.admin.ui.scope import note
from crm_sync.admin.workspace.platform_webhook import read_webhook
from crm_sync.admin.workspace.state import webhook_state
from crm_sync.admin.workspace.tabs import opened, tabs
from crm_sync.inbox.masking import masked_problem
from crm_sync.models import WebhookMonitor, Workspace
from crm_sync.platform.errors import NotFoundError, SyncError, TransientError, problem_of
from crm_sync.platform.problems import explain
from crm_sync.secrets import SecretUnreadable
from crm_sync.security import login
from crm_sync.sentence import Sentence, said, sentence
from crm_sync.templatetags.problems import problem_cell
from crm_sync.translated import number, said_of
from crm_sync.webhook import authentication, configuration, history, probe, schedule
from crm_sync.work import slots

DEADLINE = 8.0  # seconds for each call: a person waits for the page
AuthType = Workspace.AuthType
Result = TypeVar("Result")


class NotNow(Exception):
    """No call is made now. The message gives the reason."""


# Reasons to make no call.
REFUSED = (
    *(SecretUnreadable, configuration.NoneNotAllowed, configuration.OnlyHere),
    authentication.BadName,
)


# The action of each button. It returns the message of success.
def _configure(workspace: Workspace, posted: Mapping[str, str]) -> str:
    auth_type = posted.get("auth_type", "")
    configuration.configure(
        workspace,
        auth_type=auth_type if auth_type in AuthType.values else workspace.auth_type,
        header_name=posted.get("header_name", "").strip(),
        parameter_name=posted.get("parameter_name", "").strip(),
        now=timezone.now(),
        deadline=DEADLINE,
    )
    return _("The webhook is configured: POST to our address, authenticated, enabled.")


def _rotate(workspace: Workspace, _posted: Mapping[str, str]) -> str:
    configuration.rotate_secret(workspace, now=timezone.now(), deadline=DEADLINE)
    return _("The platform has a new secret; the old one is taken for ten more minutes.")


def _enable(workspace: Workspace, _posted: Mapping[str, str], *, enabled: bool = True) -> str:
    workspace.client(deadline=DEADLINE).enable_webhook(enabled=enabled)
    schedule.ask(WebhookMonitor.objects.filter(workspace=workspace), now=timezone.now())
    if enabled:
        return _("The platform delivers events again.")
    return _("The platform delivers no events until the webhook is enabled again.")


# With what the history of the workspace says of each.
CHANGES: dict[str, tuple[Callable[[Workspace, Mapping[str, str]], str], Sentence]] = {
    "configure": (_configure, sentence("Webhook: configure.")),
    "rotate": (_rotate, sentence("Webhook: rotate.")),
    "enable": (_enable, sentence("Webhook: enable.")),
    "disable": (partial(_enable, enabled=False), sentence("Webhook: disable.")),
}


def webhook_page(admin: ModelAdmin, request: HttpRequest, workspace_id: int) -> HttpResponse:
    """Show the page. A POST reads from the platform, tests our address, or changes the webhook."""
    shown = opened(admin, request, workspace_id)
    can_act = admin.has_change_permission(request, shown)
    extra: dict[str, Any] = {}
    if request.method == "POST":
        if not can_act:
            raise PermissionDenied
        action = request.POST.get("action", "")
        if action in ACTIONS:
            ACTIONS[action](request, admin.get_queryset(request).filter(pk=workspace_id))
            return HttpResponseRedirect(request.path)
        if action in CHANGES:
            if login.is_confirmed(request, request.POST.get("password", ""), timezone.now()):
                _change(request, workspace_id, action)
            else:
                nothing = _("Nothing was changed.")
                messages.error(request, f"{login.WRONG} {nothing}")
            return HttpResponseRedirect(request.path)
        extra = LOOKS.get(action, _try)(request, workspace_id)
    monitor = getattr(shown, "monitor", None)
    context = {
        "title": _("Webhook of %(workspace)s") % {"workspace": shown.slug},
        "workspace": shown,
        "badge": badge(*webhook_state(monitor)),
        "monitor": monitor,
        "drift": _drift(monitor) if monitor else [],
        "facts": _facts(shown, monitor),
        "expected": _expected(shown),
        "auth_types": _auth_types(shown),
        "can_act": can_act,
        "asks_password": login.needs_password(request, timezone.now()),
        **tabs(admin, request, workspace_id),
        **extra,
    }
    return page(admin, request, "crm_sync/workspace/webhook.html", context, row=shown)


def _auth_types(shown: Workspace) -> list[tuple[str, str, bool]]:
    """Return the types of authentication; NONE only if the setting allows it (S2)."""
    return [
        (value, str(label), value == shown.auth_type)
        for value, label in AuthType.choices
        if value != AuthType.NONE or settings.CALLBACK_ALLOW_NONE
    ]


def _drift(monitor: WebhookMonitor) -> list[tuple[str, dict[str, str]]]:
    """Return what differs, by the wire name; a missing webhook has none."""
    return [
        (_("webhook") if name == configuration.GONE else name, both)
        for name, both in sorted(monitor.drift.items())
    ]


def _expected(shown: Any) -> list[tuple[str, object]]:
    wanted = configuration.expected(shown).items()
    known = [(name, history.words(value)) for name, value in wanted]
    if shown.auth_type == AuthType.NONE:
        return [*known, ("authSecret", _("none: anybody can send events"))]
    return [*known, ("authSecret", _("stored") if shown.has_auth_secret else _("none yet"))]


def _facts(shown: Any, monitor: WebhookMonitor | None) -> list[tuple[str, object]]:
    now = timezone.now()
    refused = two_lines(number(shown.refused_callbacks), shown.last_refusal)
    facts: list[tuple[str, object]] = [
        (_("Refused callbacks"), refused),
        (_("Last refused"), exact_moment(shown.last_refusal_at, now)),
    ]
    if monitor is None:
        return facts
    if monitor.last_failure:
        when = exact_moment(monitor.last_failure_at, now)
        facts.insert(0, (_("Last failure"), two_lines(monitor.last_failure, when)))
    if monitor.problem:
        facts.append((_("Why it cannot be read"), problem_cell(monitor.problem)))
    return [
        (_("Last poll"), exact_moment(monitor.polled_at, now)),
        (_("Next poll"), exact_moment(monitor.due_at, now)),
        (_("Last attempt of the platform"), exact_moment(monitor.last_triggered_at, now)),
        (_("Events that only the history brought"), number(monitor.recovered)),
        (_("Failed attempts"), number(monitor.failed)),
        *facts,
    ]


# --- actions without a password, for one workspace or those selected in the list ---
def repair(request: HttpRequest, chosen: QuerySet[Workspace]) -> None:
    """Set the webhooks as they should be. One message for each workspace shows the result."""
    for workspace_id, slug in chosen.values_list("pk", "slug"):
        try:
            workspace = Workspace.objects.get(pk=workspace_id)
            if not workspace.auth_secret and login.needs_password(request, timezone.now()):
                text = _("%(workspace)s has no webhook yet: configure it.")
                messages.error(request, text % {"workspace": slug})
                continue
            configuration.repair(workspace, now=timezone.now())
        except SyncError as error:
            messages.error(request, format_html("{}: {}", slug, problem_cell(error)))
        except REFUSED as error:
            messages.error(request, said_of(slug, said(error)))
        else:
            _note(request, [workspace_id], sentence("Webhook: repaired."))
            text = _("%(workspace)s: the webhook is set as it should be.")
            messages.success(request, text % {"workspace": slug})


def poll_now(request: HttpRequest, chosen: QuerySet[Workspace]) -> None:
    """Let a worker read the configuration and the whole history."""
    mine, now = _monitors(chosen), timezone.now()
    schedule.ask(mine, now=now)
    _note(request, mine.values("workspace"), sentence("Webhook: asked for a poll."))
    at_once = ngettext_lazy(
        "A worker polls the webhook now.", "A worker polls %(count)s webhooks now.", "count"
    )
    say_when(request, mine, now=now, done="polled", at_once=at_once)


def see_failures(request: HttpRequest, chosen: QuerySet[Workspace]) -> None:
    """Reset the count of failed attempts."""
    failed = _monitors(chosen).filter(failed__gt=0)
    _note(
        request,
        list(failed.values_list("workspace", flat=True)),
        sentence("Webhook: failures seen."),
    )
    count = failed.update(failed=0)
    text = ngettext(
        "The failures of %(count)s webhook are counted from 0 again.",
        "The failures of %(count)s webhooks are counted from 0 again.",
        count,
    )
    messages.success(request, text % {"count": number(count)})


def _monitors(chosen: QuerySet[Workspace]) -> QuerySet[WebhookMonitor]:
    return WebhookMonitor.objects.filter(workspace__in=list(chosen.values_list("pk", flat=True)))


def _note(request: HttpRequest, keys: Any, text: Sentence) -> None:
    note(request, Workspace.objects.filter(pk__in=keys).only("pk", "slug"), text)


ACTIONS: dict[str, Callable[[HttpRequest, QuerySet[Workspace]], None]] = {
    "repair": repair,
    "poll": poll_now,
    "see": see_failures,
}


# --- POST actions ---
def _change(request: HttpRequest, workspace_id: int, action: str) -> None:
    posted, (change, noted) = request.POST.dict(), CHANGES[action]
    text = _call(request, workspace_id, lambda mine: change(mine, posted))
    if text is not None:
        _note(request, [workspace_id], noted)
        messages.success(request, text)


def _ask(request: HttpRequest, workspace_id: int) -> dict[str, Any]:
    held = _call(request, workspace_id, partial(read_webhook, deadline=DEADLINE))
    now = timezone.now()
    if held is None:
        return {}
    return {
        "held": held,
        "asked": exact_moment(now, now),
        "attempts": held.attempts,
    }


def _try(request: HttpRequest, workspace_id: int) -> dict[str, Any]:
    try:
        steps = probe.probe(Workspace.objects.get(pk=workspace_id))
    except SecretUnreadable as error:
        messages.error(request, said(error))
        return {}
    marks = {True: badge(_("As it must be"), "good"), False: badge(_("Not so"), "danger")}
    return {
        "probe": [(marks[step.is_good], step.name, step.text) for step in steps],
        "probe_works": all(step.is_good for step in steps),
    }


# POST actions that change nothing. A disabled webhook loses events, so it asks first.
LOOKS = {"ask": _ask, "try": _try, "may-disable": lambda *_: {"asks_to_disable": True}}


def _call(
    request: HttpRequest, workspace_id: int, call: Callable[[Workspace], Result]
) -> Result | None:
    """Call the platform. After an error, show a message without any secret, and return None."""
    now = timezone.now()
    try:
        workspace = Workspace.objects.get(pk=workspace_id)
        with workspace.calling():
            return _limited(workspace, call, now)
    except (NotNow, *REFUSED) as error:
        messages.error(request, said(error))
    except NotFoundError:
        messages.error(request, _("The platform has no webhook configured: configure it."))
    except SyncError as error:
        text = problem_cell(masked_problem(problem_of(error), workspace))
        if isinstance(error, TransientError) and error.unclear and request.POST["action"] != "ask":
            may_be_done = _("It may have worked all the same: ask the platform.")
            text = format_html("{} {}", text, may_be_done)
        messages.error(request, text)
    return None


def _limited(workspace: Workspace, call: Callable[[Workspace], Result], now: datetime) -> Result:
    """Respect the limits of all workers: the pause, and the number of calls under way (A8)."""
    if workspace.is_paused(now) and workspace.paused_until:
        problem = explain(masked_problem(workspace.problem, workspace))
        until = {"until": exact(workspace.paused_until)}
        text = _("The workspace is paused until %(until)s.") % until
        raise NotNow(f"{text} {problem}")
    with slots.hold(workspace) as held:
        if held is None:
            raise NotNow(
                _("The workers use all calls that the workspace allows: try again in a moment.")
            )
        return call(workspace)

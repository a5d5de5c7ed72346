"""The first page of the admin: what needs a person, and the state of the connections."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from django.apps import apps
from django.db.models import OuterRef, Q, Subquery
from django.http import HttpRequest
from django.urls import Resolver404, resolve, reverse
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext

from crm_sync import hooks
from crm_sync.admin.overview import stalled
from crm_sync.admin.overview.charts import charts
from crm_sync.admin.received_event.received_event_admin import live
from crm_sync.admin.received_event.states import state_badge, told
from crm_sync.admin.ui.cells import badge, moment, page_of, shortened
from crm_sync.admin.ui.scope import without_workspace
from crm_sync.admin.workspace.state import CONNECTING, connection, without_secrets
from crm_sync.hooks import NEWEST, Attention, Person, Tile
from crm_sync.inbox import store
from crm_sync.installed import command
from crm_sync.models import ReceivedEvent, Workspace
from crm_sync.observing import health
from crm_sync.platform import clock
from crm_sync.platform.problems import explain
from crm_sync.security.access import within
from crm_sync.sentence import said
from crm_sync.templatetags.problems import problem_cell
from crm_sync.translated import number, said_of

Function = TypeVar("Function", bound=Callable[..., object])
TOLD = ("kind", "effect", "problem_kind", "cause")  # columns of a stuck event that are told


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Add the figures: a bounded number of queries, and no call to the platform."""
    now = timezone.now()
    sees_workspaces = request.user.has_perm("crm_sync.view_workspace")
    sees_received_events = request.user.has_perm("crm_sync.view_receivedevent")
    workspaces = _workspaces(request.user) if sees_workspaces else []
    reports = health.reports(now)
    attention = stalled.lines(workspaces, reports, now) if sees_workspaces else []
    attention += _workspace_troubles(workspaces, now)
    if sees_received_events:
        attention += _stuck_events(request.user, now)
    for find in _platform_last(hooks.plugged().attention):
        lines = [line for line in find(request.user, now) if _may_see(request, line.link)]
        attention += [
            line if _may_act(request, line.link) else replace(line, act=hooks.OPEN, remedy="")
            for line in lines
        ]
    is_new = not Workspace.objects.exists()
    return (
        context
        | without_workspace(request)
        | {
            "live": live(request.user, now) if sees_received_events else None,
            "live_url": reverse("admin:crm_sync_receivedevent_live"),
            "charts": charts(request.user, now),
            "is_new": is_new,
            "commands": CONNECTING if is_new else (),
            "parts": [show(request, now) for show in hooks.plugged().overview],
            "groups": _groups(request),
            "attention": sorted(attention, key=lambda line: not line.is_urgent),
            "is_well": not attention and not any(report.remedy for report in reports),
            "reports": reports,
            "attention_has_reports": sees_workspaces and not is_new,
            "connections": [_connection(workspace, now) for workspace in workspaces],
            "sees_workspaces": sees_workspaces,
        }
    )


@dataclass(frozen=True)
class Tiles:
    """The tiles of one app. Tiles at zero are folded."""

    counted: list[Tile]
    zero: list[Tile]

    @property
    def zero_titles(self) -> str:
        """The titles of the folded tiles."""
        return " · ".join(str(tile.title) for tile in self.zero)


def _groups(request: HttpRequest) -> list[tuple[str, Tiles]]:
    """Return the tiles of each app, with its name."""
    groups = []
    for add in _platform_last(hooks.plugged().tiles):
        shown = [tile for tile in add(request.user) if _may_see(request, tile.link)]
        if shown:
            counted = [tile for tile in shown if tile.value]
            groups.append((_app_of(add), Tiles(counted, [t for t in shown if not t.value])))
    return groups


def _platform_last(functions: Sequence[Function]) -> list[Function]:
    """Sort the functions of `crm_sync` last: people work in the other apps."""
    return sorted(functions, key=lambda one: one.__module__.startswith("crm_sync."))


def _app_of(function: Callable[[Person], list[Tile]]) -> str:
    config = apps.get_containing_app_config(function.__module__)
    return str(config.verbose_name) if config else ""


def _may_see(request: HttpRequest, link: str) -> bool:
    """Return whether this user may open the page behind a figure: a figure is data too (S17)."""
    try:
        model_admin = _admin_of(link)
    except Resolver404:
        return False
    return model_admin is None or bool(model_admin.has_view_permission(request))


def _may_act(request: HttpRequest, link: str) -> bool:
    """Return whether this user may do more on a page that they see than look at it (S17)."""
    may_act = getattr(_admin_of(link), "has_act_permission", None)
    return may_act is None or bool(may_act(request))


def _admin_of(link: str) -> Any:
    """Return the admin of the page at a link, or None; raise Resolver404 if there is no page."""
    return getattr(resolve(link.partition("?")[0]).func, "model_admin", None)


def _workspaces(person: Person) -> list[Any]:
    came = ReceivedEvent.objects.filter(workspace=OuterRef("pk"), replay_of=None)
    newest = came.order_by("-received_at")
    return list(
        without_secrets(within(person, Workspace.objects.all(), "pk"))
        .annotate(last_received=Subquery(newest.values("received_at")[:1]))
        .order_by("slug")
    )


def _connection(workspace: Any, now: datetime) -> dict[str, object]:
    text, tone = connection(workspace, now)
    return {
        "slug": workspace.slug,
        "address": workspace.base_url,
        "link": page_of(workspace),
        "badge": badge(text, tone),
        "paused": moment(workspace.paused_until, now) if workspace.is_paused(now) else "",
        "received": moment(workspace.last_received, now),
        "refused": workspace.refused_callbacks,
    }


def _workspace_troubles(workspaces: list[Any], now: datetime) -> list[Attention]:
    found = []
    for workspace in workspaces:
        link = page_of(workspace)
        text, tone = connection(workspace, now)
        if tone != "good":
            is_paused = workspace.is_paused(now)
            found.append(
                Attention(
                    badge(text, tone),
                    problem_cell(workspace.problem, remedy=False) if workspace.problem else "",
                    workspace.slug,
                    link=link,
                    remedy=_remedy(workspace),
                    next_try=moment(workspace.paused_until, now) if is_paused else "",
                )
            )
        if difference := clock.difference(workspace.clock_ahead):
            found.append(
                Attention(
                    badge(_("Clock"), "warning"),
                    _("The platform's clock is %(difference)s; events are compared with it")
                    % {"difference": difference},
                    workspace.slug,
                    moment(workspace.clock_noted_at, now),
                    link,
                    remedy=_("Synchronise this machine's clock; if it is right, tell the platform"),
                )
            )
        if workspace.refused_callbacks:
            refused = workspace.refused_callbacks
            text = ngettext(
                "%(count)s callback, last %(last)s", "%(count)s callbacks, last %(last)s", refused
            ) % {"count": number(refused), "last": workspace.last_refusal}
            since = moment(workspace.last_refusal_at, now)
            found.append(
                Attention(
                    badge(_("Refused"), "warning"),
                    shortened(text, 140),
                    workspace.slug,
                    since,
                    link,
                )
            )
    return found


def _remedy(workspace: Any) -> str:
    if not workspace.has_fixed_token and not workspace.has_client_secret:
        named = {"command": command(f"add_workspace {workspace.slug}")}
        return _("%(command)s with its credentials") % named
    return explain(workspace.problem).remedy


def _stuck_events(person: Person, now: datetime) -> list[Attention]:
    """Return the newest few. The tiles show the number of all."""
    stuck = (
        within(person, ReceivedEvent.objects.filter(Q(state__in=store.STUCK)))
        .select_related("workspace")
        .only("workspace__slug", "state", *TOLD, "received_at", "due_at")
        .order_by("-received_at", "-pk")[:NEWEST]
    )
    return [
        Attention(
            state_badge(received_event),
            shortened(
                said_of(received_event.kind or _("Callback"), said(told(received_event))), 140
            ),
            received_event.workspace.slug,
            moment(received_event.received_at, now),
            page_of(received_event),
            next_try=moment(received_event.due_at, now) if received_event.due_at else "",
        )
        for received_event in stuck
    ]

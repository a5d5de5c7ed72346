"""The figures that this app adds to the dashboard."""

from dataclasses import replace
from datetime import datetime, time

from django.db.models import Count, Sum
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _, ngettext

from crm_sync.admin.received_event.states import TONES, State
from crm_sync.admin.ui.cells import badge, list_of, moment, shortened
from crm_sync.admin.workspace.gaps import unread
from crm_sync.admin.workspace.tabs import address_of
from crm_sync.hooks import NEWEST, Attention, Person, Tile
from crm_sync.inbox.stats import in_states, received_since
from crm_sync.installed import command
from crm_sync.models import Gap, ReceivedEvent, WebhookMonitor, Workspace
from crm_sync.models.received_event import ReceivedEventState
from crm_sync.security.access import within
from crm_sync.translated import number
from crm_sync.webhook.configuration import GONE


def tiles(person: Person) -> list[Tile]:
    """Count the received events by state, and webhook problems. Each count uses an index."""
    return [*_received_events(person), *_webhooks(person)]


def _received_events(person: Person) -> list[Tile]:
    listed = list_of("crm_sync.receivedevent")
    today = datetime.combine(timezone.localdate(), time.min, timezone.get_current_timezone())
    rows = within(person, ReceivedEvent.objects.all())
    received = received_since(rows, today)
    counts = in_states(rows, State.EARLY, State.QUARANTINED, State.FAILED)

    def in_state(state: ReceivedEventState, hint: str) -> Tile:
        address = f"{listed}?state__exact={state}"
        return Tile(str(state.label), counts[state], TONES[state], address, hint)

    ahead_of = _("of the platform's clock: each is applied when its time comes")
    early = in_state(State.EARLY, ahead_of)
    return [
        Tile(_("Received today"), received, "info", listed, _("callbacks stored since midnight")),
        in_state(State.QUARANTINED, _("kept raw until somebody looks")),
        in_state(State.FAILED, _("understood, but not applied")),
        *([early] if early.value else []),
    ]


def _webhooks(person: Person) -> list[Tile]:
    listed = f"{list_of('crm_sync.workspace')}?webhook="
    mine = within(person, Workspace.objects.all(), "pk")
    watched = within(person, WebhookMonitor.objects.all())
    refused = mine.aggregate(total=Sum("refused_callbacks"))["total"] or 0
    found = watched.aggregate(failed=Sum("failed"), changed=Count("drift_since"))
    failed, changed = found["failed"] or 0, found["changed"]
    gaps = within(person, Gap.objects.filter(acknowledged_at=None)).count()
    return [
        Tile(
            _("Refused callbacks"),
            refused,
            "warning",
            f"{listed}refused",
            _("wrong secret, or no body"),
        ),
        Tile(
            _("Failed attempts"),
            failed,
            "warning",
            f"{listed}failed",
            _("of the platform to reach us"),
        ),
        Tile(_("Changed webhooks"), changed, "danger", f"{listed}changed", _("not as we set them")),
        Tile(_("Gaps"), gaps, "warning", f"{listed}gaps", _("intervals that may hide events")),
    ]


def attention(person: Person, now: datetime) -> list[Attention]:
    """Return the webhooks that were changed or had failed attempts, and the newest gaps."""
    unsettled = WebhookMonitor.objects.exclude(drift_since=None) | WebhookMonitor.objects.filter(
        failed__gt=0
    )
    monitors = (
        within(person, unsettled)
        .select_related("workspace")
        .only(
            "workspace__slug",
            "due_at",
            "drift",
            "drift_since",
            "failed",
            "last_failure",
            "last_failure_at",
        )
    )
    gaps = (
        within(person, Gap.objects.filter(acknowledged_at=None))
        .select_related("workspace")
        .only("workspace__slug", "why", "began_at", "ended_at", "noticed_at")
    )
    lines = []
    for seen in monitors.order_by("-drift_since", "pk")[:NEWEST]:
        if seen.drift:
            lines.append(_differing(seen, now))
        if seen.failed:
            text = ngettext(
                "%(count)s did not reach us; the last: %(failure)s",
                "%(count)s did not reach us; the last: %(failure)s",
                seen.failed,
            ) % {"count": number(seen.failed), "failure": seen.last_failure}
            mark = badge(_("Failed attempts"), "warning")
            lines.append(_line(mark, shortened(text, 140), seen, seen.last_failure_at, now))
    newest = list(gaps.order_by("-noticed_at", "-pk")[:NEWEST])
    left = unread(newest)
    return lines + [_gap(gap, left[gap.workspace_id], now) for gap in newest]


def _gap(gap: Gap, left: int, now: datetime) -> Attention:
    named = {"why": gap.get_why_display(), "interval": gap.interval, "count": number(left)}
    if left:
        text = ngettext(
            "%(why)s: %(interval)s may hide events; %(count)s open order is still to be read",
            "%(why)s: %(interval)s may hide events; %(count)s open orders are still to be read",
            left,
        )
        return _line(badge(_("Gap"), "danger"), text % named, gap, gap.noticed_at, now)
    text = _("%(why)s: %(interval)s. All open orders were read since") % named
    line = _line(badge(_("Gap"), "info"), text, gap, gap.noticed_at, now)
    return replace(line, remedy=_("Only an order that somebody else placed then may be missing"))


def _differing(seen: WebhookMonitor, now: datetime) -> Attention:
    if GONE in seen.drift:
        mark, text = _("No webhook"), _("The webhook is not there any more: no event arrives")
    else:
        mark = _("Changed")
        text = _("The webhook was changed on the platform: %(drift)s") % {"drift": _drift(seen)}
    line = _line(badge(mark, "danger"), shortened(text, 140), seen, seen.drift_since, now)
    slug = seen.workspace.slug
    return replace(
        line,
        remedy=_("Repair it on its page, or %(command)s")
        % {"command": command(f"configure_webhook {slug}")},
        act=_("Repair"),
        next_try=moment(seen.due_at, now) if seen.due_at else "",
        is_urgent=GONE in seen.drift,
    )


def _drift(seen: WebhookMonitor) -> str:
    return ", ".join(
        _("%(name)s is %(value)s") % {"name": name, "value": both["theirs"]}
        for name, both in sorted(seen.drift.items())
    )


def _line(
    mark: SafeString,
    text: SafeString | str,
    row: WebhookMonitor | Gap,
    at: datetime | None,
    now: datetime,
) -> Attention:
    tab = "gaps" if isinstance(row, Gap) else "webhook"
    page = address_of(tab, row.workspace_id)
    return Attention(mark, text, row.workspace.slug, moment(at, now), page)

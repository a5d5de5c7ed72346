"""The inbox: received events, their effects, and actions to try them again."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _, ngettext

from crm_sync.admin.received_event.retry import (
    CauseFilter,
    act_on_stuck,
    ask_to_replay,
    failure_groups_page,
)
from crm_sync.admin.received_event.states import state_badge, told, told_alone
from crm_sync.admin.ui.base import ChoicesDropdownFilter, DropdownFilter, action, display
from crm_sync.admin.ui.cells import (
    EMPTY,
    exact_moment,
    link,
    moment,
    page_at,
    page_of,
    shortened,
    two_lines,
    unbroken,
)
from crm_sync.admin.ui.columns import column
from crm_sync.admin.ui.filters import OTHER, ValueFilter, WorkspaceFilter
from crm_sync.admin.ui.payload import raw, readable
from crm_sync.admin.ui.readonly import Empty, ReadOnlyAdmin
from crm_sync.admin.ui.scope import OwnPage
from crm_sync.hooks import Person
from crm_sync.inbox import store
from crm_sync.inbox.stats import inbox_stats
from crm_sync.installed import command
from crm_sync.models import ReceivedEvent
from crm_sync.platform.events import REQUIRED
from crm_sync.security.access import within
from crm_sync.translated import Text, number, span

State = ReceivedEvent.State


class EventFilter(ValueFilter):
    """Filter by the events of §6.3: a query for the names in use would read the whole table."""

    title = _("event")
    parameter_name = column = "kind"
    known = REQUIRED

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Offer the known events, and one choice for all others."""
        return [(kind, kind) for kind in sorted(REQUIRED)] + [(OTHER, gettext("Not known"))]


class AgeFilter(DropdownFilter):
    """Filter by the time since an event was received."""

    title = _("received")
    parameter_name = "age"
    since: Mapping[str, tuple[Text, timedelta]] = {
        "hour": (_("In the last hour"), timedelta(hours=1)),
        "day": (_("In the last day"), timedelta(days=1)),
        "week": (_("In the last 7 days"), timedelta(days=7)),
        "month": (_("In the last 30 days"), timedelta(days=30)),
    }
    OLDER = "older"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Offer the spans, and one choice for older events."""
        spans = [(name, str(text)) for name, (text, __) in self.since.items()]
        return [*spans, (self.OLDER, gettext("Longer ago"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen, now = self.value() or "", timezone.now()
        if chosen == self.OLDER:
            return queryset.filter(received_at__lt=now - self.since["month"][1])
        if chosen in self.since:
            return queryset.filter(received_at__gte=now - self.since[chosen][1])
        return queryset


def live(person: Person, now: datetime) -> dict[str, str]:
    """Return the figures of the person's workspaces as texts for the page."""
    known = inbox_stats(within(person, ReceivedEvent.objects.all()), now)
    return {
        "last_hour": number(known.last_hour),
        "pending": number(known.pending),
        "failed": number(known.failed),
        "quarantined": number(known.quarantined),
        "oldest": EMPTY if known.oldest is None else span(known.oldest),
        "lag": EMPTY if known.lag is None else span(known.lag),
    }


def live_figures(request: HttpRequest) -> HttpResponse:
    """Answer with the figures, for people who may view received events (S17)."""
    figures = live(request.user, timezone.now())
    answer = render(request, "crm_sync/received_event/live.html", {"live": figures})
    answer["Cache-Control"] = "no-store"
    return answer


def lags(received_event: ReceivedEvent) -> tuple[str, str]:
    """Return the time from the event until it was received, and from then until it was applied.

    The first compares the platform's clock with ours, so it may be a little wrong.
    """
    came, done = received_event.received_at, received_event.applied_at
    happened = None if received_event.replay_of_id else received_event.occurred_at
    return _between(happened, came), _between(came, done)


def _in_words(to_us: str, here: str) -> Iterator[str]:
    """Yield a text for each known lag."""
    if to_us != EMPTY:
        yield gettext("%(span)s to us") % {"span": to_us}
    if here != EMPTY:
        yield gettext("%(span)s until it was settled") % {"span": here}


def _between(first: datetime | None, last: datetime | None) -> str:
    return EMPTY if first is None or last is None else span(max(last - first, timedelta(0)))


@admin.register(ReceivedEvent)
class ReceivedEventAdmin(ReadOnlyAdmin):
    """Every received event, with its bytes. No form edits them."""

    empty = Empty(
        _("No callback has arrived yet"),
        _(
            "Callbacks are stored here as they come, before anything is understood. The platform"
            " sends them once its webhook is configured:"
        ),
        (command("configure_webhook main"),),
    )
    change_form_template = "crm_sync/received_event/received_event.html"
    list_before_template = "crm_sync/received_event/inbox_top.html"
    list_display = ("event", "state_shown", "order", "received", "took", "did")
    list_filter = (
        ("state", ChoicesDropdownFilter),
        EventFilter,
        ("source", ChoicesDropdownFilter),
        WorkspaceFilter,
        AgeFilter,
        CauseFilter,
    )
    # The whole id, which has an index: a search in the texts of a million rows takes seconds. Kind,
    # state and cause have filters.
    search_fields = ("order_platform_id__exact",)
    search_help_text = _("Order id")
    ordering = ("-pk",)  # newest first, by the primary key: no sort of millions of rows
    actions = ("replay", "apply_again", "set_aside")

    def pages(self) -> Iterable[OwnPage]:
        return [
            OwnPage("causes/", "causes", partial(failure_groups_page, self), "view"),
            OwnPage("live/", "live", live_figures, "view"),
        ]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the list, and above it a link to the stuck events."""
        stuck = self.narrowed(request, ReceivedEvent.objects.filter(state__in=store.STUCK))
        causes = stuck.order_by().values("state", "problem_kind", "cause").distinct()[:100].count()
        return super().changelist_view(request, (extra_context or {}) | {"causes": causes})

    def get_queryset(self, request: HttpRequest) -> QuerySet[ReceivedEvent]:
        """Do not load the raw bytes for a list, and never the secrets."""
        return super().get_queryset(request).defer("body", "headers")

    event = column(_("event"), lambda row: unbroken(row.kind or gettext("Callback")), "kind")
    state_shown = column(_("state"), state_badge, "state")
    order = column(
        _("order"), lambda row: shortened(row.order_platform_id, 24), "order_platform_id"
    )

    @display(description=_("received, by"), ordering="received_at")
    def received(self, received_event: ReceivedEvent) -> SafeString:
        """Show when and how an event was received, and how often its bytes came again."""
        again = f" +{received_event.repeats}" if received_event.repeats else ""
        source = unbroken(received_event.get_source_display() + again)
        return two_lines(moment(received_event.received_at, timezone.now()), source)

    @display(description=_("lag"))
    def took(self, received_event: ReceivedEvent) -> SafeString:
        """Show the time until it was settled, and the time until it was received."""
        to_us, here = lags(received_event)
        return two_lines(
            unbroken(here),
            unbroken(gettext("%(span)s to us") % {"span": to_us}) if to_us != EMPTY else "",
        )

    did = column(_("what it did"), lambda row: shortened(told_alone(row), 80))

    @action(description=_("Replay…"), permissions=["act"])
    def replay(
        self, request: HttpRequest, queryset: QuerySet[ReceivedEvent]
    ) -> HttpResponse | None:
        """Show what a replay would do. Once confirmed, a worker does it (POST only)."""
        return ask_to_replay(self, request, queryset)

    @action(description=_("Apply again"), permissions=["act"])
    def apply_again(self, request: HttpRequest, queryset: QuerySet[ReceivedEvent]) -> None:
        """Let a worker apply stuck events again (POST only)."""
        self._act_on_stuck(request, queryset, "apply_again")

    @action(description=_("Set aside"), permissions=["act"])
    def set_aside(self, request: HttpRequest, queryset: QuerySet[ReceivedEvent]) -> None:
        """Set aside stuck events that a person has checked (POST only)."""
        self._act_on_stuck(request, queryset, "set_aside")

    def _act_on_stuck(
        self, request: HttpRequest, queryset: QuerySet[ReceivedEvent], name: str
    ) -> None:
        stuck = queryset.filter(state__in=store.STUCK)
        count, text = act_on_stuck(self, request, stuck, name)
        if count:
            messages.success(request, text)
        else:
            messages.warning(request, gettext("None of these has failed or was not understood."))

    def page_context(self, request: HttpRequest, received_event: Any) -> dict[str, Any]:
        may_act = self.has_act_permission(request)
        text, is_json = readable(bytes(received_event.body))
        is_effect = told(received_event) == received_event.effect
        return {
            "badge": state_badge(received_event),
            "facts": _facts(received_event),
            "told": told_alone(received_event),
            "details": "" if is_effect else received_event.effect,
            "payload": text,
            "raw": raw(bytes(received_event.body)),
            "is_json": is_json,
            "replays": _replays(received_event),
            "can_apply_again": received_event.state in store.STUCK and may_act,
            "can_replay": received_event.state != State.RECEIVED
            and not received_event.cleared_at
            and may_act,
        }


def _times(count: int) -> str:
    if not count:
        return gettext("Never")
    return ngettext("Once", "%(count)s times", count) % {"count": number(count)}


def _replays(
    received_event: ReceivedEvent,
) -> list[tuple[SafeString, SafeString | str, SafeString, str]]:
    """Return the replays of an event, with their time, state and effect."""
    now = timezone.now()
    rows = received_event.replays.defer("body", "headers").order_by("-pk")[:20]
    return [
        (
            link(page_of(one), gettext("Received event %(number)s") % {"number": one.pk}),
            moment(one.received_at, now),
            state_badge(one),
            told_alone(one),
        )
        for one in rows
    ]


def _facts(received_event: Any) -> list[tuple[str, object]]:
    now, (to_us, here) = timezone.now(), lags(received_event)
    came_by: object = ", ".join(
        filter(None, (received_event.get_source_display(), received_event.method))
    )
    if received_event.replay_of_id:
        page = page_at("crm_sync.receivedevent", received_event.replay_of_id)
        named = {"number": received_event.replay_of_id}
        came_by = link(page, gettext("Replay of received event %(number)s") % named)
    return [
        (gettext("Workspace"), received_event.workspace_slug),
        (gettext("Order"), received_event.order_platform_id or EMPTY),
        (gettext("Came by"), came_by),
        (gettext("Occurred"), exact_moment(received_event.occurred_at, now)),
        (gettext("Received"), exact_moment(received_event.received_at, now)),
        (gettext("Settled"), exact_moment(received_event.applied_at, now)),
        (gettext("Next try"), exact_moment(received_event.due_at, now)),
        (gettext("Lag"), ", ".join(_in_words(to_us, here)) or EMPTY),
        (gettext("Failed attempts"), received_event.attempts),
        (gettext("Same bytes came again"), _times(received_event.repeats)),
        (gettext("Digest of the bytes"), received_event.digest),
        *(
            [(gettext("Payload removed"), exact_moment(received_event.cleared_at, now))]
            if received_event.cleared_at
            else []
        ),
    ]

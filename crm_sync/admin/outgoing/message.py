"""Messages to other systems: delivered, pending and given up."""

from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.db.models import F, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _, pgettext

from crm_sync import row_locks
from crm_sync.admin.outgoing.subscription import queued, shown_of, standing_badge
from crm_sync.admin.ui.base import ChoicesDropdownFilter, DropdownFilter, action
from crm_sync.admin.ui.cells import (
    EMPTY,
    badge,
    breakable,
    exact_moment,
    link,
    moment,
    page_at,
    page_of,
    shortened,
    two_lines,
    unbroken,
)
from crm_sync.admin.ui.columns import column, moment_column
from crm_sync.admin.ui.filters import WorkspaceFilter
from crm_sync.admin.ui.payload import readable
from crm_sync.admin.ui.readonly import Empty, ReadOnlyAdmin
from crm_sync.hooks import NEWEST, Attention, Person
from crm_sync.models import OutgoingMessage, Subscription
from crm_sync.outgoing import outbox, worker
from crm_sync.outgoing.sending import shown
from crm_sync.security.access import within
from crm_sync.sentence import said, sentence
from crm_sync.text import whole
from crm_sync.work.doorbell import doorbell

State = OutgoingMessage.State
TONES = {State.PENDING: "info", State.DELIVERED: "good", State.GIVEN_UP: "danger"}


def state_badge(row: OutgoingMessage) -> SafeString:
    """Show the state of a message."""
    is_tried = row.state == State.PENDING and row.attempts
    return badge(
        gettext("Retrying") if is_tried else row.get_state_display(),
        "warning" if is_tried else TONES[State(row.state)],
    )


class SubscriptionFilter(DropdownFilter):
    """Filter by subscription."""

    title = _("subscription")
    parameter_name = "subscription"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        mine = within(request.user, Subscription.objects.order_by("pk"))
        rows = mine.values_list("pk", "address", "format")
        return [(str(pk), shown(address, format_)) for pk, address, format_ in rows]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        key = whole(self.value() or "")
        return queryset if key is None else queryset.filter(subscription=key)


@admin.register(OutgoingMessage)
class OutgoingMessageAdmin(ReadOnlyAdmin):
    """Messages to other systems. They are written with the change that they report."""

    empty = Empty(
        _("Nothing was sent"),
        _("Messages to other systems are listed here. Subscriptions say which system gets which."),
    )
    change_form_template = "crm_sync/outgoing/message.html"
    list_display = ("message", "state_", "to", "tries", "last", "created")
    list_filter = (
        ("state", ChoicesDropdownFilter),
        SubscriptionFilter,
        WorkspaceFilter,
    )
    search_fields = ("message_id__exact",)
    search_help_text = _("Message id")
    ordering = ("-pk",)
    actions = ("send_again",)
    annotations = {"address": F("subscription__address"), "format": F("subscription__format")}

    message = column(
        _("message"), lambda row: two_lines(unbroken(row.kind), breakable(row.message_id)), "kind"
    )
    state_ = column(_("state"), state_badge, "state")
    to = column(_("to"), lambda row: breakable(shortened(shown(row.address, row.format), 50)))
    tries = column(_("attempts"), lambda row: row.attempts or EMPTY, "attempts")
    last = column(_("last answer"), lambda row: shortened(row.answer or str(row.status or ""), 60))
    created = moment_column(_("created"), "created_at")

    @action(description=_("Send again"), permissions=["act"])
    def send_again(self, request: HttpRequest, queryset: QuerySet[OutgoingMessage]) -> None:
        """Send messages now, with the same ids, in any state (POST only)."""
        now = timezone.now()
        rows = OutgoingMessage.objects.filter(pk__in=[row.pk for row in queryset])
        workspaces = set(rows.values_list("workspace_id", flat=True))
        self.note(request, rows, sentence("Sent again."))
        fresh = {"first_tried_at": None, "attempts": 0, "group": ""}
        count = row_locks.update(rows, state=State.PENDING, due_at=now, **fresh)
        mine = Subscription.objects.filter(outgoingmessage__in=rows, is_enabled=True)
        Subscription.objects.filter(pk__in=mine.values("pk")).update(due_at=now)
        doorbell.ring_each(outbox.QUEUE, workspaces)
        messages.success(request, queued(count))
        if rows.filter(subscription__is_enabled=False).exists():
            text = gettext("Some wait until their subscription is enabled again.")
            messages.warning(request, text)

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        now = timezone.now()
        text, __ = readable(row.payload.encode())
        to = link(
            page_at("crm_sync.subscription", row.subscription_id), shown(row.address, row.format)
        )
        facts: list[tuple[str, object]] = [
            (gettext("Workspace"), row.workspace_slug),
            (gettext("To"), to),
            (gettext("Id"), row.message_id),
            (pgettext("moment", "Created"), exact_moment(row.created_at, now)),
            (gettext("Attempts"), row.attempts),
            (gettext("Last attempt"), exact_moment(row.tried_at, now)),
            (gettext("Last status"), row.status or EMPTY),
            (gettext("Next attempt"), exact_moment(row.due_at, now)),
        ]
        return {"badge": state_badge(row), "facts": facts, "payload": text}


def attention(person: Person, now: datetime) -> list[Attention]:
    """Return the subscriptions that have failed for an hour, or were stopped after failures."""
    waiting = Subscription.objects.filter(worker.needs_a_person(now))
    rows = within(person, waiting).defer("secret", "previous_secret")
    named = rows.annotate(workspace_slug=F("workspace__slug")).order_by("failing_since", "pk")
    return [
        Attention(
            standing_badge(row),
            shortened(
                gettext("%(address)s gets no messages: %(problem)s")
                % {"address": shown_of(row), "problem": said(row.problem)},
                140,
            ),
            row.workspace_slug,
            moment(row.failing_since, now),
            page_of(row),
            remedy=gettext("Fix the receiver or the address, then enable the subscription")
            if not row.is_enabled
            else gettext("Fix the receiver, or correct the address"),
            next_try=moment(row.due_at, now) if row.is_enabled else gettext("Not by itself"),
        )
        for row in named[:NEWEST]
    ]

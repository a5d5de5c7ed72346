"""Subscriptions: an address, the kinds of its messages, and a secret shown once (S5)."""

from datetime import timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _, ngettext

from crm_sync import hooks, row_locks
from crm_sync.admin.ui import own_password
from crm_sync.admin.ui.base import (
    ModelForm,
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
    action,
)
from crm_sync.admin.ui.cells import badge, exact_moment, link, list_of, page_of, two_lines
from crm_sync.admin.ui.columns import column, moment_column
from crm_sync.admin.ui.filters import WorkspaceFilter
from crm_sync.admin.ui.own_password import OwnPasswordField
from crm_sync.admin.ui.page import secret_page
from crm_sync.admin.ui.readonly import Empty
from crm_sync.admin.ui.scope import ScopedAdmin
from crm_sync.models import MessageFormat, OutgoingMessage, Subscription
from crm_sync.outgoing import chat, outbox, signature
from crm_sync.outgoing.sending import fault, shown
from crm_sync.security import login
from crm_sync.sentence import Sentence, said, sentence
from crm_sync.text import capitalized
from crm_sync.translated import number, said_of

BOTH_VALID = timedelta(hours=24)  # how long the old secret stays valid after a change
State = OutgoingMessage.State


class SubscriptionForm(ModelForm):
    """The address of a subscription, its kinds of messages, and how they are written."""

    kinds = forms.MultipleChoiceField(
        label=_("Messages"), widget=UnfoldAdminCheckboxSelectMultipleWidget
    )
    format = forms.ChoiceField(
        label=_("Format"),
        required=False,  # JSON if none is chosen
        choices=MessageFormat.choices,
        widget=UnfoldAdminSelectWidget,
    )
    language = forms.ChoiceField(
        label=_("Language"),
        required=False,
        widget=UnfoldAdminSelectWidget,
        help_text=_("Of messages in Teams and Slack."),
    )
    password = OwnPasswordField()
    request: HttpRequest

    class Meta:
        model = Subscription
        fields = ("workspace", "address", "format", "kinds", "template", "language")
        widgets = {
            "address": UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
            "template": UnfoldAdminTextInputWidget(attrs={"placeholder": chat.USUAL}),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "language" in self.fields:
            language: Any = self.fields["language"]
            language.choices = [("", _("As the installation")), *settings.LANGUAGES]
        if "template" in self.fields:
            names = ", ".join(f"{{{one}}}" for one in chat.NAMES)
            text = gettext("One line for each change in Teams and Slack, with any of %(names)s.")
            self.fields["template"].help_text = text % {"names": names}
        if "kinds" in self.fields:
            kinds = hooks.plugged().message_kinds
            field: Any = self.fields["kinds"]
            field.choices = [(one.name, said_of(one.name, one.text)) for one in kinds]
        own_password.ask(self, self.request)

    def clean(self) -> dict[str, Any]:
        """Require the password before the address is changed, and before the secret is shown."""
        cleaned = super().clean() or {}
        own_password.check(self, self.request)
        return cleaned

    def clean_format(self) -> str:
        """Keep the format if none was chosen."""
        return str(self.cleaned_data["format"] or self.instance.format)

    def clean_template(self) -> str:
        """Reject a text that cannot be filled in, with the names that it may have."""
        text = str(self.cleaned_data["template"]).strip()
        try:
            chat.parsed(text)
        except chat.TemplateWrong as error:
            raise forms.ValidationError(f"{capitalized(said(error))}.") from None
        return text

    def clean_address(self) -> str:
        """Reject an invalid address, with the reason."""
        text = str(self.cleaned_data["address"]).strip()
        if found := fault(text):
            raise forms.ValidationError(f"{capitalized(found.said())}.")
        return text


def standing(row: Subscription) -> tuple[str, str]:
    """Return the state of a subscription as one word, and its tone."""
    if not row.is_enabled:
        return (gettext("Stopped"), "danger") if row.problem else (gettext("Disabled"), "muted")
    return (gettext("Failing"), "warning") if row.failing_since else (gettext("Active"), "good")


def standing_badge(row: Subscription) -> SafeString:
    """Show the state of a subscription."""
    return badge(*standing(row))


@admin.register(Subscription)
class SubscriptionAdmin(ScopedAdmin):
    """The subscriptions. They are disabled, not deleted, because their messages refer to them."""

    form = SubscriptionForm
    empty = Empty(
        _("No other system gets messages"),
        _(
            "CRM sync can send a message to another system when a property is in sync or refused,"
            " when an order has a new status, and when materials are ready. Add its address here."
        ),
        adds=True,
    )
    change_form_template = "crm_sync/outgoing/subscription.html"
    list_display = ("address_", "state", "messages_", "waiting", "since")
    list_filter = (WorkspaceFilter,)
    ordering = ("pk",)
    actions = ("send_test", "rotate", "enable", "disable")

    address_ = column(_("address"), lambda row: two_lines(shown_of(row), said(row.problem)[:120]))
    state = column(_("state"), standing_badge)
    messages_ = column(_("messages"), lambda row: ", ".join(row.kinds))
    waiting = column(_("waiting"), lambda row: number(row.pending))
    since = moment_column(_("failing since"), "failing_since")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Load all except the secrets, and count the messages that are pending and given up."""
        rows: QuerySet[Any] = super().get_queryset(request)
        counts = {
            "pending": Count("outgoingmessage", filter=Q(outgoingmessage__state=State.PENDING)),
            "given_up": Count("outgoingmessage", filter=Q(outgoingmessage__state=State.GIVEN_UP)),
        }
        known: QuerySet[Any] = rows.defer("secret", "previous_secret").annotate(**counts)
        return known

    # --- the form ---
    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        fields = ["format", "kinds", "template", "language"]
        may = obj is None or self.has_change_permission(request, obj)
        if may:  # the page shows the others the address without its keys
            fields.insert(0, "address")
        if obj is None:
            fields.insert(0, "workspace")
        if may and login.needs_password(request, timezone.now()):
            fields.append("password")
        return [(gettext("Address and messages"), {"fields": fields})]

    def save_model(self, request: HttpRequest, obj: Subscription, form: Any, change: bool) -> None:
        """Write only the columns that were changed here: workers write the others (rule 7)."""
        with outbox.changing(obj.workspace_id):
            if not change:
                obj.secret, obj.due_at = signature.new_secret(), timezone.now()
                obj.save(force_insert=True)
            elif columns := {name: getattr(obj, name) for name in form.changed_data}:
                Subscription.objects.filter(pk=obj.pk).update(due_at=timezone.now(), **columns)

    def response_add(
        self, request: HttpRequest, obj: Subscription, post_url_continue: str | None = None
    ) -> HttpResponse:
        """Show the secret once, in the response itself: it is stored in no session.

        Teams and Slack need none.
        """
        if obj.is_chat:
            messages.success(request, gettext("The subscription is saved."))
            return HttpResponseRedirect(page_of(obj))
        return self._shown_once(request, obj, gettext("The subscription is saved."))

    # --- the page ---
    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        return {
            "title": shown_of(row),
            "badge": standing_badge(row),
            "tone": standing(row)[1],
            "facts": _facts(row),
        }

    # --- what a person does ---
    @action(description=_("Send a test message"), permissions=["act"])
    def send_test(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse:
        """Write a message of the kind `test` to the outbox (POST only)."""
        rows = list(queryset)
        sent = [outbox.test(row, now=timezone.now()) for row in rows if row.is_enabled]
        self._noted(
            request, [row for row in rows if row.is_enabled], sentence("Sent a test message.")
        )
        if len(sent) < len(rows):
            text = gettext("Nothing is sent to a disabled subscription: enable it first.")
            messages.warning(request, text)
        if sent:
            messages.success(request, queued(len(sent)))
        return HttpResponseRedirect(page_of(sent[0]) if len(sent) == 1 else request.path)

    @action(description=_("Change the secret"), permissions=["act"])
    def rotate(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Make a new secret. For a day, the old one also signs each message (POST only)."""
        rows = list(queryset[:2])
        if len(rows) != 1:
            text = gettext("Change the secret of one subscription at a time.")
            messages.warning(request, text)
            return None
        if not login.is_confirmed(request, request.POST.get("password", ""), timezone.now()):
            text = gettext("Messages to %(address)s will be signed with a new secret.")
            return own_password.ask_first(
                self,
                request,
                title=gettext("Change the secret"),
                text=text % {"address": shown_of(rows[0])},
                back=page_of(rows[0]),
            )
        with transaction.atomic():
            row = Subscription.objects.select_for_update().get(pk=rows[0].pk)
            now = timezone.now()
            row.previous_secret = "\n".join(row.valid_secrets(now))
            row.previous_secret_until = now + BOTH_VALID
            row.secret = signature.new_secret()
            names = ["secret", "previous_secret", "previous_secret_until"]
            row.save(update_fields=names)
        self._noted(request, rows, sentence("The secret was changed."))
        text = gettext("For 24 hours messages are signed with the old secret too.")
        return self._shown_once(request, row, text)

    @action(description=_("Enable"), permissions=["act"])
    def enable(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse:
        """Enable subscriptions, and send their pending messages at once (POST only)."""
        now = timezone.now()
        fresh = {"attempts": 0, "failing_since": None, "problem": "", "due_at": now}
        rows = [row for row in queryset if not row.is_enabled]
        waiting = OutgoingMessage.objects.filter(state=State.PENDING)
        row_locks.update(waiting.filter(subscription__in=[row.pk for row in rows]), due_at=now)
        said = ngettext(
            "%(count)s subscription is enabled.", "%(count)s subscriptions are enabled.", len(rows)
        )
        return self._switch(request, rows, sentence("Enabled."), said, is_enabled=True, **fresh)

    @action(description=_("Disable"), permissions=["act"])
    def disable(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse:
        """Send and write no more messages. Pending ones are kept (POST only)."""
        rows = [row for row in queryset if row.is_enabled]
        said = ngettext(
            "%(count)s subscription is disabled.",
            "%(count)s subscriptions are disabled.",
            len(rows),
        )
        calm = {"attempts": 0, "failing_since": None, "problem": ""}  # no failure any more
        return self._switch(request, rows, sentence("Disabled."), said, is_enabled=False, **calm)

    def _switch(
        self,
        request: HttpRequest,
        rows: list[Subscription],
        noted: Sentence,
        said: str,
        **columns: Any,
    ) -> HttpResponse:
        with outbox.changing(*{row.workspace_id for row in rows}):
            Subscription.objects.filter(pk__in=[row.pk for row in rows]).update(**columns)
        self._noted(request, rows, noted)
        messages.success(request, said % {"count": number(len(rows))})
        return HttpResponseRedirect(page_of(rows[0]) if len(rows) == 1 else request.path)

    def _noted(self, request: HttpRequest, rows: list[Subscription], text: Sentence) -> None:
        mine = Subscription.objects.filter(pk__in=[row.pk for row in rows])
        self.note(request, mine.defer("secret", "previous_secret"), text)

    def _shown_once(self, request: HttpRequest, row: Subscription, text: str) -> HttpResponse:
        purpose = gettext("The receiver verifies each message with this secret.")
        return secret_page(
            self,
            request,
            title=gettext("The new secret"),
            text=f"{text} {purpose}",
            secret=str(row.secret),
            back=page_of(row),
        )


def queued(count: int) -> str:
    """Return that so many messages wait for a worker."""
    text = ngettext(
        "%(count)s message is queued for a worker.",
        "%(count)s messages are queued for a worker.",
        count,
    )
    return text % {"count": number(count)}


def shown_of(row: Subscription) -> str:
    """Return `shown` of a subscription."""
    return shown(row.address, row.format)


def _facts(row: Any) -> list[tuple[str, object]]:
    now, listed = timezone.now(), f"{list_of('crm_sync.outgoingmessage')}?subscription={row.pk}"
    until, failing = row.previous_secret_until, row.failing_since
    found: list[tuple[str, object]] = [
        (gettext("Workspace"), row.workspace_slug),
        (gettext("Format"), row.get_format_display()),
        (gettext("Failing since"), exact_moment(failing, now) if failing else ""),
        (gettext("Next try"), exact_moment(row.due_at, now) if failing and row.is_enabled else ""),
        (gettext("Waiting"), link(listed, number(row.pending))),
        (gettext("Given up"), link(f"{listed}&state__exact=GIVEN_UP", number(row.given_up))),
        (
            gettext("Old secret valid until"),
            exact_moment(until, now) if until and until > now else "",
        ),
    ]
    return [(name, value) for name, value in found if value != ""]

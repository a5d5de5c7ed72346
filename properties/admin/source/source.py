"""The list and the page of sources: schedule, history, and the actions of a person."""

from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.formats import number_format, time_format
from django.utils.html import format_html
from django.utils.translation import gettext, gettext_lazy as _, ngettext, pgettext
from django.views.decorators.debug import sensitive_post_parameters

from crm_sync.admin.ui.base import action
from crm_sync.admin.ui.cells import badge, exact_moment, link, page_of, two_lines
from crm_sync.admin.ui.columns import column, moment_column
from crm_sync.admin.ui.filters import WorkspaceFilter
from crm_sync.admin.ui.readonly import Empty
from crm_sync.admin.ui.scope import ScopedAdmin
from crm_sync.security import login
from crm_sync.security.access import within
from crm_sync.sentence import Sentence, said, sentence
from crm_sync.text import capitalized
from crm_sync.translated import number
from properties.admin.import_.import_page import badge_of
from properties.admin.source.files_in_turn import files_in_turn
from properties.admin.source.source_form import SourceForm
from properties.admin.source.source_state import (
    NAMES,
    NOT_IMPORTED,
    STOPPED,
    standing,
    state_badge,
    with_last_import,
)
from properties.admin.words import and_more
from properties.models import DeliveredFile, Fetch, Sender, Source
from properties.models.source import Delivery, SignIn
from properties.sources.address import parsed, shown
from properties.sources.delivered_files import skip, skip_all
from properties.sources.fetch.sftp import fingerprint

SHOWN = 50  # fetches on the page
BESIDE = 5  # names of files beside a feed
TONES = {
    Fetch.Outcome.UNCHANGED: "muted",
    Fetch.Outcome.IMPORT: "good",
    Fetch.Outcome.WAITS: "info",
    Fetch.Outcome.FAILED: "warning",
    Fetch.Outcome.REFUSED: "danger",
    Fetch.Outcome.AWAY: "warning",
}


def schedule_of(row: Source) -> str:
    """Return in words when a source is fetched."""
    if not row.is_enabled:
        return gettext("Only when somebody asks")
    if row.daily_at is not None:
        zone = timezone.get_default_timezone_name()
        at = time_format(row.daily_at, "H:i")
        return gettext("Daily at %(time)s %(zone)s") % {"time": at, "zone": zone}
    minutes = row.every_minutes or 0
    text = ngettext("Every %(count)s minute", "Every %(count)s minutes", minutes)
    return text % {"count": number(minutes)}


@admin.register(Source)
class SourceAdmin(ScopedAdmin):
    """A source is switched off and never deleted, because its imports name it."""

    form = SourceForm
    empty = Empty(
        _("No feed is fetched yet"),
        _(
            "Name a sender, and say where its feed is: a web, FTP or SFTP server, or a folder. The"
            " first feed is looked at, and imported when you say so; later ones by themselves."
        ),
        adds=True,
    )
    change_form_template = "properties/source.html"

    class Media:
        css = {"all": ("properties/import.css", "properties/source.css")}

    list_display = ("feed", "state_", "schedule", "fetched", "changed")
    list_filter = (WorkspaceFilter,)
    search_fields = ("sender__name",)
    search_help_text = _("Sender")
    ordering = ("sender__name", "pk")
    actions = ("fetch_now", "fetch_all_the_same", "forget_key", "skip_file", "skip_all_files")

    feed = column(
        _("feed"), lambda row: two_lines(row.sender_name, shown(row.address)), "sender__name"
    )
    state_ = column(_("state"), lambda row: state_badge(row, timezone.now()))
    schedule = column(_("schedule"), schedule_of)
    fetched = moment_column(_("last fetch"), "fetched_at")
    changed = moment_column(_("last new feed"), "changed_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Load everything except the secret, and whether there is a secret."""
        flag = ExpressionWrapper(~Q(secret=""), output_field=BooleanField())
        rows: QuerySet[Any] = with_last_import(super().get_queryset(request))
        known: QuerySet[Any] = rows.annotate(has_secret=flag)
        return known

    # --- the form ---
    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        made = super().get_form(request, obj, change, **kwargs)
        made.senders = within(request.user, Sender.objects.order_by("name"))
        return made

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is not None and not self.has_change_permission(request, obj):
            return [(None, {"fields": ()})]  # its address may hold a key: the page shows the rest
        asks = login.needs_password(request, timezone.now())
        own = [(gettext("Before you save"), {"fields": ("password",)})] if asks else []
        return [
            (gettext("Where"), {"fields": ("sender", "address", "delivery")}),
            (
                gettext("Sign in"),
                {"fields": ("sign_in", "header", "user", "new_secret", "without_secret")},
            ),
            (gettext("When"), {"fields": ("is_enabled", "every_minutes", "daily_at")}),
            (gettext("Notifications"), {"fields": ("expect_hours", "mail_to")}),
            *own,
        ]

    @method_decorator(sensitive_post_parameters("new_secret", "password"))
    def changeform_view(self, *args: Any, **kwargs: Any) -> Any:
        """Keep the typed secrets out of error reports."""
        return super().changeform_view(*args, **kwargs)

    def save_model(self, request: HttpRequest, obj: Source, form: Any, change: bool) -> None:
        """Write only the changed columns, because workers write the others (rule 7)."""
        columns = form.changed_columns()
        if not change:
            for name, value in columns.items():
                setattr(obj, name, value)
            obj.workspace_id = obj.sender.workspace_id
            obj.due_at = timezone.now() if obj.is_enabled else None
            obj.save(force_insert=True)
        elif columns:
            if "sender" in columns:
                columns["workspace_id"] = obj.sender.workspace_id
            is_moved = columns.get("workspace_id", obj.workspace_id) != obj.workspace_id
            with transaction.atomic():
                if is_moved or "address" in columns:  # other files, or all anew
                    DeliveredFile.objects.filter(source=obj).delete()
                Source.objects.filter(pk=obj.pk).update(**columns)

    # --- the page ---
    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        now = timezone.now()
        name, tone, why = standing(row, now)
        return {
            "title": row.sender_name,
            "badge": badge(NAMES[name], tone),
            "why": capitalized(said(why)),
            "why_tone": tone,
            "stopped": row.stopped_pk if name == STOPPED else None,
            "may_insist": row.last_state == "FAILED" and name in (NOT_IMPORTED, STOPPED),
            "facts": [(name, value) for name, value in _facts(row, now) if value],
            "looks": [_look(one) for one in _history(row)],
            "files": files_in_turn(row) if row.delivery == Delivery.IN_TURN else None,
        }

    # --- what a person does ---
    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Offer to skip files only on the page, which shows them, and not in the list."""
        found: dict[str, Any] = super().get_actions(request)
        hidden = () if request.method == "POST" else ("skip_file", "skip_all_files")
        return {name: one for name, one in found.items() if name not in hidden}

    @action(description=_("Fetch now"), permissions=["act"])
    def fetch_now(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse:
        """Let a worker fetch at once, even if nothing has changed (POST only)."""
        return self._ask(request, queryset, sentence("Fetched by hand."), is_asked=True)

    @action(description=_("Fetch, and take it even if much is missing"), permissions=["act"])
    def fetch_all_the_same(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse:
        """Fetch at once, without the guard of full feeds (POST only)."""
        text = sentence("Fetched by hand, even if much is missing.")
        return self._ask(request, queryset, text, is_asked=True, insists=True)

    @action(description=_("Forget the key of the server"), permissions=["act"])
    def forget_key(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse:
        """Forget the key of an SFTP server and accept its next one (POST only)."""
        text = sentence("The key of the server was forgotten.")
        return self._ask(request, queryset, text, is_asked=True, host_key="")

    @action(description=_("Skip this file"), permissions=["act"])
    def skip_file(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse:
        """Let a source go on behind the file that the form names (POST only)."""
        rows = Source.objects.filter(pk__in=[row.pk for row in queryset])
        key = request.POST.get("file", "")
        files = DeliveredFile.objects.filter(source__in=rows, pk=key if key.isdecimal() else None)
        names = list(files.values_list("name", flat=True))
        if skip(files, timezone.now()):
            text = sentence("The file %(name)s was skipped.", name=names[0])
            self.note(request, rows.defer("secret"), text)
            messages.success(request, text)
        else:
            messages.warning(request, gettext("Nothing was skipped: the file has changed since."))
        only = rows.only("pk").first()
        return HttpResponseRedirect(page_of(only) if only else request.get_full_path())

    @action(description=_("Skip all files that are there now"), permissions=["act"])
    def skip_all_files(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse:
        """Let a worker skip what lies in the folder of a source (POST only)."""
        rows = Source.objects.filter(pk__in=[row.pk for row in queryset])
        if skip_all(rows, timezone.now()):
            text = sentence("All files that were in the folder then are skipped.")
            self.note(request, rows.defer("secret"), text)
            messages.success(
                request,
                gettext("A worker skips them in a moment. Files that come later are imported."),
            )
        only = rows.only("pk").first()
        return HttpResponseRedirect(page_of(only) if only else request.get_full_path())

    def _ask(
        self, request: HttpRequest, queryset: QuerySet[Any], text: Sentence, **columns: Any
    ) -> HttpResponse:
        rows = Source.objects.filter(pk__in=[row.pk for row in queryset])
        count = rows.update(due_at=timezone.now(), **columns)
        self.note(request, rows.defer("secret"), text)
        done = ngettext(
            "A worker fetches the feed in a moment.",
            "A worker fetches %(count)s feeds in a moment.",
            count,
        )
        messages.success(request, done % {"count": number(count)})
        only = rows.only("pk").first() if count == 1 else None
        return HttpResponseRedirect(page_of(only) if only else request.get_full_path())


def _facts(row: Any, now: Any) -> list[tuple[str, object]]:
    return [
        (gettext("Address"), shown(row.address)),
        (gettext("Encrypted on the way"), _encrypted(row)),
        (
            gettext("Sign in by"),
            row.get_sign_in_display() if row.sign_in != SignIn.PASSWORD else "",
        ),
        (
            gettext("Password, token or key"),
            pgettext("secret", "Stored") if row.has_secret else pgettext("secret", "None"),
        ),
        (gettext("Key of the server"), fingerprint(row.host_key) if row.host_key else ""),
        (gettext("Deliveries"), row.get_delivery_display()),
        (gettext("Files that wait"), number(row.files_waiting) if row.files_waiting else ""),
        (
            gettext("Skips files until"),
            exact_moment(row.skips_before, now) if row.skips_before else "",
        ),
        (gettext("Schedule"), schedule_of(row)),
        (gettext("Next fetch"), exact_moment(row.due_at, now) if row.due_at else ""),
        (gettext("Last fetch"), exact_moment(row.fetched_at, now)),
        (gettext("Last new feed"), exact_moment(row.changed_at, now)),
        (gettext("Mail to"), row.mail_to.replace("\n", ", ")),
    ]


def _encrypted(row: Source) -> str:
    try:
        address = parsed(row.address)
    except ValueError:
        return ""
    if address.scheme == "file":
        return ""
    if address.is_encrypted:
        return gettext("Yes")
    return gettext("No: what signs in and the feed can be read on the way")


def _history(row: Source) -> QuerySet[Fetch]:
    looks = Fetch.objects.filter(source=row).order_by("-at", "-pk")
    return looks.select_related("imported").defer("imported__preview", "imported__report")[:SHOWN]


def _look(one: Fetch) -> dict[str, Any]:
    now = timezone.now()
    beside = ", ".join(one.beside[:BESIDE])
    more = one.beside_count - min(len(one.beside), BESIDE)
    return {
        "at": exact_moment(one.at, now),
        "outcome": badge(one.get_outcome_display(), TONES[Fetch.Outcome(one.outcome)]),
        "file": one.name,
        "size": filesizeformat(one.size) if one.size is not None else "",
        "seconds": gettext("%(count)s s") % {"count": number_format(one.seconds, 1)}
        if one.seconds
        else "",
        "text": capitalized(said(one.text)),
        "beside": and_more(beside, more),
        "imported": format_html(
            "{} {}", badge_of(one.imported), link(page_of(one.imported), gettext("What it did"))
        )
        if one.imported
        else "",
    }

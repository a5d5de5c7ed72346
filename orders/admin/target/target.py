"""The list and the page of targets: where files go, how many are there, and what people do."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.translation import gettext, gettext_lazy as _, ngettext, pgettext
from django.views.decorators.debug import sensitive_post_parameters

from crm_sync.admin.ui.base import action
from crm_sync.admin.ui.cells import badge, exact_moment, link, list_of, page_of, two_lines
from crm_sync.admin.ui.columns import column, moment_column
from crm_sync.admin.ui.filters import WorkspaceFilter
from crm_sync.admin.ui.readonly import Empty
from crm_sync.admin.ui.scope import ScopedAdmin
from crm_sync.security import login
from crm_sync.sentence import Sentence, said, sentence
from crm_sync.translated import number
from orders.admin.target.target_form import TargetForm
from orders.admin.target.target_state import NAMES, standing, state_badge, with_counts
from orders.models import Target, TargetFile
from orders.targets import target_files
from properties.sources.fetch.sftp import fingerprint


@admin.register(Target)
class TargetAdmin(ScopedAdmin):
    """A target is paused and never deleted, because its files name it."""

    form = TargetForm
    empty = Empty(
        _("No file goes to another system yet"),
        _(
            "Name a folder, an SFTP or FTPS server, WebDAV or a storage with S3. From then on each"
            " file that is delivered is uploaded there by itself."
        ),
        adds=True,
    )
    change_form_template = "orders/target.html"
    list_display = ("target", "state_", "waiting_", "there", "last")
    list_filter = (WorkspaceFilter,)
    search_fields = ("name",)
    search_help_text = _("Name")
    ordering = ("name", "pk")
    actions = ("test", "upload_stored", "upload_refused", "forget_key")

    target = column(_("target"), lambda row: two_lines(row.name, row.address), "name")
    state_ = column(_("state"), state_badge)
    waiting_ = column(_("waiting"), lambda row: number(row.waiting))
    there = column(_("uploaded"), lambda row: number(row.uploaded))
    last = moment_column(_("last upload"), "uploaded_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Load everything except the secret, whether there is one, and the counts."""
        flag = ExpressionWrapper(~Q(secret=""), output_field=BooleanField())
        known: QuerySet[Any] = with_counts(super().get_queryset(request)).annotate(has_secret=flag)
        return known

    # --- the form ---
    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is not None and not self.has_change_permission(request, obj):
            return [(None, {"fields": ()})]  # the page shows the rest
        asks = login.needs_password(request, timezone.now())
        own = [(gettext("Before you save"), {"fields": ("password",)})] if asks else []
        where = ("name", "kind", "address", "region")
        return [
            (gettext("Where"), {"fields": where if obj is not None else ("workspace", *where)}),
            (gettext("Sign in"), {"fields": ("user", "new_secret", "without_secret")}),
            (
                gettext("Which files"),
                {
                    "fields": (
                        "pattern",
                        "products",
                        "quality",
                        "content",
                        "longest_edge",
                        "is_enabled",
                    )
                },
            ),
            *own,
        ]

    @method_decorator(sensitive_post_parameters("new_secret", "password"))
    def changeform_view(self, *args: Any, **kwargs: Any) -> Any:
        """Keep the typed secrets out of error reports."""
        return super().changeform_view(*args, **kwargs)

    def save_model(self, request: HttpRequest, obj: Target, form: Any, change: bool) -> None:
        """Write only the changed columns, because workers write the others (rule 7)."""
        columns = form.changed_columns()
        if not change:
            for name, value in columns.items():
                setattr(obj, name, value)
            obj.due_at = timezone.now()
            obj.save(force_insert=True)
        elif columns:
            Target.objects.filter(pk=obj.pk).update(**columns)

    # --- the page ---
    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        now = timezone.now()
        name, tone, why = standing(row)
        return {
            "title": row.name,
            "badge": badge(NAMES[name], tone),
            "why": said(why),
            "why_tone": tone,
            "facts": [(name, value) for name, value in _facts(row, now) if value],
        }

    # --- what a person does ---
    @action(description=_("Test: write and remove a small file"), permissions=["act"])
    def test(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse:
        """Let a worker write, rename and remove a small file at once (POST only)."""
        count = self._change(
            request, queryset, sentence("A test was asked for."), is_test_asked=True
        )
        return self._done(request, queryset, _tested_soon(count))

    @action(description=_("Upload what is stored already"), permissions=["act"])
    def upload_stored(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse:
        """Make the files due that were stored before the target was there (POST only)."""
        self._change(request, queryset, sentence("The stored files were asked for."))
        now = timezone.now()
        count = sum(
            target_files.want_at(row, target_files.stored_for(row), now=now)
            for row in Target.objects.defer("secret").filter(pk__in=[one.pk for one in queryset])
        )
        return self._done(request, queryset, _of_files(count))

    @action(description=_("Upload again what was not taken"), permissions=["act"])
    def upload_refused(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse:
        """Make the files due that the target refused, and the target itself (POST only)."""
        self._change(request, queryset, sentence("The files not taken were asked for again."))
        files = TargetFile.objects.filter(target__in=[row.pk for row in queryset], due_at=None)
        count = target_files.try_again(files, now=timezone.now())
        return self._done(request, queryset, _of_files(count))

    @action(description=_("Forget the key of the server"), permissions=["act"])
    def forget_key(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse:
        """Forget the key of an SFTP server and accept its next one (POST only)."""
        text = sentence("The key of the server was forgotten.")
        count = self._change(request, queryset, text, host_key="", is_test_asked=True)
        return self._done(request, queryset, _tested_soon(count))

    def _change(
        self, request: HttpRequest, queryset: QuerySet[Any], text: Sentence, **columns: Any
    ) -> int:
        rows = Target.objects.filter(pk__in=[row.pk for row in queryset])
        self.note(request, rows.defer("secret"), text)
        return target_files.due_now(rows, now=timezone.now(), **columns)

    def _done(self, request: HttpRequest, queryset: QuerySet[Any], text: str) -> HttpResponse:
        messages.success(request, text)
        only = queryset.first() if queryset.count() == 1 else None
        return HttpResponseRedirect(page_of(only) if only else request.get_full_path())


def _tested_soon(count: int) -> str:
    text = ngettext(
        "A worker tests the target in a moment.",
        "A worker tests %(count)s targets in a moment.",
        count,
    )
    return text % {"count": number(count)}


def _of_files(count: int) -> str:
    text = ngettext("A worker uploads %(count)s file.", "A worker uploads %(count)s files.", count)
    return text % {"count": number(count)}


def _facts(row: Any, now: Any) -> list[tuple[str, object]]:
    files = f"{list_of('orders.targetfile')}?target__id__exact={row.pk}"
    return [
        (gettext("Kind"), row.get_kind_display()),
        (gettext("Address"), row.address),
        (
            gettext("Password or key"),
            pgettext("secret", "Stored") if row.has_secret else pgettext("secret", "None"),
        ),
        (gettext("Key of the server"), fingerprint(row.host_key) if row.host_key else ""),
        (gettext("Names of the files"), row.pattern),
        (gettext("Uploaded"), link(files, number(row.uploaded))),
        (gettext("Waiting"), number(row.waiting) if row.waiting else ""),
        (
            gettext("Not taken"),
            link(f"{files}&state=problem", number(row.refused)) if row.refused else "",
        ),
        (gettext("Last upload"), exact_moment(row.uploaded_at, now) if row.uploaded_at else ""),
        (gettext("Last test"), exact_moment(row.tested_at, now) if row.tested_at else ""),
        (gettext("Next try"), exact_moment(row.due_at, now) if row.problem else ""),
    ]

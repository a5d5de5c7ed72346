"""The import of uploaded feeds; a worker reads and imports them (`properties.imports.job`)."""

import csv
from collections.abc import Iterable
from copy import copy
from functools import partial
from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import PermissionDenied
from django.db.models import F, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.utils.translation import (
    get_language,
    gettext,
    gettext_lazy as _,
    ngettext,
    pgettext_lazy,
)

from crm_sync.account_names import name_by
from crm_sync.admin.ui.base import (
    ChoicesDropdownFilter,
    ModelForm,
    UnfoldAdminFileFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldBooleanWidget,
    action,
    display,
)
from crm_sync.admin.ui.cells import EMPTY, moment, page_of, shortened, two_lines
from crm_sync.admin.ui.columns import column, moment_column
from crm_sync.admin.ui.filters import WorkspaceFilter
from crm_sync.admin.ui.readonly import Empty, ReadOnlyAdmin
from crm_sync.admin.ui.scope import OwnPage, offer_workspaces
from crm_sync.hooks import Person
from crm_sync.installed import command
from crm_sync.security.access import own_workspaces
from crm_sync.sentence import Sentence, sentence
from crm_sync.translated import Counted, number
from properties.admin.import_.import_columns import answer_of
from properties.admin.import_.import_page import badge_of, import_page, progress
from properties.admin.import_.waiting_imports import MAY_ACT
from properties.admin.property.export_actions import NO_ROOM, TYPES
from properties.feeds.table.table_cells import GUARDED_IN_CSV, guard
from properties.feeds.table.table_writer import as_csv, as_xlsx
from properties.imports import column_choice, upload
from properties.imports.report import OUTCOMES, count
from properties.imports.upload_limit import was_too_large
from properties.models import Import, Sender


class UploadForm(ModelForm):
    """The form of an upload: the file, its workspace and its sender."""

    file = forms.FileField(
        label=_("File"),
        widget=UnfoldAdminFileFieldWidget,
        help_text=_(
            "SwissRETS (XML, JSON), OpenImmo, IDX, or a CSV or Excel table. It is looked at first:"
            " nothing is imported before you say so."
        ),
    )

    class Meta:
        model = Import
        fields = ("workspace", "sender", "file", "force")
        widgets = {
            "workspace": UnfoldAdminSelectWidget,
            "sender": UnfoldAdminSelectWidget,
            "force": UnfoldBooleanWidget,
        }

    def __init__(self, *args: Any, person: Person, too_large: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer_workspaces(person, self.fields["workspace"])
        senders = cast("forms.ModelChoiceField[Sender]", self.fields["sender"])
        mine = own_workspaces(person)
        senders.queryset = Sender.objects.filter(workspace__in=mine).order_by("name")
        senders.empty_label = gettext("Not named")
        if too_large:
            limit = filesizeformat(settings.IMPORT_FILE_LIMIT)
            text = gettext("The file is larger than %(limit)s: split it, or use %(command)s.")
            named = {"limit": limit, "command": command("import_properties")}
            self.fields["file"].error_messages["required"] = text % named

    def clean(self) -> dict[str, Any]:
        """Refuse a sender of another workspace."""
        data = super().clean() or {}
        workspace, sender = data.get("workspace"), data.get("sender")
        if workspace and sender and sender.workspace_id != workspace.pk:
            text = gettext("%(sender)s sends to another workspace.") % {"sender": sender}
            self.add_error("sender", text)
        return data


@admin.register(Import)
class ImportAdmin(ReadOnlyAdmin):
    """Starts and cancels imports; none of them runs in a request."""

    empty = Empty(
        _("No feed was uploaded yet"),
        _(
            "Import a feed here: it is looked at first, and imported when you say so. On the"
            " server, a command does the same."
        ),
        (command("import_properties main stock.xml --dry-run"),),
    )
    change_form_template = "properties/import.html"
    add_form_template = "properties/import_add.html"
    list_display = ("file_", "state_", "outcome", "uploaded", "ended")
    list_filter = (("state", ChoicesDropdownFilter), WorkspaceFilter)
    search_fields = ("name", "workspace__slug")
    search_help_text = _("File or workspace")
    ordering = ("-uploaded_at", "-pk")
    annotations = {
        "sender_name": F("sender__name"),
        "uploader": name_by("uploaded_by"),
        "releaser": name_by("released_by"),
    }
    actions = ("release", "cancel")
    actions_list = ("hand_in",)
    show_add_link = False  # a button with words replaces it

    class Media:
        css = {"all": ("properties/import.css",)}

    # --- who may what ---
    def has_add_permission(self, request: HttpRequest) -> bool:
        """Require the permissions for all that an import does."""
        return request.user.has_perms(MAY_ACT)

    def has_act_permission(self, request: HttpRequest) -> bool:
        """Allow a person who may upload a file to release and cancel it."""
        return self.has_add_permission(request)

    # --- the list ---
    file_ = column(_("file"), lambda row: shortened(row.name, 60), "name")
    state_ = column(_("state"), badge_of, "state")

    @display(description=_("records"))
    def outcome(self, row: Import) -> str:
        """Show the result, or the expected result."""
        summary = row.summary
        found = {name: count(summary, name) for name in OUTCOMES}
        counts = [OUTCOMES[name] % {"count": Counted(n)} for name, n in found.items() if n]
        return ", ".join(counts) or EMPTY

    uploaded = column(
        _("uploaded"),
        lambda row: two_lines(moment(row.uploaded_at, timezone.now()), row.uploader),
        "uploaded_at",
    )
    ended = moment_column(_("ended"), "ended_at")

    @action(description=_("Import a feed"), permissions=["add"])
    def hand_in(self, request: HttpRequest) -> HttpResponse:
        """Redirect to the form."""
        return HttpResponseRedirect(reverse("admin:properties_import_add"))

    @action(description=pgettext_lazy("button", "Import"), permissions=["act"])
    def release(self, request: HttpRequest, queryset: QuerySet[Import]) -> HttpResponse | None:
        """Release the previewed imports, so that a worker imports them (POST only)."""
        chosen = Import.objects.filter(pk__in=[row.pk for row in queryset])
        waiting = [row.pk for row in chosen if row.state == Import.State.PREVIEWED]
        actor = cast("AbstractBaseUser", request.user)
        released = upload.release(chosen, actor=actor, now=timezone.now())
        self.note(request, Import.objects.filter(pk__in=waiting), sentence("Released."))
        if released:
            text = ngettext(
                "A worker imports the file now.", "A worker imports %(count)s files now.", released
            )
            messages.success(request, text % {"count": number(released)})
        else:
            messages.warning(request, gettext("Nothing here waits for a person."))
        return _back(chosen)

    @action(description=pgettext_lazy("import", "Cancel"), permissions=["act"])
    def cancel(self, request: HttpRequest, queryset: QuerySet[Import]) -> HttpResponse | None:
        """Cancel the imports that have not ended; imported records stay (POST only)."""
        chosen = Import.objects.filter(pk__in=[row.pk for row in queryset])
        running = [row.pk for row in chosen if row.state in Import.OPEN]
        cancelled = upload.cancel(chosen, now=timezone.now())
        self.note(request, Import.objects.filter(pk__in=running), sentence("Cancelled."))
        if cancelled:
            text = ngettext(
                "%(count)s import was cancelled. What was imported stays.",
                "%(count)s imports were cancelled. What was imported stays.",
                cancelled,
            )
            messages.success(request, text % {"count": number(cancelled)})
        else:
            messages.warning(request, gettext("All of these have ended already."))
        return _back(chosen)

    # --- the form ---
    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        if obj is not None:
            return super().get_form(request, obj, change, **kwargs)
        return partial(UploadForm, person=request.user, too_large=was_too_large(request))

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        return [(None, {"fields": () if obj else UploadForm.Meta.fields})]

    def add_view(
        self,
        request: HttpRequest,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Set the title of the page. If the file cannot be stored, say so on the page."""
        context = (extra_context or {}) | {"title": gettext("Import a feed")}
        try:
            return super().add_view(request, form_url, context)
        except OSError:
            text = gettext("Nothing was imported: %(reason)s")
            messages.error(request, text % {"reason": NO_ROOM.said()})
            return self.hand_in(request)

    def save_model(self, request: HttpRequest, obj: Import, form: Any, change: bool) -> None:
        actor = cast("AbstractBaseUser", request.user)
        upload.receive(obj, form.cleaned_data["file"], actor=actor, now=timezone.now())

    def response_add(
        self, request: HttpRequest, obj: Any, post_url_continue: str | None = None
    ) -> HttpResponse:
        return HttpResponseRedirect(page_of(obj))

    # --- the page ---
    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        return import_page(
            row,
            may_act=self.has_act_permission(request),
            may_map=self._may_map(request),
            said=request.POST,
            now=timezone.now(),
            page=request.GET.get("changed", ""),
        )

    def pages(self) -> Iterable[OwnPage]:
        return [
            OwnPage("<int:pk>/columns/", "columns", self.columns_view, is_post_only=True),
            OwnPage("template.csv", "template_csv", self.template_view, "add"),
            OwnPage("template.xlsx", "template_xlsx", self.template_view, "add"),
            OwnPage("<int:pk>/progress/", "progress", self.progress_view),
            OwnPage("<int:pk>/refused.csv", "refused", self.refused_view),
        ]

    def progress_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Return the progress, and where its result is if the state is no longer the page's."""
        row = self._seen(request, pk)
        result = "" if row.state == request.GET.get("state") else page_of(row)
        context = {"progress": progress(row, timezone.now()), "result": result}
        return render(request, "properties/import_live.html", context)

    def columns_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Store the meaning of the columns, and have the file previewed again."""
        row = self._seen(request, pk)
        if not self._may_map(request):
            raise PermissionDenied
        try:
            sender = column_choice.correct(row, answer_of(row, request.POST), now=timezone.now())
        except column_choice.Unusable as error:
            for fault in error.faults:
                messages.error(request, fault)
            return self._shown_again(request, pk)
        self.note(
            request,
            Import.objects.filter(pk=pk),
            sentence("Columns kept with %(sender)s.", sender=str(sender)),
        )
        text = gettext("Kept with %(sender)s. A worker looks at the file again.")
        messages.success(request, text % {"sender": sender})
        return HttpResponseRedirect(page_of(row))

    def _shown_again(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Show the page of an import with what was posted and refused."""
        looking = copy(request)
        looking.method = "GET"  # else Django's page would save what was posted
        return self.change_view(looking, str(pk))

    def template_view(self, request: HttpRequest) -> HttpResponse:
        """Return an empty table of our usual columns."""
        kind = request.path.rpartition(".")[2]
        write = as_xlsx if kind == "xlsx" else as_csv
        content = write(get_language() or "")
        response = HttpResponse(content, content_type=TYPES[f".{kind}"])
        name = gettext("template") + f".{kind}"
        response["Content-Disposition"] = content_disposition_header(
            as_attachment=True, filename=name
        )
        return response

    def refused_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Return the refused records as a CSV attachment in which no cell is a formula."""
        row = self._seen(request, pk)
        summary = row.summary
        response = HttpResponse(content_type="text/csv; charset=utf-8")
        name = gettext("refused-%(import)s") % {"import": row.pk} + ".csv"
        response["Content-Disposition"] = content_disposition_header(
            as_attachment=True, filename=name
        )
        response.write("\ufeff")  # Excel recognizes UTF-8 by it
        writer = csv.writer(response)
        writer.writerow([gettext("record"), gettext("reference"), gettext("reasons")])
        refused = summary.get("refused", [])
        for position, reference, reasons in refused:
            said = [Sentence.of(one).said() for one in (position, *reasons)]
            cells = (said[0], reference or "", "; ".join(said[1:]))
            writer.writerow([guard(text, GUARDED_IN_CSV) for text in cells])
        more = count(summary, "refused") - len(refused)
        if more > 0:
            writer.writerow([gettext("and %(count)s more") % {"count": number(more)}, "", ""])
        return response

    def _may_map(self, request: HttpRequest) -> bool:
        """Require the permission to change senders, because a sender stores the columns (S17)."""
        return self.has_act_permission(request) and request.user.has_perm(
            "properties.change_sender"
        )

    def _seen(self, request: HttpRequest, pk: int) -> Import:
        """Return an import that this user may see, or raise 404."""
        row: Import | None = self.get_queryset(request).filter(pk=pk).first()
        if row is None or not self.has_view_permission(request, row):
            raise Http404
        return row


def _back(chosen: QuerySet[Import]) -> HttpResponse | None:
    """Return to the page of the one row, or to the list of several."""
    rows = list(chosen[:2])
    return HttpResponseRedirect(page_of(rows[0])) if len(rows) == 1 else None

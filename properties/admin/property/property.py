"""The list of properties and the page of one property, which calls `editing` to save."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.db.models import QuerySet
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.admin.ui.base import action, display
from crm_sync.admin.ui.cells import EMPTY, link, shortened, two_lines, unbroken
from crm_sync.admin.ui.columns import column, moment_column
from crm_sync.admin.ui.delays import PAUSE, row_delay
from crm_sync.admin.ui.filters import WorkspaceFilter
from crm_sync.admin.ui.readonly import ROWS, Empty
from crm_sync.admin.ui.scope import OwnPage, ScopedAdmin
from crm_sync.hooks import PropertyAction
from crm_sync.installed import command
from crm_sync.platform.problems import explain
from crm_sync.sentence import said
from crm_sync.translated import said_of
from properties.admin.property.all_changes import changes_page
from properties.admin.property.batch import ask, batch_page, batch_progress
from properties.admin.property.change_history import history, undo_change
from properties.admin.property.export_actions import EXPORTS, ExportActions
from properties.admin.property.match_page import match_address, match_page
from properties.admin.property.overview_tab import TO_MATCH_TEXT
from properties.admin.property.owners_page import owners_page
from properties.admin.property.property_filters import (
    LocalityFilter,
    OfferFilter,
    PriceFilter,
    ProblemFilter,
    RoomsFilter,
    StateFilter,
    TypeFilter,
    other_filters,
)
from properties.admin.property.property_head import pictures
from properties.admin.property.property_page import form_parts, moving_parts, offered_actions
from properties.admin.property.sync_tab import state_badge
from properties.admin.property.undo_pages import undo_plan, undone_live, undone_page
from properties.admin.words import and_more, rooms_in_words
from properties.catalog import choice_name, label
from properties.domain import headline
from properties.domain.editing import Outdated
from properties.forms import PropertyForm
from properties.models import Batch, Property
from properties.models.property import SyncState, with_rules
from properties.models.search_column import search
from properties.push.batches import read_now

DOCUMENTS = (
    "desired",
    "observed",
    "inflight",
    "replaced",
    "leftover",
    "search",
)  # no list shows them
PLACE = LocalityFilter.parameter_name
SEARCHED = _("Address, reference, title, name or phone")


def _titled(row: Any) -> SafeString | str:
    """Show the title of a row, and its picture beside it."""
    title = shortened(row.title or "", 60)
    if not getattr(row, "picture", ""):
        return title
    both = '<span class="ps-pictured"><img src="{}" alt="" loading="lazy"> <span>{}</span></span>'
    return format_html(both, row.picture, title)


@admin.register(Property)
class PropertyAdmin(ExportActions, ScopedAdmin):
    """Every change goes through `editing`: this admin never saves a row (I7)."""

    empty = Empty(
        _("No property is known yet"),
        _("Add one, or import a feed. Those of the platform are read from it once an hour."),
        (command("pull_properties main"), command("import_properties main stock.xml")),
    )
    change_form_template = "properties/change_form.html"
    list_display = (
        "reference",
        "shown_title",
        "place",
        "kind",
        "price",
        "state",
        "waiting",
        "pushed",
    )
    list_filter = (
        *(OfferFilter, LocalityFilter, PriceFilter, RoomsFilter, TypeFilter),
        *(StateFilter, ProblemFilter, WorkspaceFilter),
    )
    list_filter_submit = True
    list_per_page = ROWS
    show_facets = admin.ShowFacets.NEVER  # a count for each choice would read the whole table
    search_fields = ("search",)
    search_help_text = SEARCHED
    ordering = ("object_reference_id", "pk")
    actions = ("set_fields", "push", "read", *EXPORTS)

    class Media:
        css = {"all": ("crm_sync/cards.css", "properties/property.css")}
        js = (
            *("properties/tabs.js", "properties/counter.js", "properties/texts.js"),
            "properties/set.js",
        )

    def pages(self) -> Iterable[OwnPage]:
        """Return the pages that Django's admin does not have; its history page becomes ours."""
        return [
            OwnPage("batch/<int:batch_id>/", "batch", partial(batch_page, self), "view"),
            OwnPage("batch/<int:batch_id>/progress/", "batch_progress", batch_progress, "view"),
            OwnPage("changes/", "changes", partial(changes_page, self), "view"),
            OwnPage("changes/undo/", "changes_undo", partial(undo_plan, self), "view"),
            OwnPage("match/<int:workspace_id>/", "match", partial(match_page, self), "view"),
            OwnPage("owners/<int:workspace_id>/", "owners", partial(owners_page, self), "view"),
            OwnPage("undo/<int:undo_id>/", "undone", partial(undone_page, self), "view"),
            OwnPage("undo/<int:undo_id>/live/", "undone_live", partial(undone_live, self), "view"),
            OwnPage("<path:object_id>/history/<int:change_id>/undo/", "undo", self.undo_view),
            OwnPage("<path:object_id>/read/", "read", self.read_view),
            OwnPage("<path:object_id>/live/", "live", self.live_view),
        ]

    # --- the list ---
    def get_queryset(self, request: HttpRequest) -> QuerySet[Property]:
        """Return the rows with their state, and the slug instead of the workspace (S5)."""
        rows: QuerySet[Property] = self.narrowed(
            request, Property.objects.with_state(timezone.now())
        )
        view = request.resolver_match.view_name if request.resolver_match else ""
        rows = rows.defer(*DOCUMENTS) if view.endswith("_changelist") else with_rules(rows)
        shown: QuerySet[Property] = self.named_rows(rows).annotate(**PAUSE)
        return shown

    def get_list_filter(self, request: HttpRequest) -> Any:
        """Add the filters of the other apps that this person may use (S17)."""
        return (*self.list_filter, *other_filters(request.user))

    def get_paginator(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Count along the index of the list, unless words or localities have one of their own."""
        found: Any = super().get_paginator(request, *args, **kwargs)
        if connection.vendor == "sqlite" and not (request.GET.get("q") or request.GET.get(PLACE)):
            found.along = self.ordering
        return found

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Return the rows that have all words of the search, and that none is there twice."""
        return (search(queryset, search_term) if search_term else queryset), False

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Add the pictures of all rows of the page at one time."""
        page = super().get_changelist_instance(request)
        shown = pictures([row.pk for row in page.result_list], request.user)
        for row in page.result_list:
            row.picture = shown.get(row.pk, "")
        _give_headlines(page.result_list)
        return page

    reference = column(
        _("Reference"),
        lambda row: two_lines(row.object_reference_id or _("without reference"), row.platform_id),
        "object_reference_id",
    )
    shown_title = column(_("Title"), _titled, "title")
    kind = column(
        _("Type"),
        lambda row: (
            two_lines(choice_name(row.property_type), row.rooms) if row.property_type else EMPTY
        ),
        "property_type",
    )
    place = column(_("Address"), lambda row: _lines(row.address), "locality")
    price = column(_("Price"), lambda row: _lines(row.price))
    state = column(_("Sync"), lambda row: state_badge(row.sync_state), "sync_state")

    @display(description=_("Waits for a person"))
    def waiting(self, row: Property) -> SafeString | str:
        """Show the first field that waits, and the number of the others, or that it is matched."""
        if row.sync_state == SyncState.TO_MATCH:  # type: ignore[attr-defined] # annotated
            return link(match_address(row.workspace_id), TO_MATCH_TEXT)
        paths = sorted(row.blocked)
        if not paths:
            return EMPTY
        name = label(paths[0]) if paths[0] else gettext("The property")
        text = row.problems_at(paths[0])[0]
        why = said(text) if paths[0] else explain(text).sentence
        return shortened(said_of(and_more(name, len(paths) - 1), why), 70)

    pushed = moment_column(_("Last sent"), "pushed_at")

    @action(description=_("Set…"), permissions=["change"])
    def set_fields(self, request: HttpRequest, queryset: QuerySet[Property]) -> HttpResponse | None:
        """Ask which fields of the chosen properties are set; nothing is changed yet."""
        return ask(request, queryset, Batch.Kind.SET)

    @action(description=_("Send to the platform…"), permissions=["change"])
    def push(self, request: HttpRequest, queryset: QuerySet[Property]) -> HttpResponse | None:
        """Show what a push of the chosen properties sends, before anything is due."""
        return ask(request, queryset, Batch.Kind.PUSH)

    @action(description=_("Refresh from the platform…"), permissions=["change"])
    def read(self, request: HttpRequest, queryset: QuerySet[Property]) -> HttpResponse | None:
        """Show what a read of the chosen properties means, before anything is due."""
        return ask(request, queryset, Batch.Kind.READ)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Add the actions of the other apps that this person may do (S17)."""
        actions: dict[str, Any] = super().get_actions(request)
        for one in offered_actions(request.user):
            actions[one.name] = (partial(_run, one), one.name, one.label_of_many)
        return actions

    # --- the page ---
    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        """Return the form of the catalog; for viewers it is locked."""
        may_type = self.has_change_permission(request, obj) if obj else True
        return partial(PropertyForm, person=request.user, locked=not may_type)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return no fields: the form gets its tabs from the catalog."""
        return [(None, {"fields": ()})]

    def save_form(self, request: HttpRequest, form: Any, change: Any) -> Property:
        saved: Property = form.save(actor=request.user, now=timezone.now())
        saved.is_untouched = change and not form.changes  # type: ignore[attr-defined]
        return saved

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        """Write nothing: `save_form` went through `editing`, which owns the row."""

    def save_related(self, request: HttpRequest, form: Form, formsets: Any, change: bool) -> None:
        """Write nothing: there are no related forms."""

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show or save the page; compare again if somebody else was faster (I1)."""
        while True:
            try:
                response: HttpResponse = super().changeform_view(
                    request, object_id, form_url, extra_context
                )
            except (Outdated, Property.DoesNotExist):  # it was changed, or linked with another row
                continue
            return response

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        form, row = context["adminform"].form, context["original"]
        if row is not None:
            context |= moving_parts(row, request.user, timezone.now())
            context["media"] = sum((one.media for one in context["sections"]), context["media"])
        context |= form_parts(form, context.get("sections", []))
        response: HttpResponse = super().render_change_form(request, context, *args, **kwargs)
        return response

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the changes of the fields, which say more than Django's own log."""
        row = self._row(request, object_id)
        return history(self, request, row)

    def undo_view(self, request: HttpRequest, object_id: str, change_id: int) -> HttpResponse:
        """Ask for, or do (POST), the undo of one change."""
        return undo_change(self, request, self._row(request, object_id), change_id)

    def read_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Make one property due for a read (POST)."""
        row = self._row(request, object_id)
        if request.method == "POST":
            if not self.has_change_permission(request, row):
                raise PermissionDenied
            if read_now(Property.objects.filter(pk=row.pk), now=timezone.now()):
                self.log_change(request, row, "Asked for a read from the platform.")
                text = row_delay(row, timezone.now()) or gettext("A worker reads it again now.")
                self.message_user(request, text, messages.SUCCESS)
            else:
                text = gettext("The platform has it no longer: an edit creates it again.")
                self.message_user(request, text, messages.WARNING)
        return HttpResponseRedirect("../change/")

    def live_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Return the parts of the page that change by themselves, for each viewer (S17)."""
        row = self._row(request, object_id)
        may_change = self.has_change_permission(request, row)
        context = {
            "original": row,
            "has_change_permission": may_change,
            "is_newer": request.GET.get("revision", "") not in ("", str(row.revision)),
        }
        context |= moving_parts(row, request.user, timezone.now())
        return render(request, "properties/live.html", context)

    def _row(self, request: HttpRequest, object_id: str) -> Property:
        row = self.get_object(request, object_id)
        if not self.has_view_permission(request, row):
            raise PermissionDenied
        if row is None:
            raise Http404
        found: Property = row
        return found

    def response_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        if not obj.is_untouched:
            return super().response_change(request, obj)
        self.message_user(request, gettext("Nothing was changed."), messages.INFO)
        if "_continue" in request.POST:
            return HttpResponseRedirect(request.get_full_path())
        return self.response_post_save_change(request, obj)


def _run(
    offered: PropertyAction, _: Any, request: HttpRequest, queryset: QuerySet[Property]
) -> HttpResponse:
    return offered.run(request, queryset)


def _lines(texts: tuple[str, str]) -> SafeString | str:
    """Show one or two texts, each on a line."""
    lines = [unbroken(shortened(text, 40)) for text in texts if text]
    return two_lines(*lines) if lines else EMPTY


def _give_headlines(rows: Iterable[Any]) -> None:
    """Set `address`, `price` and `rooms` of each row of a page, in one query."""
    parts = ("address", "prices", "offerType", "numberOfRooms")
    found = Property.objects.filter(pk__in=[row.pk for row in rows])
    paths = {f"desired__{part}": part for part in parts}
    documents = {row["pk"]: row for row in found.values("pk", *paths)}
    for row in rows:
        part = {name: documents[row.pk][path] for path, name in paths.items()}
        row.address = headline.address_lines(part["address"])
        row.price = headline.price(part["prices"], part["offerType"])
        row.rooms = rooms_in_words(part["numberOfRooms"])

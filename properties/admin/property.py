"""The list of properties, and the page of one: loads, calls `sync`, answers."""

from datetime import datetime
from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.db import IntegrityError
from django.db.models import F, QuerySet
from django.forms import Form
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.safestring import SafeString

from crm_sync.admin_base import ModelAdmin, action, display
from crm_sync.admin_cells import EMPTY, moment, shortened, two_lines
from properties.admin.filters import StateFilter, TypeFilter, WorkspaceFilter
from properties.admin.sync_tab import state_badge, sync_tab
from properties.catalog import label
from properties.forms import PropertyForm
from properties.forms.page import general_problems
from properties.forms.values import choice_name
from properties.models import Property
from properties.sync import due_now

BATCH = 500  # keys in one UPDATE
DOCUMENTS = ("desired", "observed", "inflight", "leftover")  # no list shows them


@admin.register(Property)
class PropertyAdmin(ModelAdmin):
    """Every change goes through `sync`: this admin never saves a row (design §5)."""

    change_form_template = "properties/change_form.html"
    list_display = ("reference", "shown_title", "kind", "place", "state", "waiting", "pushed")
    list_filter = (StateFilter, WorkspaceFilter, TypeFilter)
    list_filter_submit = True
    list_per_page = 100
    search_fields = ("object_reference_id", "platform_id", "title", "locality")
    search_help_text = "Reference, platform id, title or locality"
    ordering = ("object_reference_id", "pk")
    actions = ("push_now",)

    class Media:
        css = {"all": ("properties/property.css",)}

    # --- the list ---
    def get_queryset(self, request: HttpRequest) -> QuerySet[Property]:
        """Return the rows with their state, and the slug instead of the workspace (S5)."""
        rows = Property.objects.with_state(timezone.now())
        view = request.resolver_match.view_name if request.resolver_match else ""
        if view.endswith("_changelist"):
            rows = rows.defer(*DOCUMENTS)
        return rows.annotate(workspace_slug=F("workspace__slug"))

    @display(description="Reference", ordering="object_reference_id")
    def reference(self, row: Property) -> SafeString:
        """Show both names of a property: ours and the platform's."""
        return two_lines(row.object_reference_id or "without reference", row.platform_id)

    @display(description="Title", ordering="title")
    def shown_title(self, row: Property) -> SafeString | str:
        """Show the beginning of the title."""
        return shortened(row.title or "", 60)

    @display(description="Type", ordering="property_type")
    def kind(self, row: Property) -> str:
        """Show the type in words."""
        return choice_name(row.property_type) if row.property_type else EMPTY

    @display(description="Locality", ordering="locality")
    def place(self, row: Property) -> SafeString | str:
        """Show where it is."""
        return shortened(row.locality or "", 40)

    @display(description="Sync", ordering="sync_state")
    def state(self, row: Any) -> SafeString:
        """Show the annotated state."""
        return state_badge(row.sync_state)

    @display(description="Waits for a person")
    def waiting(self, row: Property) -> SafeString | str:
        """Name the first field that waits, and how many there are."""
        paths = sorted(row.held)
        if not paths:
            return EMPTY
        names = [label(path) if path else "The property" for path in paths]
        rest = f" and {len(names) - 1} more" if len(names) > 1 else ""
        return shortened(f"{names[0]}{rest}: {row.problems_at(paths[0])[0]}", 70)

    @display(description="Last pushed", ordering="pushed_at")
    def pushed(self, row: Property) -> SafeString | str:
        """Show when the platform last took something."""
        return moment(row.pushed_at, timezone.now())

    @action(description="Push now", permissions=["change"])
    def push_now(self, request: HttpRequest, queryset: QuerySet[Property]) -> None:
        """Make the chosen properties due; a worker reads, and sends what differs."""
        # A filter on the state would not match any more once the rows are due: keys first.
        keys = list(queryset.order_by().values_list("pk", flat=True))
        now = timezone.now()
        count = sum(
            due_now(Property.objects.filter(pk__in=keys[start : start + BATCH]), now=now)
            for start in range(0, len(keys), BATCH)
        )
        what = "1 property is" if count == 1 else f"{count} properties are"
        self.message_user(
            request, f"{what} due now: a worker sends what differs.", messages.SUCCESS
        )

    # --- the page ---
    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        """Return the form of the catalog; for viewers one that cannot be typed into."""
        may_type = self.has_change_permission(request, obj) if obj else True
        return partial(PropertyForm, locked=not may_type)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Leave the fields to the form: its tabs come from the catalog."""
        return [(None, {"fields": ()})]

    def save_form(self, request: HttpRequest, form: Any, change: Any) -> Property:
        """Apply what was changed, as the user who did it."""
        saved: Property = form.save(actor=request.user, now=timezone.now())
        saved.is_untouched = change and not form.changes  # type: ignore[attr-defined]
        return saved

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        """Write nothing: `save_form` went through `sync`, which owns the row."""

    def save_related(self, request: HttpRequest, form: Form, formsets: Any, change: bool) -> None:
        """Write nothing: there are no related forms."""

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show or save the page; the one race that is left is told, not raised."""
        try:
            response: HttpResponse = super().changeform_view(
                request, object_id, form_url, extra_context
            )
        except IntegrityError:
            text = "Somebody created this reference at this very moment: edit theirs instead."
            self.message_user(request, text, messages.ERROR)
            return HttpResponseRedirect("../")
        return response

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Add the tabs, and what the tab "Sync" says."""
        form, row = context["adminform"].form, context["original"]
        context |= _page(form, row, timezone.now())
        response: HttpResponse = super().render_change_form(request, context, *args, **kwargs)
        return response

    def response_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        """Say so when nothing was changed."""
        if not obj.is_untouched:
            return super().response_change(request, obj)
        self.message_user(request, "Nothing was changed.", messages.INFO)
        if "_continue" in request.POST:
            return HttpResponseRedirect(request.get_full_path())
        return self.response_post_save_change(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nothing is deleted here: the platform has no call for it (§4.6)."""
        return False


def _page(form: PropertyForm, row: Any, now: datetime) -> dict[str, Any]:
    """Return what the template of the page needs besides Django's own."""
    wrong = [tab for tab in form.tabs if tab.error_count]
    context: dict[str, Any] = {
        "tabs": form.tabs,
        "shown_input": form["shown"] if "shown" in form.fields else None,
        "first_wrong_tab": wrong[0].slug if wrong else "",
        "general_problems": general_problems(form),
    }
    if row is not None:
        context |= {"sync": sync_tab(row, now), "state": state_badge(row.sync_state)}
    return context

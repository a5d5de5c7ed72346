"""Ordering from the list of orders: the person chooses the property first."""

from typing import Any, cast

from django import forms
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import reverse, reverse_lazy
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.admin.ui.base import ModelAdmin, UnfoldAdminAutocompleteWidget, action
from crm_sync.admin.ui.page import page
from crm_sync.hooks import Person
from crm_sync.security.access import within
from crm_sync.text import whole
from orders.admin.placing import draft_pages
from properties.models import Property
from properties.models.search_column import search

FOUND = 20  # properties on one page of search results
LAST = 9_999  # the last page of search results


class PropertyWidget(UnfoldAdminAutocompleteWidget):
    """A choice that contains only the property that is already chosen."""

    rows: QuerySet[Property]

    def __init__(self) -> None:
        super().__init__(attrs={"data-ajax--url": reverse_lazy("admin:orders_placement_search")})

    def optgroups(self, name: str, value: list[str], attrs: Any = None) -> Any:
        """Return only the chosen property. The search finds the others."""
        chosen = self.rows.filter(pk__in=[key for key in map(whole, value) if key is not None])
        self.choices = [("", ""), *((one.pk, str(one)) for one in chosen)]
        return super().optgroups(name, value, attrs)


class StartForm(forms.Form):
    """The choice of a property."""

    property = forms.ModelChoiceField(
        Property.objects.none(),
        label=_("Property"),
        widget=PropertyWidget,
        help_text=_("Search by address, reference, title, name or phone."),
        error_messages={"required": _("Choose a property.")},
    )

    def __init__(self, *args: Any, person: Person, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = cast("forms.ModelChoiceField[Property]", self.fields["property"])
        field.queryset = within(person, Property.objects.all())
        cast("PropertyWidget", field.widget).rows = field.queryset


class StartsOrders:
    """Adds the button *Order…* above a list."""

    actions_list = ("start",)

    @action(description=_("Order…"), permissions=["order"])
    def start(self, request: HttpRequest) -> HttpResponse:
        """Redirect to the choice of the property."""
        return HttpResponseRedirect(reverse("admin:orders_placement_start"))

    def has_order_permission(self, request: HttpRequest) -> bool:
        """Return whether this person may place orders (S17)."""
        user: Any = request.user
        return bool(user.has_perm(draft_pages.ADD) and user.has_perm("properties.view_property"))


def start_view(admin: ModelAdmin, request: HttpRequest) -> HttpResponse:
    """Show the choice of the property. A POST begins the order."""
    form = StartForm(request.POST if request.method == "POST" else None, person=request.user)
    if request.method == "POST" and form.is_valid():
        return draft_pages.begin(request, form.cleaned_data["property"])
    context = {"title": gettext("Order"), "form": form, "form_media": form.media}
    return page(admin, request, "orders/start.html", context)


def search_view(request: HttpRequest) -> JsonResponse:
    """Return search results for the widget: properties by reference, with title and locality."""
    term = request.GET.get("term", "").strip().replace("\0", "")
    number = whole(request.GET.get("page", "")) or 1
    first = (min(number, LAST) - 1) * FOUND
    mine = within(request.user, Property.objects.all())
    rows = search(mine, term) if term else mine
    columns = ("pk", "object_reference_id", "platform_id", "title", "locality", "workspace__slug")
    found = list(
        rows.order_by("object_reference_id", "pk").values_list(*columns)[first : first + FOUND + 1]
    )
    results = [
        {"id": str(pk), "text": ", ".join(part for part in (ref or key, *rest) if part)}
        for pk, ref, key, *rest in found[:FOUND]
    ]
    return JsonResponse({"results": results, "pagination": {"more": len(found) > FOUND}})

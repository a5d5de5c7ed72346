"""The list of conflicts: the open ones, and how the others were decided."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import F, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _, ngettext

from crm_sync.admin.ui.base import ChoicesDropdownFilter, action, display
from crm_sync.admin.ui.cells import badge, link, list_of, page_at, shortened, two_lines
from crm_sync.admin.ui.columns import column, moment_column
from crm_sync.admin.ui.page import page
from crm_sync.admin.ui.readonly import Empty, ReadOnlyAdmin
from crm_sync.admin.ui.scope import OwnPage
from crm_sync.security.access import within
from crm_sync.sentence import sentence
from crm_sync.translated import number, said_of
from properties.admin.conflict.decision_page import (
    MOST,
    Choice,
    cases,
    choices,
    decide,
    ended,
    open_conflicts,
    shown_keys,
)
from properties.admin.words import in_one_line, worded_change
from properties.catalog import FIELDS, label
from properties.domain.conflicts import KEPT, Decision
from properties.models import Conflict, Property
from properties.search_text import folded

TONES = {Decision.OPEN: "warning"}
CHANGED = _("Something has changed since. This is how it is now: check it, then decide.")


@admin.register(Conflict)
class ConflictAdmin(ReadOnlyAdmin):
    """Shows all three values of each conflict; no conflict is ever deleted (I4)."""

    workspace_path = "real_estate_property__workspace"
    empty = Empty(
        _("Both sides agree"),
        _(
            "Where somebody on the platform and somebody here change the same field, it is shown"
            " here."
        ),
    )
    list_display = ("field", "ours_", "theirs_", "base_", "decision_", "since")
    list_display_links = None
    list_select_related = ("decided_by",)
    list_filter = (("decision", ChoicesDropdownFilter),)
    search_fields = ("path", "real_estate_property__object_reference_id")
    search_help_text = _("Reference or field")
    ordering = ("decision", "-created_at", "-pk")  # the open ones first: their decision is ""
    actions = ("decide",)
    annotations = {"reference": F("real_estate_property__object_reference_id")}

    class Media:
        css = {"all": ("properties/property.css",)}
        js = ("properties/decide.js",)

    def pages(self) -> Iterable[OwnPage]:
        selection = OwnPage("decide/", "decide_selection", self.decide_view, is_post_only=True)
        return [OwnPage("decide/<int:property_id>/", "decide", self.decide_view, "view"), selection]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Find a conflict also by the name of its field that the list shows."""
        found, is_many = super().get_search_results(request, queryset, search_term)
        if wanted := folded(search_term):
            paths = [path for path in FIELDS if wanted in folded(label(path))]
            found |= queryset.filter(path__in=paths)
        return found, is_many

    @display(description=_("field"), ordering="path")
    def field(self, conflict: Any) -> SafeString:
        """Show the property and the field, with a link to the decision or to the property."""
        reference = conflict.reference or gettext("without reference")
        text = said_of(reference, label(conflict.path))
        return link(_page_of(conflict), text)

    ours_ = column(_("ours"), lambda row: shortened(_differing(row)[0], 60))
    theirs_ = column(_("theirs"), lambda row: shortened(_differing(row)[1], 60))
    base_ = column(_("before"), lambda row: shortened(in_one_line(row.path, row.base), 60))

    @display(description=_("decision"), ordering="decision")
    def decision_(self, conflict: Conflict) -> SafeString:
        """Show whose value is used, and who ended the conflict."""
        decided = Decision(conflict.decision)
        state = badge(decided.label, TONES.get(decided, "muted"))
        return two_lines(state, conflict.who) if conflict.who else state

    since = moment_column(_("since"), "created_at")

    @action(description=_("Decide…"), permissions=["act"])
    def decide(self, request: HttpRequest, queryset: QuerySet[Conflict]) -> HttpResponse | None:
        """Show the chosen conflicts on the page that decides them; nothing is decided yet."""
        found = open_conflicts(queryset)
        if not found:
            messages.warning(request, gettext("None of these is open."))
            return None
        if len(found) > MOST:
            text = gettext("At most %(count)s at a time: narrow the list first.")
            messages.warning(request, text % {"count": number(MOST)})
            return None
        return self._page(request, choices(found, QueryDict()))

    def change_view(
        self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Redirect to the decision or the property, because a conflict has no page of its own."""
        conflict = self.get_object(request, object_id)
        if conflict is None:
            response: HttpResponse = super().change_view(request, object_id, *args, **kwargs)
            return response
        return HttpResponseRedirect(_page_of(conflict))

    def decide_view(self, request: HttpRequest, property_id: int | None = None) -> HttpResponse:
        """Show the open conflicts of a property (GET), or decide those of the posted page."""
        if property_id is not None:
            get_object_or_404(within(request.user, Property.objects.all()), pk=property_id)
        mine = self.get_queryset(request)
        if request.method != "POST":
            rows = mine.filter(real_estate_property_id=property_id)
            return self._page(request, choices(open_conflicts(rows)[:MOST], request.POST))
        if not self.has_act_permission(request):
            raise PermissionDenied
        shown = mine.filter(pk__in=shown_keys(request.POST))
        made = choices(open_conflicts(shown), request.POST)
        if request.POST.get("decision") == "CHOSEN" and self._decided(request, shown, made):
            return HttpResponseRedirect(_next_page(shown))
        return self._page(request, made)

    def _page(self, request: HttpRequest, made: list[Choice]) -> HttpResponse:
        keys = {choice.conflict.real_estate_property_id for choice in made}
        selection = reverse("admin:properties_conflict_decide_selection")
        context = {
            "action": _decision_page(keys.pop()) if len(keys) == 1 else selection,
            "title": gettext("Conflicts"),
            "cases": cases(made, timezone.now()),
            "count": len(made),
            "left": sum(choice.answer is None for choice in made),
            "may_act": self.has_act_permission(request),
        }
        return page(self, request, "properties/decide.html", context)

    def _decided(self, request: HttpRequest, shown: QuerySet[Conflict], made: list[Choice]) -> bool:
        """Decide the choices; return False if the person must check the page again first."""
        others = list(shown.exclude(decision=Decision.OPEN).order_by("path"))
        for conflict in others:
            messages.warning(request, ended(conflict))
        if others or any(choice.is_changed for choice in made):
            messages.warning(request, str(CHANGED))
            return False
        if all(choice.answer is None for choice in made):
            text = gettext("Nothing was decided: choose a side of at least one field.")
            messages.warning(request, text)
            return False
        done = decide(request, made)
        for side in Decision:
            keys = [answer.conflict.pk for answer in done if answer.decision == side]
            if keys:
                decided = Conflict.objects.filter(pk__in=keys)
                self.note(request, decided, sentence("Decided: %(kept)s.", kept=KEPT[side]))
        if len(made) > len(done):
            left = len(made) - len(done)
            text = ngettext(
                "%(count)s conflict is still open.", "%(count)s conflicts are still open.", left
            )
            messages.info(request, text % {"count": number(left)})
        return True


def _differing(conflict: Conflict) -> list[str]:
    """Return the parts that differ of our value and of theirs, each in one line."""
    found = worded_change(conflict.path, conflict.ours, conflict.theirs)
    return [text.replace("\n", ", ") for text in found]


def _page_of(conflict: Conflict) -> str:
    """Return the page that decides the conflict; after the decision, the page of its property."""
    key = conflict.real_estate_property_id
    return page_at("properties.property", key) if conflict.decision else _decision_page(key)


def _decision_page(property_id: int) -> str:
    return reverse("admin:properties_conflict_decide", args=[property_id])


def _next_page(shown: QuerySet[Conflict]) -> str:
    """Return the next page: open conflicts of the one property, the property, or the list."""
    key, *others = set(shown.values_list("real_estate_property_id", flat=True))
    if others:
        return list_of("properties.conflict")
    rows = Conflict.objects.filter(real_estate_property=key, decision=Decision.OPEN)
    return _decision_page(key) if rows.exists() else page_at("properties.property", key)

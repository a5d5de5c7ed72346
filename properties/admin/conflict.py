"""Fields that both sides changed: the open questions, and how the others were answered."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import F, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from crm_sync.admin.ui.base import ChoicesDropdownFilter, action, display
from crm_sync.admin.ui.cells import badge, link, page_at, shortened, two_lines
from crm_sync.admin.ui.columns import column, moment_column
from crm_sync.admin.ui.page import page
from crm_sync.admin.ui.readonly import Empty, ReadOnlyAdmin
from crm_sync.admin.ui.scope import OwnPage
from crm_sync.security.access import within
from properties.admin import decision
from properties.admin.choosing import Choice, choices, closed_meanwhile, result, shown
from properties.admin.words import in_one_line, worded_change
from properties.catalog import label
from properties.domain import conflicts
from properties.domain.conflicts import Decision, Resolution
from properties.models import Conflict, Property

TONES = {Decision.OPEN: "warning"}
CHANGED = "Something was changed meanwhile. This is how it is now: look again, then decide."


@admin.register(Conflict)
class ConflictAdmin(ReadOnlyAdmin):
    """All three values of each, for ever: nobody's edit disappears without a trace (I4)."""

    workspace_path = "real_estate_property__workspace"
    empty = Empty(
        "Both sides agree",
        "Where somebody on the platform and somebody here change the same field, it is shown here.",
    )
    list_display = ("field", "ours_", "theirs_", "base_", "decision_", "since")
    list_display_links = None
    list_select_related = ("decided_by",)
    list_filter = (("decision", ChoicesDropdownFilter),)
    search_fields = ("path", "real_estate_property__object_reference_id")
    search_help_text = "Reference or field"
    ordering = ("decision", "-created_at", "-pk")  # the open ones first: their decision is ""
    actions = ("keep_ours", "take_theirs")
    annotations = {"reference": F("real_estate_property__object_reference_id")}

    class Media:
        css = {"all": ("properties/property.css",)}
        js = ("properties/decide.js",)

    def pages(self) -> Iterable[OwnPage]:
        return [OwnPage("property/<int:property_id>/", "decide", self.decide_view)]

    @display(description="field", ordering="path")
    def field(self, conflict: Any) -> SafeString:
        """Show the property and the field; lead to where it is decided, or to the property."""
        text = f"{conflict.reference or 'without reference'}: {label(conflict.path)}"
        return link(_page_of(conflict), text)

    ours_ = column("ours", lambda row: shortened(_differing(row)[0], 60))
    theirs_ = column("theirs", lambda row: shortened(_differing(row)[1], 60))
    base_ = column("before", lambda row: shortened(in_one_line(row.path, row.base), 60))

    @display(description="decision", ordering="decision")
    def decision_(self, conflict: Conflict) -> SafeString:
        """Show whose value stands, and who ended it."""
        decided = Decision(conflict.decision)
        state = badge(decided.label, TONES.get(decided, "muted"))
        return two_lines(state, conflict.who) if conflict.who else state

    since = moment_column("since", "created_at")

    @action(description="Keep ours…", permissions=["act"])
    def keep_ours(self, request: HttpRequest, queryset: QuerySet[Conflict]) -> Any:
        """Show what goes out when our values stand; once confirmed, let them (POST only)."""
        return self._answer(request, queryset, Decision.OURS)

    @action(description="Take theirs…", permissions=["act"])
    def take_theirs(self, request: HttpRequest, queryset: QuerySet[Conflict]) -> Any:
        """Show what goes out when the platform's values stand; once confirmed, take them."""
        return self._answer(request, queryset, Decision.THEIRS)

    def _answer(
        self, request: HttpRequest, queryset: QuerySet[Conflict], answer: Decision
    ) -> HttpResponse | None:
        """Ask with the calls on the page, then decide (S17: the history of each says who)."""
        found = _open(queryset)
        if not found:
            messages.warning(request, "None of these is open.")
            return None
        if len(found) > decision.MOST:
            messages.warning(request, f"At most {decision.MOST} at a time: narrow the list first.")
            return None
        seen = decision.digest(found)
        if request.POST.get("seen") == seen:
            self._decide(request, [conflicts.of_side(one, answer) for one in found])
            return None
        if "seen" in request.POST:
            messages.warning(request, CHANGED)
        context = {
            "title": f"{answer.label}: {len(found)}",
            "cases": decision.cases(found, [answer]),
            "hidden": _posted_again(request, found),
            "button": decision.button(answer, len(found)),
            "seen": seen,
            "back": request.get_full_path(),
            "count": len(found),
            "more": max(0, len({c.real_estate_property_id for c in found}) - decision.FIRST),
        }
        return page(self, request, "properties/decide.html", context)

    def change_view(
        self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Lead to the page of its property: a conflict has none of its own."""
        conflict = self.get_object(request, object_id)
        if conflict is None:
            response: HttpResponse = super().change_view(request, object_id, *args, **kwargs)
            return response
        return HttpResponseRedirect(_page_of(conflict))

    def decide_view(self, request: HttpRequest, property_id: int) -> HttpResponse:
        """Show the open conflicts of a property, member by member, and decide them (POST)."""
        row = within(request.user, Property.objects.filter(pk=property_id)).first()
        if row is None:
            raise Http404
        may_act = self.has_act_permission(request)
        if not (may_act if request.method == "POST" else self.has_view_permission(request)):
            raise PermissionDenied
        found = _open(Conflict.objects.filter(real_estate_property=row))
        made = choices(found, request.POST)
        if request.method == "POST" and self._decided(request, row, made):
            left = Conflict.objects.filter(real_estate_property=row, decision=Decision.OPEN)
            there = request.path if left.exists() else page_at("properties.property", row.pk)
            return HttpResponseRedirect(there)
        now = timezone.now()
        context = {
            "title": f"Conflicts of {row}",
            "original": row,
            "property_page": page_at("properties.property", row.pk),
            "fields": [shown(choice, row, now) for choice in made],
            "result": result(row, made),
            "calls": decision.calls(row, found, (Decision.OURS, Decision.THEIRS)),
            "seen": decision.digest(found),
            "may_act": may_act,
        }
        return page(self, request, "properties/choose.html", context)

    def _decided(self, request: HttpRequest, row: Property, made: list[Choice]) -> bool:
        """Do what a button of the page asks for; False when the page is to be shown again."""
        asked, found = request.POST.get("decision", ""), [one.conflict for one in made]
        if asked == "preview":
            return False
        closed = list(closed_meanwhile(row, found, request.POST))
        for text in closed:
            messages.warning(request, text)
        if asked in (Decision.OURS, Decision.THEIRS):
            if found and request.POST.get("seen") == decision.digest(found):
                side = Decision(asked)
                self._decide(request, [conflicts.of_side(one, side) for one in found])
                return True
            messages.warning(request, CHANGED)
            return False
        if closed or any(choice.is_changed for choice in made):
            messages.warning(request, CHANGED)
            return False
        answers = [answer for choice in made if (answer := choice.answer)]
        if not answers:
            messages.warning(request, "Nothing was decided: choose a side of at least one field.")
            return False
        done = self._decide(request, answers)
        if len(made) > len(done):
            messages.info(request, f"Still open: {len(made) - len(done)}.")
        return True

    def _decide(self, request: HttpRequest, answers: list[Resolution]) -> list[Conflict]:
        whose = {answer.conflict.pk: answer.decision for answer in answers}
        done = decision.decide(request, answers)
        for side in Decision:
            keys = [one.pk for one in done if whose[one.pk] == side]
            decided = Conflict.objects.filter(pk__in=keys)
            if keys:
                self.note(request, decided, f"Decided: {side.label.lower()}.")
        return done


def _open(queryset: QuerySet[Conflict]) -> list[Conflict]:
    """Return the open ones, sorted by property."""
    found = queryset.filter(decision=Decision.OPEN).order_by("real_estate_property_id", "path")
    return list(found[: decision.MOST + 1])


def _differing(conflict: Conflict) -> list[str]:
    """Return in one line what only we and what only they have."""
    found = worded_change(conflict.path, conflict.ours, conflict.theirs)
    return [text.replace("\n", ", ") for text in found]


def _page_of(conflict: Any) -> str:
    """Return where it is decided; once it is, the page of its property."""
    row = conflict.real_estate_property_id
    if conflict.decision:
        return page_at("properties.property", row)
    return reverse("admin:properties_conflict_decide", args=[row])


def _posted_again(request: HttpRequest, found: list[Conflict]) -> list[tuple[str, str]]:
    """Return what makes Django run the same action on the same rows once more."""
    across = request.POST.get("select_across", "0")
    keys = [str(one.pk) for one in (found[:1] if across == "1" else found)]
    return [
        ("action", request.POST["action"]),
        ("select_across", across),
        *(("_selected_action", key) for key in keys),
    ]

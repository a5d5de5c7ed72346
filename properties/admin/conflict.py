"""Fields that both sides changed: the open questions, and how the others were answered."""

from collections.abc import Callable
from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.auth.models import AbstractBaseUser
from django.db.models import F, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString

from crm_sync.admin_base import ChoicesDropdownFilter, action, display
from crm_sync.admin_cells import badge, link, moment, page_at, shortened
from crm_sync.admin_readonly import Empty, ReadOnlyAdmin
from properties import conflicts
from properties.catalog import label
from properties.difference import short
from properties.models import Conflict
from properties.sync import Invalid

TONES = {Conflict.Decision.OPEN: "warning"}


@admin.register(Conflict)
class ConflictAdmin(ReadOnlyAdmin):
    """All three values of each, for ever: nobody's edit disappears without a trace (I4)."""

    empty = Empty(
        "Both sides agree",
        "Where somebody on the platform and somebody here change the same field, it is shown here.",
    )
    list_display = ("field", "ours_", "theirs_", "base_", "decision_", "since")
    list_display_links = None
    list_filter = (("decision", ChoicesDropdownFilter),)
    list_per_page = 50
    search_fields = ("path", "real_estate_property__object_reference_id")
    search_help_text = "Reference or field"
    ordering = ("decision", "-created_at", "-pk")  # the open ones first: their decision is ""
    actions = ("keep_ours", "take_theirs")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Conflict]:
        """Load what a row shows, in one query."""
        found: QuerySet[Conflict] = super().get_queryset(request)
        return found.annotate(reference=F("real_estate_property__object_reference_id"))

    @display(description="field", ordering="path")
    def field(self, conflict: Any) -> SafeString:
        """Show the property and the field, and lead to them."""
        page = page_at("properties.property", conflict.real_estate_property_id)
        return link(page, f"{conflict.reference or 'without reference'}: {label(conflict.path)}")

    @display(description="ours")
    def ours_(self, conflict: Conflict) -> SafeString | str:
        """Show what our people want."""
        return _value(conflict.ours)

    @display(description="theirs")
    def theirs_(self, conflict: Conflict) -> SafeString | str:
        """Show what the platform says."""
        return _value(conflict.theirs)

    @display(description="before")
    def base_(self, conflict: Conflict) -> SafeString | str:
        """Show what both had."""
        return _value(conflict.base)

    @display(description="decision", ordering="decision")
    def decision_(self, conflict: Conflict) -> SafeString:
        """Show whose value stands."""
        decision = Conflict.Decision(conflict.decision)
        return badge(decision.label, TONES.get(decision, "muted"))

    @display(description="since", ordering="created_at")
    def since(self, conflict: Conflict) -> SafeString | str:
        """Show when it was noticed."""
        return moment(conflict.created_at, timezone.now())

    @action(description="Keep ours", permissions=["act"])
    def keep_ours(self, request: HttpRequest, queryset: QuerySet[Conflict]) -> None:
        """Let our values stand and send them (POST only)."""
        self._answer(request, queryset, conflicts.keep_ours, "ours")

    @action(description="Take theirs", permissions=["act"])
    def take_theirs(self, request: HttpRequest, queryset: QuerySet[Conflict]) -> None:
        """Take the platform's values over (POST only)."""
        self._answer(request, queryset, conflicts.take_theirs, "theirs")

    def _answer(
        self,
        request: HttpRequest,
        queryset: QuerySet[Conflict],
        decide: Callable[..., bool],
        whose: str,
    ) -> None:
        actor = cast("AbstractBaseUser", request.user)
        chosen, count = list(queryset.filter(decision=Conflict.Decision.OPEN)), 0
        for conflict in chosen:
            try:
                count += decide(conflict, actor=actor, now=timezone.now())
            except Invalid as error:
                messages.error(request, f"{label(conflict.path)} stays open: {error}")
        decided = queryset.model._default_manager.filter(pk__in=[one.pk for one in chosen])
        self.note(request, decided.exclude(decision=""), f"Decided: {whose}.")
        if count:
            messages.success(request, f"Decided, {whose}: {count}.")
        elif not chosen:
            messages.warning(request, "None of these is open.")


def _value(value: Any) -> SafeString | str:
    return shortened("—" if value is None else short(value), 60)

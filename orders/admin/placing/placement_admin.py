"""The placements, above all those with an unknown outcome (I9)."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.db.models import F, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _, ngettext

from crm_sync.account_names import name_by
from crm_sync.admin.ui import own_password
from crm_sync.admin.ui.base import ChoicesDropdownFilter, action
from crm_sync.admin.ui.cells import EMPTY, page_of, shortened
from crm_sync.admin.ui.columns import column, moment_column
from crm_sync.admin.ui.delays import PAUSE
from crm_sync.admin.ui.filters import WorkspaceFilter
from crm_sync.admin.ui.readonly import Empty, ReadOnlyAdmin
from crm_sync.admin.ui.scope import OwnPage
from crm_sync.platform.errors import SyncError
from crm_sync.platform.problems import explain
from crm_sync.sentence import said, sentence
from crm_sync.translated import number
from orders.admin.cells import ordered, placement_badge, who_lines
from orders.admin.order_filters import OrderedByFilter
from orders.admin.placing import draft_pages, group_page
from orders.admin.placing.placement_page import placement_page
from orders.admin.placing.property_choice import StartsOrders, search_view, start_view
from orders.models import Placement
from orders.placing import settlement
from orders.placing.failures import NoSuchChoice

NOT_PLACED = _(
    "You found no order on the platform for: %(names)s. It can be ordered again then, and is"
    " ordered twice if the first order exists after all. Nobody can take this back."
)


class PlacementStateFilter(ChoicesDropdownFilter):
    """By state, with the name of the column in the language of the reader."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.title = _("state")


@admin.register(Placement)
class PlacementAdmin(StartsOrders, ReadOnlyAdmin):
    """An order is sent at most once, so nothing here sends it again."""

    empty = Empty(
        _("Nothing was ordered from here yet"),
        _(
            "Choose Order… on a property. Each order that is placed from this side leaves a line"
            " here, with every step it took."
        ),
    )
    change_form_template = "orders/placement.html"

    class Media:
        css = {"all": ("orders/placing.css",)}

    list_display = ("name", "state_", "what", "who", "order_", "sent", "why")
    list_filter = (("state", PlacementStateFilter), OrderedByFilter, WorkspaceFilter)
    search_fields = (
        *("object_reference_id", "order__platform_id"),
        *("user_reference_id", "user__user_reference_id", "user__name"),
    )
    search_help_text = _("Reference, order or who ordered")
    ordering = ("-created_at", "-pk")
    annotations = {
        "order_name": F("order__platform_id"),
        "beginner": name_by("created_by"),
        **PAUSE,
    }
    actions = ("not_placed",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Placement]:
        """Load the users who ordered with one query for any number of rows."""
        return super().get_queryset(request).prefetch_related("user")

    name = column(_("reference"), lambda row: row.object_reference_id, "object_reference_id")
    state_ = column(_("state"), placement_badge, "state")
    what = column(_("ordered"), lambda row: shortened(ordered(row), 60))
    who = column(_("ordered by"), lambda row: who_lines(row.who), "user__name")
    order_ = column(_("order"), lambda row: row.order_name or EMPTY, "order_name")
    sent = moment_column(_("sent"), "sent_at")
    why = column(_("problem"), lambda row: shortened(explain(row.problem).sentence, 70))

    @action(description=_("It was not placed…"), permissions=["act"])
    def not_placed(
        self, request: HttpRequest, queryset: QuerySet[Placement]
    ) -> HttpResponse | None:
        """Settle uncertain placements that a person did not find on the platform (POST only)."""
        uncertain = queryset.filter(state=Placement.State.UNCERTAIN)
        rows = list(uncertain)
        if not rows:
            messages.warning(request, gettext("Nothing here is uncertain."))
            return None
        if "confirmed" not in request.POST:
            return own_password.ask_first(
                self,
                request,
                title=gettext("It was not placed"),
                text=NOT_PLACED % {"names": ", ".join(one.object_reference_id for one in rows)},
                back=page_of(rows[0]) if len(rows) == 1 else "",
                needs_password=False,
                keys=[one.pk for one in rows],
            )
        self.note(request, uncertain, sentence("Settled: it was not placed."))
        now = timezone.now()
        count = sum(settlement.decide(one, order_id=None, now=now) for one in rows)
        text = ngettext(
            "%(count)s placement is settled as not placed.",
            "%(count)s placements are settled as not placed.",
            count,
        )
        messages.success(request, text % {"count": number(count)})
        return None

    def pages(self) -> Iterable[OwnPage]:
        """Return the pages for preparing and placing an order."""
        group = "group/<uuid:group>/"
        return [
            OwnPage("start/", "start", partial(start_view, self), "order"),
            OwnPage("search/", "search", search_view, "order"),
            OwnPage("begin/", "begin", draft_pages.begin_view),
            OwnPage(group, "group", partial(group_page.group_view, self), "view"),
            OwnPage(f"{group}live/", "group_live", group_page.group_live, "view"),
            OwnPage("<int:pk>/choose/", "choose", partial(draft_pages.choose_view, self)),
            OwnPage("<int:pk>/review/", "review", partial(draft_pages.review_view, self)),
            OwnPage("<int:pk>/take-back/", "take_back", draft_pages.take_back_view),
            OwnPage("<int:pk>/progress/", "progress", draft_pages.progress_view, "view"),
            OwnPage("<int:pk>/live/", "live", self.live_view, "view"),
            OwnPage("<int:pk>/settle/", "settle", self.settle_view, "act"),
        ]

    def settle_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Tie an uncertain placement to the order that a person found on the platform (POST)."""
        placement = get_object_or_404(self.get_queryset(request), pk=pk)
        order_id = request.POST.get("order", "").strip()[:255]
        if request.method == "POST" and order_id:
            self._settle(request, placement, order_id)
        return HttpResponseRedirect(page_of(placement))

    def _settle(self, request: HttpRequest, placement: Placement, order_id: str) -> None:
        try:
            is_settled = settlement.decide(placement, order_id=order_id, now=timezone.now())
        except NoSuchChoice as error:
            text = gettext("Nothing was settled: %(reason)s.")
            messages.error(request, text % {"reason": said(error)})
        except SyncError as error:
            text = gettext("Order %(order)s could not be looked up, so nothing was settled.")
            why = explain(error, is_repeated=False)
            messages.error(request, f"{text % {'order': order_id}} {why}")
        else:
            if not is_settled:
                text = gettext(
                    "It is not uncertain any more, or order %(order)s belongs to another one."
                )
                messages.warning(request, text % {"order": order_id})
                return
            mine = Placement.objects.filter(pk=placement.pk)
            self.note(request, mine, sentence("Settled: order %(order)s.", order=order_id))
            text = gettext("Settled: it became order %(order)s.")
            messages.success(request, text % {"order": order_id})

    def live_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Return the part of the page that reloads itself, for people who may view it (S17)."""
        row = self.get_object(request, str(pk))
        if row is None:
            raise Http404
        context = {"original": row, "can_act": self.has_act_permission(request)}
        context |= self.page_context(request, row)
        return render(request, "orders/placement_live.html", context)

    def page_context(self, request: HttpRequest, placement: Any) -> dict[str, Any]:
        return placement_page(placement, request.user, now=timezone.now())

"""Orders for several properties: one form, one review, and a table of the results."""

from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import F, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _, ngettext

from crm_sync.admin.ui.base import ModelAdmin
from crm_sync.admin.ui.cells import link, list_of, page_at, page_of
from crm_sync.admin.ui.page import page
from crm_sync.admin.ui.scope import note
from crm_sync.hooks import PropertyAction
from crm_sync.security.access import within
from crm_sync.sentence import said, sentence
from crm_sync.text import capitalized, whole
from crm_sync.translated import Text, number
from orders.admin.cells import ordered, placement_badge, who_fact
from orders.admin.placing import draft_pages
from orders.admin.placing.review import (
    instructions_in_words,
    subjects,
    warned,
)
from orders.models import Placement
from orders.models.placement import OPEN_STATES, TO_BE_SENT
from orders.placing import confirmation, drafts, selection
from orders.placing.duplicates import already_ordered
from orders.placing.failures import ChangedMeanwhile, NoSuchChoice
from orders.placing.session_offer import Total, total
from properties.models import Property

State = Placement.State
ON_A_PAGE = 50
WIDE = ("offered", "options")  # columns that no row shows
SUMS: tuple[tuple[Text, tuple[str, ...]], ...] = (
    (_("Sum of what was ordered"), (State.PLACED,)),
    (_("Sum of what is being placed"), TO_BE_SENT),
    (_("Sum of what is uncertain"), (State.UNCERTAIN,)),
)


def order(request: HttpRequest, properties: QuerySet[Property]) -> HttpResponse:
    """Begin an order for each of the chosen properties (POST only)."""
    account, now = draft_pages.account_of(request), timezone.now()
    if properties.order_by().count() == 1:
        return draft_pages.begin(request, properties.get())
    try:
        lead = selection.begin(properties, account=account, now=now)
    except NoSuchChoice as error:
        messages.warning(request, f"{capitalized(said(error))}.")
        return HttpResponseRedirect(request.get_full_path())
    drafts.load(lead, now=now)
    return HttpResponseRedirect(reverse("admin:orders_placement_choose", args=[lead.pk]))


ORDER = PropertyAction("order", _("Order…"), _("Order for these…"), draft_pages.ADD, order)


def group_view(admin: ModelAdmin, request: HttpRequest, group: UUID) -> HttpResponse:
    """Show the placements of a group. A POST places, removes or withdraws placements."""
    lead = _lead(request, group)
    if request.method == "POST":
        if not draft_pages.may_act(lead, request.user):
            raise PermissionDenied
        _act(request, group)
        if not selection.members(group).exists():  # all placements were removed
            return HttpResponseRedirect(list_of("properties.property"))
        return HttpResponseRedirect(reverse("admin:orders_placement_group", args=[group]))
    if draft_pages.may_act(lead, request.user) and not selection.is_chosen(lead):
        return HttpResponseRedirect(reverse("admin:orders_placement_choose", args=[lead.pk]))
    context = _context(request, group, lead) | {"title": gettext("Orders for chosen properties")}
    return page(admin, request, "orders/group.html", context)


def group_live(request: HttpRequest, group: UUID) -> HttpResponse:
    """Return the part of a group's page that reloads itself."""
    lead = _lead(request, group)
    return render(request, "orders/group_live.html", _context(request, group, lead))


def _lead(request: HttpRequest, group: UUID) -> Placement:
    lead = within(request.user, selection.members(group)).prefetch_related("user").first()
    if lead is None:
        raise Http404
    return lead


def _act(request: HttpRequest, group: UUID) -> None:
    step, out = request.POST.get("step", ""), request.POST.get("leave_out", "")
    if step == "place":
        account, seen = draft_pages.account_of(request), request.POST.get("seen", "")
        confirm = partial(selection.confirm, group, seen=seen, account=account, now=timezone.now())
        if draft_pages.confirm_as_shown(request, _to_review(group), confirm):
            confirmed = selection.members(group).exclude(state__in=OPEN_STATES)
            note(request, confirmed, sentence("Confirmed: to be ordered."))
    elif step == "take_back":
        count = confirmation.take_back(selection.members(group).order_by())
        text = ngettext(
            "%(count)s order was taken back, and is not placed.",
            "%(count)s orders were taken back, and are not placed.",
            count,
        )
        messages.success(request, text % {"count": number(count)})
    elif out == "warned":
        to_review = _to_review(group)
        found = already_ordered(to_review)
        keys = [one.pk for one, some in zip(to_review, found, strict=True) if some]
        count = selection.leave_out(group, keys)
        text = ngettext(
            "%(count)s property was left out.", "%(count)s properties were left out.", count
        )
        messages.success(request, text % {"count": number(count)})
    elif (key := whole(out)) is not None:
        selection.leave_out(group, [key])
        lead = selection.members(group).first()
        if lead is not None and not selection.is_chosen(lead):
            with suppress(ChangedMeanwhile):  # another window has changed it: that stays
                drafts.load(lead, now=timezone.now())


def _to_review(group: UUID) -> list[Placement]:
    return list(selection.members(group).filter(state=State.READY).defer(*WIDE))


def _context(request: HttpRequest, group: UUID, lead: Placement) -> dict[str, Any]:
    counts, to_review = selection.counts(group), _to_review(group)
    found = already_ordered(to_review)
    warnings = {
        one.pk: [warned(some) for some in several]
        for one, several in zip(to_review, found, strict=True)
        if several
    }
    cost = _cost(to_review)
    rows = selection.members(group).defer(*WIDE)
    names = {"title": F("real_estate_property__title"), "order_name": F("order__platform_id")}
    pages = Paginator(rows.annotate(**names), ON_A_PAGE)
    shown = pages.get_page(request.GET.get("page"))
    may_act = draft_pages.may_act(lead, request.user)
    return {
        "lead": lead,
        "counts": counts,
        "sums": [
            *([(gettext("Sum of what is to be placed"), cost)] if to_review else []),
            *_sums(group),
        ],
        "button": _button(counts.to_review, cost),
        "seen": selection.fingerprint(group),
        "warned": len(warnings),
        "subjects": " ".join(subjects(found)),
        "rows": [_row(row, warnings.get(row.pk, []), may_act=may_act) for row in shown],
        "page": shown,
        "pages": list(pages.get_elided_page_range(shown.number)),
        "may_act": may_act,
        "may_change": draft_pages.is_open_for(lead, request.user),
        "choices": [
            (gettext("Products"), ordered(lead)),
            (gettext("Ordered by"), who_fact(lead.who)),
            *instructions_in_words(lead),
        ],
    }


def _sums(group: UUID) -> list[tuple[Text, Total]]:
    """Return the sum of what was ordered, and apart of what may become an order. One query."""
    confirmed = selection.members(group).exclude(state__in=(*OPEN_STATES, State.FAILED))
    rows = list(confirmed.only("state", "products"))
    found = [(name, [one for one in rows if one.state in some]) for name, some in SUMS]
    return [(name, _cost(some)) for name, some in found if some]


def _cost(placements: Iterable[Placement]) -> Total:
    return sum((total(one.products) for one in placements), Total())


def _button(count: int, cost: Total) -> str:
    if cost.amounts:
        text = ngettext(
            "Place %(count)s order for %(cost)s", "Place %(count)s orders for %(cost)s", count
        )
    else:
        text = ngettext("Place %(count)s order", "Place %(count)s orders", count)
    return text % {"count": number(count), "cost": cost}


def _row(row: Any, warnings: list[tuple[str, Any]], *, may_act: bool) -> dict[str, Any]:
    """Return one placement for the table. `row` is annotated with `title` and `order_name`."""
    name = row.object_reference_id or row.property_platform_id
    return {
        "pk": row.pk,
        "property": link(page_at("properties.property", row.real_estate_property_id), name),
        "title": row.title or "",
        "badge": placement_badge(row),
        "sum": total(row.products) if row.state != State.DRAFT else "",
        "order": link(page_at("orders.order", row.order_id), row.order_name)
        if row.order_id
        else "",
        "placement": link(page_of(row), gettext("Details")),
        "problem": row.problem,
        "warnings": warnings,
        "has_remarks": bool(row.order_id or row.problem or warnings),
        "may_leave_out": may_act and drafts.is_open(row),
    }

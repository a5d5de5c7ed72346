"""The pages that set fields of many properties: the form, the plan, and the result."""

import time
from collections.abc import Callable
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Case, F, Q, QuerySet, When
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from crm_sync.admin.ui.base import ModelAdmin, once_more_if_taken
from crm_sync.admin.ui.cells import exact_moment, link, page_at
from crm_sync.admin.ui.page import page
from crm_sync.admin.ui.scope import note
from crm_sync.models import Workspace
from crm_sync.sentence import sentence
from properties.admin.property.all_changes import address_of
from properties.admin.property.change_history import numbers
from properties.admin.words import worded, worded_change
from properties.catalog import label
from properties.domain import bulk_edit
from properties.domain.change_selection import ChangeSelection
from properties.forms.set_form import CLEAR, SetForm, wanted
from properties.models import Batch, BatchEdit
from properties.models.change import Cause

PER_PAGE = 50
SECONDS = 2.0  # of work in one request; the page then asks for the next one


@once_more_if_taken  # a property was linked at this moment, and is another row now (I36)
def set_page(admin: ModelAdmin, request: HttpRequest, batch: Batch) -> HttpResponse:
    """Show the form, the plan or the result; a POST takes the step that its button names."""
    may_act = admin.has_change_permission(request)
    if request.method == "POST":
        if not may_act:
            raise PermissionDenied
        return _act(admin, request, batch)
    if batch.confirmed_at is not None:
        return page(admin, request, "properties/set_result.html", _result(request, batch, may_act))
    if batch.planned_at is None or "change" in request.GET:
        return _form_page(admin, request, batch, SetForm(entered=batch.wanted))
    return page(admin, request, "properties/set_plan.html", _plan(request, batch, may_act))


def _act(admin: ModelAdmin, request: HttpRequest, batch: Batch) -> HttpResponse:
    actor, now = cast("AbstractBaseUser", request.user), timezone.now()
    step = request.POST.get("step")
    mine = Batch.objects.filter(pk=batch.pk)
    if step == "plan":
        form = SetForm(request.POST, entered={})
        if not form.is_valid():
            messages.error(request, gettext("A value cannot be set. Its field says why."))
            return _form_page(admin, request, batch, form)
        if not bulk_edit.plan(batch, wanted(form.entered), entered=form.entered, now=now):
            text = gettext("This was set before: choose the properties once more.")
            messages.warning(request, text)
    elif step == "set":
        planned_at = request.POST.get("planned_at", "")
        if bulk_edit.start(batch, planned_at=planned_at, actor=actor, now=now):
            note(request, mine, sentence("Confirmed."))
        elif batch.confirmed_at is None:
            text = gettext("Somebody has made another plan since. This is how it is now: check it.")
            messages.warning(request, text)
        else:
            messages.info(request, gettext("This was set before."))
    batch.refresh_from_db()
    if batch.confirmed_at is not None:
        bulk_edit.set_rest(batch, now=now, until=time.monotonic() + SECONDS)
    return HttpResponseRedirect(batch_address(batch))


def batch_address(batch: Batch) -> str:
    """Return the address of the page of a batch."""
    return reverse("admin:properties_property_batch", args=[batch.pk])


def _form_page(
    admin: ModelAdmin, request: HttpRequest, batch: Batch, form: SetForm
) -> HttpResponse:
    for place in (place for tab in form.tree for place in tab.places):
        place.bound = form[place.path]
    context = {
        "title": gettext("Set fields"),
        "total": batch.properties.count(),
        "address": batch_address(batch),
        "groups": [
            (tab, any(one.has_trouble or one.bound.value() for one in tab.places))
            for tab in form.tree
        ],
        "problems": form.non_field_errors(),
        "clear": form[CLEAR],
        "media": admin.media + form.media,
    }
    return page(admin, request, "properties/set_form.html", context)


def _plan(request: HttpRequest, batch: Batch, may_act: bool) -> dict[str, Any]:
    # Where something is refused comes first, where nothing is to be done last.
    rank = Case(When(~Q(refused={}), then=0), When(~Q(planned={}), then=1), default=2)
    edits = _shown(batch.edits.all()).order_by(rank, "pk")
    return {
        "title": gettext("Set fields"),
        "batch": batch,
        "counts": bulk_edit.counts(batch),
        "entered": _entered(batch),
        "planned_at": batch.planned_at.isoformat() if batch.planned_at else "",
        "may_act": may_act,
    } | _paged(request, edits, _planned)


def _result(request: HttpRequest, batch: Batch, may_act: bool) -> dict[str, Any]:
    counts, now = bulk_edit.counts(batch), timezone.now()
    odd = _shown(batch.edits.all()).exclude(Q(left={}) & Q(refused={})).order_by("pk")
    return {
        "title": gettext("Set fields"),
        "batch": batch,
        "counts": counts,
        "entered": _entered(batch),
        "is_finished": not counts.to_set,
        "confirmed": exact_moment(batch.confirmed_at, now),
        "may_act": may_act,
        "undo": _undo(batch) if may_act and counts.written and not counts.to_set else [],
    } | _paged(request, odd, _reasons)


def _undo(batch: Batch) -> list[tuple[str, str]]:
    """Return the name of each workspace of the batch, and the address of the undo there."""
    rows = Workspace.objects.filter(pk__in=batch.properties.values("workspace"))
    selection = ChangeSelection(cause=Cause.BATCH.of(batch.pk))
    slugs = rows.order_by("slug").values_list("slug", flat=True)
    return [(slug, address_of(selection, slug, "changes_undo")) for slug in slugs]


def _shown(edits: QuerySet[BatchEdit]) -> QuerySet[BatchEdit]:
    """Load what the page shows of each property, and no document of it."""
    return edits.annotate(
        reference=F("real_estate_property__object_reference_id"),
        platform_id=F("real_estate_property__platform_id"),
        title=F("real_estate_property__title"),
    )


def _entered(batch: Batch) -> list[tuple[str, str]]:
    """Return each field and its new value in words; "" if it is cleared."""
    return [
        (label(path), "" if value is None else worded(path, value))
        for path, value in batch.wanted.items()
    ]


def _paged(
    request: HttpRequest,
    edits: QuerySet[BatchEdit],
    parts: Callable[[BatchEdit], dict[str, Any]],
) -> dict[str, Any]:
    shown = Paginator(edits, PER_PAGE).get_page(request.GET.get("page"))
    rows = [_property(one) | parts(one) for one in shown]
    return {"page": shown, "pages": numbers(shown), "rows": rows}


def _property(one: Any) -> dict[str, Any]:
    name = one.reference or gettext("platform id %(id)s") % {"id": one.platform_id}
    address = page_at("properties.property", one.real_estate_property_id)
    return {"property": link(address, name), "title": one.title or ""}


def _planned(one: BatchEdit) -> dict[str, Any]:
    return {
        "changes": [
            (label(leaf), *worded_change(leaf, old, new))
            for leaf, (old, new) in one.planned.items()
        ],
        "same": [label(leaf) for leaf in one.same],
        "refused": [(label(leaf), why) for leaf, why in bulk_edit.in_words(one.refused).items()],
    }


def _reasons(one: BatchEdit) -> dict[str, Any]:
    found = ((gettext("Refused"), one.refused), (gettext("Not set"), one.left))
    return {
        "reasons": [
            (what, label(leaf), reason)
            for what, reasons in found
            for leaf, reason in bulk_edit.in_words(reasons).items()
        ]
    }

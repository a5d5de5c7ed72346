"""Ordering in the admin: choose, review, place. Only a POST changes anything.

Each step is saved. *Place this order* is a POST to `review_view`. It confirms the draft
(`orders.placing.confirmation`), and a worker sends it (`orders.placing.dispatch`).
"""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import get_format
from django.utils.text import get_text_list
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.admin.ui.base import ModelAdmin
from crm_sync.admin.ui.cells import link, page_of
from crm_sync.admin.ui.page import page
from crm_sync.admin.ui.scope import note
from crm_sync.security.access import whom_to_ask, within
from crm_sync.sentence import sentence
from crm_sync.text import whole
from orders.admin.cells import ordered
from orders.admin.placing.choice_form import ChoiceForm
from orders.admin.placing.review import review, warns_of_more
from orders.models import Placement
from orders.models.placement import OPEN_STATES
from orders.placing import confirmation, drafts, selection
from orders.placing.acting_user import is_tied
from orders.placing.failures import ChangedMeanwhile
from orders.placing.session_offer import NO_PRICE, total
from properties.models import Property

ADD = "orders.add_placement"
LOAD, LAST_TIME = "load", "last_time"  # steps of the form, besides those that save the choices
LATER = "later"
CHANGED = _("It is not as you have seen it any more: look at it again.")
State = Placement.State


def begin(
    request: HttpRequest, property_: Property, again: Placement | None = None
) -> HttpResponse:
    """Open this person's draft for a property, or continue it (POST only).

    Args:
        again: the placement whose choices a new draft gets.
    """
    account, now = account_of(request), timezone.now()
    try:
        draft = drafts.begin(property_, account=account, now=now)
    except Property.DoesNotExist as error:
        raise Http404 from error
    is_empty = draft.state == State.DRAFT and not draft.products
    with suppress(ChangedMeanwhile):  # another window has begun the same: it is shown as it is
        if is_empty and again is not None:
            drafts.fill(draft, again, now=now)
        elif draft.state == State.DRAFT:
            drafts.load(draft, now=now)
    return HttpResponseRedirect(step_page(draft))


def begin_view(request: HttpRequest) -> HttpResponse:
    """Open or continue the draft for the posted property, with the choices of `again` (POST)."""
    key = whole(request.POST.get("property", ""))
    if request.method != "POST" or key is None:
        return HttpResponseRedirect(reverse("admin:orders_placement_changelist"))
    mine = within(request.user, Property.objects.all())
    failed = whole(request.POST.get("again", ""))
    again = Placement.objects.filter(
        pk=failed or 0, real_estate_property=key, created_by=request.user.pk
    )
    return begin(request, get_object_or_404(mine, pk=key), again.first())


def step_page(placement: Placement) -> str:
    """Return the address where a person continues a placement."""
    if drafts.is_open(placement) and placement.group is not None:
        return reverse("admin:orders_placement_group", args=[placement.group])
    if placement.state == State.DRAFT:
        return reverse("admin:orders_placement_choose", args=[placement.pk])
    if placement.state == State.READY:
        return reverse("admin:orders_placement_review", args=[placement.pk])
    return page_of(placement)


def is_open_for(placement: Placement, user: Any) -> bool:
    """Return whether this person may continue the placement: it is theirs and not confirmed."""
    return drafts.is_open(placement) and may_act(placement, user)


def may_act(placement: Placement, user: Any) -> bool:
    """Return whether the placement is this person's and they may place orders."""
    is_mine = placement.created_by_id is not None and placement.created_by_id == user.pk
    return is_mine and bool(user.has_perm(ADD))


def choose_view(admin: ModelAdmin, request: HttpRequest, pk: int) -> HttpResponse:
    """Show the choices. A POST loads the offer, takes those of last time, or saves them.

    *Review* and *Go on later* save the same, and lead to different pages.
    """
    placement = _own(request, pk)
    is_alone = placement.group is None
    if not is_open_for(placement, request.user) or not (is_alone or selection.is_lead(placement)):
        return HttpResponseRedirect(step_page(placement))
    form = ChoiceForm(placement)
    if request.method == "POST":
        step = request.POST.get("step")
        is_choice = step not in (LOAD, LAST_TIME)
        # What can be reviewed already needs a product, also for the others of its group.
        may_be_empty = step == LATER and placement.state == State.DRAFT
        if is_choice:
            form = ChoiceForm(placement, request.POST, may_be_empty=may_be_empty)
        is_done = _take_step_or_warn(request, placement, form)
        if not is_choice or form.is_valid():
            placement = _own(request, pk)  # another window may have left it out
            is_left = is_done and step == LATER
            return HttpResponseRedirect(_left(request, placement) if is_left else _next(placement))
    context = _shared(placement) | _choosing(request, placement) | {"form": form}
    return page(admin, request, "orders/choose.html", context, row=placement if is_alone else None)


def _left(request: HttpRequest, placement: Placement) -> str:
    """Say what was saved, and return the address to which *Go on later* leads."""
    messages.success(
        request,
        gettext(
            "What you chose is saved, and nothing was ordered. Go on from Your drafts on the"
            " overview."
        ),
    )
    return _back(placement)


def _next(placement: Placement) -> str:
    """Return the address of the review once all is chosen, else that of the choices."""
    if placement.state == State.READY:
        return step_page(placement)
    return reverse("admin:orders_placement_choose", args=[placement.pk])


def _take_step_or_warn(request: HttpRequest, placement: Placement, form: ChoiceForm) -> bool:
    """Take the step. Return False, with a warning, if another window was faster."""
    try:
        _take_step(request, placement, form)
    except ChangedMeanwhile:
        messages.warning(request, gettext("This was changed in another window: look at it again."))
    except IntegrityError:
        text = gettext("You have begun another order for %(property)s: go on there.")
        messages.warning(request, text % {"property": placement.object_reference_id})
    else:
        return True
    return False


def _take_step(request: HttpRequest, placement: Placement, form: ChoiceForm) -> None:
    """Load the offer, fill in what the person ordered last time, or save the choices of a form."""
    now, step = timezone.now(), request.POST.get("step")
    if step == LOAD:
        drafts.load(placement, now=now)
    elif step == LAST_TIME:
        before = drafts.last_time(placement.workspace_id, account_of(request))
        seen = whole(request.POST.get("revision", ""))
        if before is not None and seen is not None:
            placement.revision = seen
            drafts.fill(placement, before, now=now)
    elif form.is_valid():
        placement.revision = form.cleaned_data["revision"]
        if drafts.choose(placement, form.choices(), now=now):
            selection.spread(placement, now=now)


def _choosing(request: HttpRequest, placement: Placement) -> dict[str, Any]:
    """Return what the page of the choices shows beside the form."""
    property_, account = placement.real_estate_property, account_of(request)
    is_new = property_ is not None and property_.platform_id is None
    before = drafts.last_time(placement.workspace_id, account)
    tie = "orders.change_platformuser"
    has_tie, may_tie = is_tied(placement.workspace_id, account), account.has_perm(tie)
    asked = [] if has_tie or may_tie else whom_to_ask(tie, placement.workspace_id)
    return {
        "properties": 1 if placement.group is None else selection.members(placement.group).count(),
        "waits": is_new and not placement.problem,
        "is_refused": is_new,
        "is_pushed_now": is_pushed_now(property_),
        "last_time": before and ordered(before),
        "sum": total(placement.products) if placement.products else "",
        "sum_texts": json.dumps(_sum_texts()),
        "is_tied": has_tie,
        "may_tie": may_tie,
        "whom_to_ask": get_text_list(asked),
    }


def _sum_texts() -> dict[str, str]:
    """Return what `placing.js` needs to show the sum as the review does."""
    return {
        "nothing": gettext("nothing chosen yet"),
        "unknown": str(NO_PRICE),
        "unpriced": gettext("%(sum)s + %(count)s without a price"),
        "several": gettext("%(one)s each, about %(all)s for %(count)s"),
        "group": get_format("THOUSAND_SEPARATOR"),
        "decimal": get_format("DECIMAL_SEPARATOR"),
    }


def review_view(admin: ModelAdmin, request: HttpRequest, pk: int) -> HttpResponse:
    """Show the order. A POST with the reviewed revision confirms it, and a worker places it."""
    placement = _own(request, pk)
    if request.method == "POST" and placement.group is None:
        _confirm(request, placement)
        placement.refresh_from_db()
        return HttpResponseRedirect(step_page(placement))
    is_ready = placement.state == State.READY and placement.group is None
    if not is_ready or not may_act(placement, request.user):
        return HttpResponseRedirect(step_page(placement))
    context = _shared(placement) | review(placement)
    return page(admin, request, "orders/review.html", context, row=placement)


def _confirm(request: HttpRequest, placement: Placement) -> None:
    seen = whole(request.POST.get("revision", ""))
    if not is_open_for(placement, request.user) or seen is None:
        return
    reviewed = Placement.objects.filter(pk=placement.pk, revision=seen)
    workspace_id, account = placement.workspace_id, account_of(request)

    def confirm() -> int:
        now = timezone.now()
        return confirmation.confirm(reviewed, workspace_id=workspace_id, account=account, now=now)

    if confirm_as_shown(request, [placement], confirm):
        same = Placement.objects.filter(pk=placement.pk)
        note(request, same, sentence("Confirmed: to be ordered."))


def confirm_as_shown(
    request: HttpRequest, placements: Sequence[Placement], confirm: Callable[[], int]
) -> bool:
    """Confirm placements of one workspace, or warn that they are not as the review has shown."""
    workspace_id = placements[0].workspace_id if placements else 0
    with confirmation.one_at_a_time(workspace_id):
        if not warns_of_more(placements, request.POST.get("warned", "")) and confirm():
            return True
    # Of two clicks the later one finds that all is confirmed, which the page shows.
    if Placement.objects.filter(
        pk__in=[one.pk for one in placements], state__in=OPEN_STATES
    ).exists():
        messages.warning(request, CHANGED)
    return False


def take_back_view(request: HttpRequest, pk: int) -> HttpResponse:
    """Withdraw a confirmed placement if no worker has sent it yet (POST)."""
    placement = _own(request, pk)
    if request.method == "POST" and placement.created_by_id == request.user.pk:
        if confirmation.take_back(Placement.objects.filter(pk=placement.pk)):
            note(request, Placement.objects.filter(pk=placement.pk), sentence("Taken back."))
            messages.success(request, gettext("Nothing was ordered."))
        else:
            messages.warning(request, gettext("It is too late: it was sent already."))
        placement.refresh_from_db()
    return HttpResponseRedirect(step_page(placement))


def progress_view(request: HttpRequest, pk: int) -> HttpResponse:
    """Return the part of the page that waits for a push, and goes on when the push is over."""
    is_over = not is_pushed_now(_placement(request, pk).real_estate_property)
    return render(request, "orders/push_live.html", {"is_over": is_over})


def is_pushed_now(property_: Property | None) -> bool:
    """Return whether a worker has to push the property: it is neither there nor refused."""
    if property_ is None or property_.platform_id is not None:
        return False
    return property_.due_at is not None or not property_.problem


def _shared(placement: Placement) -> dict[str, Any]:
    property_ = placement.real_estate_property
    name = placement.object_reference_id or placement.property_platform_id
    return {
        "title": gettext("Order for %(property)s") % {"property": name},
        "placement": placement,
        "name": name,
        "property": link(page_of(property_), name),
        "property_title": (property_.title or "") if property_ else "",
        "back": _back(placement),
    }


def _back(placement: Placement) -> str:
    """Return the address to which *Go on later* leads."""
    return page_of(placement.real_estate_property) or page_of(placement)


def account_of(request: HttpRequest) -> User:
    """Return the person who sent the request, if they may place orders.

    Raises:
        PermissionDenied: they may not.
    """
    if not request.user.has_perm(ADD):
        raise PermissionDenied
    return cast("User", request.user)


def _own(request: HttpRequest, pk: int) -> Placement:
    account_of(request)
    return _placement(request, pk)


def _placement(request: HttpRequest, pk: int) -> Placement:
    rows = Placement.objects.select_related("real_estate_property").prefetch_related("user")
    return get_object_or_404(within(request.user, rows), pk=pk)

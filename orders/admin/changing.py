"""Reschedule and cancel an order on its page: fill in, review the request, send it once."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast
from uuid import UUID, uuid4

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _, pgettext

from crm_sync.admin.ui.cells import local_time, page_of
from crm_sync.admin.ui.page import page
from crm_sync.admin.ui.readonly import ReadOnlyAdmin
from crm_sync.platform.errors import NotFoundError, RejectedError, SyncError
from crm_sync.platform.problems import explain
from crm_sync.security.access import within
from crm_sync.sentence import Sentence, said, sentence
from crm_sync.text import capitalized
from crm_sync.translated import Text
from orders.admin.change_forms import CancelForm, RescheduleForm, movable_assignments
from orders.models import ChangeRequest, Order
from orders.models.statuses import ORDER_TERMINAL, OrderStatus, may_cancel
from orders.placing import changes
from orders.placing.acting_user import who_acts
from orders.placing.failures import AlreadySent, NoSuchChoice, OutcomeUnknown

Result = TypeVar("Result")
Kind = ChangeRequest.Kind


@dataclass(frozen=True)
class OrderAction:
    """One of the two calls.

    Attributes:
        body: reads the users of the platform and returns the body of the request.
        send: sends it, once.
        title: the name of the call, in English.
        noted: what the history of the order says of it.
        means: explains the consequences to the person who decides.
    """

    form: type[CancelForm]
    body: Callable[..., dict[str, Any]]
    send: Callable[..., Order]
    title: str
    noted: Sentence
    heading: Text
    link: Text
    button: Text
    means: Text
    tone: str = ""


CHANGES: dict[str, OrderAction] = {
    Kind.RESCHEDULE: OrderAction(
        RescheduleForm,
        changes.reschedule_body,
        changes.reschedule,
        "Reschedule",
        sentence("Reschedule: sent."),
        _("Reschedule order %(order)s"),
        _("Reschedule…"),
        _("Ask for another appointment"),
        _("The photographer and the appointment are released and arranged again."),
    ),
    Kind.CANCEL: OrderAction(
        CancelForm,
        changes.cancel_body,
        changes.cancel,
        "Cancel",
        sentence("Cancel: sent."),
        _("Cancel order %(order)s"),
        _("Cancel the order…"),
        _("Cancel the order"),
        _("The order ends with all of its assignments. Nobody can take that back."),
        "cs-danger",
    ),
}


def offered(order: Order) -> list[str]:
    """Return the changes that §3 allows, as far as we know the order and its assignments."""
    found = [Kind.RESCHEDULE] if may_be_moved(order) else []
    return [*found, Kind.CANCEL] if may_cancel(order.status) else [*found]


def may_be_moved(order: Order) -> bool:
    """Return whether the order is open and at least one of its assignments can be moved."""
    return order.status not in ORDER_TERMINAL and bool(movable_assignments(order))


def change_page(order: Order, kind: str) -> str:
    """Return the address of the form."""
    return reverse(f"admin:orders_order_{kind.lower()}", args=[order.pk])


def change_view(admin: ReadOnlyAdmin, request: HttpRequest, pk: int, kind: str) -> HttpResponse:
    """Show the form, show what it would send (POST), or send it (POST with the token shown).

    Only the two POST steps call the platform.
    """
    order = within(request.user, Order.objects.filter(pk=pk)).first()
    if order is None:
        raise Http404
    step, token = request.POST.get("step", ""), _token(request.POST.get("token", ""))
    if token is not None and ChangeRequest.objects.filter(token=token).exists():
        messages.info(request, _("This was sent before, and only once."))
        return HttpResponseRedirect(page_of(order))
    if kind not in offered(order):
        messages.warning(request, _not_offered(order, kind))
        return HttpResponseRedirect(page_of(order))
    change = CHANGES[kind]
    account = cast("User", request.user)
    chosen = {"assignment": request.GET.get("assignment", "")}
    form = change.form(
        order, request.POST or None, initial=chosen, account=account, now=timezone.now()
    )
    if step == "send" and token is not None and form.is_valid():
        done = _send(admin, request, form, change, token)
        if done is not None:
            return done
    elif step in ("check", "send") and form.is_valid():
        body = _asked(form, lambda: change.body(order, **form.wishes()))
        if body is not None:
            return _confirm(admin, request, form, change, body)
    context = _shared(order, form, change)
    return page(admin, request, "orders/change.html", context, row=order)


def _token(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _not_offered(order: Order, kind: str) -> str:
    if order.status in ORDER_TERMINAL or kind == Kind.CANCEL:
        shown = {"status": order.status_shown.lower()}
        return _("The order is %(status)s: it cannot be changed any more.") % shown
    return gettext("None of its assignments can be rescheduled as they stand now.")


def _shared(order: Order, form: CancelForm, change: OrderAction) -> dict[str, Any]:
    return {
        "title": change.heading % {"order": order.platform_id},
        "order": order,
        "form": form,
        "change": change,
        "back": page_of(order),
    }


def _confirm(
    admin: ReadOnlyAdmin,
    request: HttpRequest,
    form: CancelForm,
    change: OrderAction,
    body: dict[str, Any],
) -> HttpResponse:
    """Show what the next POST sends: in words, and folded as the exact body."""
    order = form.order
    verb = change.title.lower()
    context = _shared(order, form, change) | {
        "facts": _in_words(form, body),
        "call": f"PUT /v1/orders/{order.platform_id}/{verb}",
        "body": json.dumps(body, indent=2, ensure_ascii=False),
        "token": uuid4(),
    }
    return page(admin, request, "orders/change_confirm.html", context, row=order)


def _in_words(form: CancelForm, body: dict[str, Any]) -> list[tuple[Text, object]]:
    order, chosen = form.order, form.cleaned_data
    facts: list[tuple[Text, object]] = [
        (_("Order"), order.platform_id),
        (_("Property"), order.object_reference_id or _("Not known")),
        (_("In the name of"), str(who_acts(order.workspace_id, body))),
    ]
    if isinstance(form, RescheduleForm):
        wanted = chosen["assignment"]
        moved = [one for one in movable_assignments(order) if wanted in ("", one.platform_id)]
        now_at = [
            _("%(name)s, now %(at)s")
            % {"name": form.names[one.pk], "at": local_time(one.scheduled_at)}
            if one.scheduled_at
            else _("%(name)s, now without an appointment") % {"name": form.names[one.pk]}
            for one in moved
        ]
        at = chosen["proposed_at"]
        facts[2:2] = [
            (_("What"), "; ".join(now_at)),
            (_("Proposed time"), local_time(at) if at else _("None: whenever it suits")),
        ]
    return [*facts, (_("Reason"), chosen["reason"] or pgettext("reason", "None"))]


def _send(
    admin: ReadOnlyAdmin, request: HttpRequest, form: CancelForm, change: OrderAction, token: UUID
) -> HttpResponse | None:
    """Send the change and redirect to the order. Return None if the form has an error to show."""
    order = form.order
    wishes = form.wishes() | {"actor": request.user, "token": token, "now": timezone.now()}
    try:
        done = _asked(form, lambda: change.send(order, **wishes))
    except AlreadySent:
        messages.info(request, _("This was sent before, and only once."))
    except OutcomeUnknown as error:
        cause = error.__cause__
        why = explain(cause).sentence if isinstance(cause, SyncError) else ""
        messages.warning(request, f"{UNKNOWN} {why}".rstrip())
    except RejectedError as error:
        text = _("The platform did not allow it: %(words)s. The order is read again.")
        messages.error(request, text % {"words": said(error.words or error)})
    else:
        if done is None:
            return None
        admin.note(request, Order.objects.filter(pk=order.pk), change.noted)
        messages.success(request, _success(done, change))
    return HttpResponseRedirect(page_of(order))


UNKNOWN = _(
    "The platform gave no clear answer, so it is not known whether this was done. The order is read"
    " again now, and this page shows how it stands then. Do not send it a second time before that."
)


def _success(order: Order, change: OrderAction) -> str:
    if change is CHANGES[Kind.RESCHEDULE]:
        return gettext("The platform was asked for another appointment.")
    if order.status == OrderStatus.CANCELLED:
        return gettext("The order is cancelled.")
    return gettext("The platform was asked to cancel the order, which is read again now.")


def _asked(form: CancelForm, call: Callable[[], Result]) -> Result | None:
    """Return what the call returns, or None if the form has an error to show.

    Raises:
        RejectedError: a 409, which other input would not change.
        AlreadySent, OutcomeUnknown: raised by the call.
    """
    try:
        return call()
    except NoSuchChoice as error:
        form.add_error("user", capitalized(said(error)))
    except RejectedError as error:
        if error.status == 409:
            raise
        form.add_refusal(error)
    except NotFoundError as error:
        form.add_error(None, f"{explain(error, is_repeated=False)}")
    except SyncError as error:
        unchanged = _("Nothing was changed.")
        form.add_error(None, f"{unchanged} {explain(error, is_repeated=False)}")
    return None

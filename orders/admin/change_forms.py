"""The forms for rescheduling and cancelling an order (§4.4, A34)."""

from datetime import datetime
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from crm_sync.admin.ui.base import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)
from crm_sync.models import Workspace
from crm_sync.platform.errors import RejectedError
from crm_sync.sentence import said
from orders.admin.cells import assignment_names
from orders.admin.user_field import user_field
from orders.models import Assignment, Order
from orders.models.statuses import may_reschedule
from orders.people.preferences import time_zones
from orders.placing.acting_user import proposed_user

LONGEST_REASON = 1000
# For each member of the request body: the form field that shows its message from a 400.
FIELDS = {
    "userId": "user",
    "userReferenceId": "user",
    "assignmentId": "assignment",
    "proposedAt": "proposed_at",
    "reason": "reason",
}


class CancelForm(forms.Form):
    """The acting user and the reason."""

    reason = forms.CharField(
        label=_("Reason"),
        required=False,
        max_length=LONGEST_REASON,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        help_text=_("May stay empty. It goes to the platform."),
    )

    field_order: tuple[str, ...] = ("user", "reason")

    def __init__(
        self, order: Order, *args: Any, account: User, now: datetime, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.order, self.now = order, now
        workspace = Workspace.objects.only("pk").get(pk=order.workspace_id)  # no secret (S5)
        mine = proposed_user(workspace, account)
        self.fields["user"] = user_field(workspace.pk, initial=mine.platform_id if mine else "")
        self.fields["user"].label = _("In the name of")  # nothing is ordered here
        self.order_fields(self.field_order)

    def wishes(self) -> dict[str, Any]:
        """Return the arguments of `changes.cancel` or `changes.reschedule`."""
        return {"user": self.cleaned_data["user"], "reason": self.cleaned_data["reason"]}

    def add_refusal(self, error: RejectedError) -> None:
        """Show each message of a 400 at its field, and messages without a field above the form."""
        for fault in error.fields:
            name = FIELDS.get(fault.path)
            known = name in self.fields
            self.add_error(name if known else None, _sentence(fault.message))
        if not self.errors:
            self.add_error(None, _sentence(said(error.words or error)))


class RescheduleForm(CancelForm):
    """The same, plus the assignment and the proposed time."""

    assignment = forms.ChoiceField(
        label=_("What"), required=False, widget=UnfoldAdminSelectWidget, choices=()
    )
    proposed_at = forms.DateTimeField(
        required=False,
        widget=UnfoldAdminTextInputWidget(attrs={"type": "datetime-local"}),
        help_text=_("May stay empty. The platform may arrange another one."),
    )
    # The zone in which the time was typed. The person may change zones before confirming.
    zone = forms.ChoiceField(required=False, widget=forms.HiddenInput, choices=())
    field_order = ("assignment", "proposed_at", "user", "reason")

    def __init__(self, order: Order, *args: Any, **kwargs: Any) -> None:
        super().__init__(order, *args, **kwargs)
        self.names = assignment_names(order.assignments.all())
        movable = [(one.platform_id, self.names[one.pk]) for one in movable_assignments(order)]
        every = (
            [("", _("All assignments that can be moved (%(count)s)") % {"count": len(movable)})]
            if len(movable) != 1
            else []
        )
        self.fields["assignment"].choices = [*every, *movable]  # type: ignore[attr-defined]
        here = timezone.get_current_timezone_name()
        named = self.data.get("zone", "")
        self.zone_name = named if named in time_zones() else here
        self.fields["zone"].choices = [(self.zone_name, "")]  # type: ignore[attr-defined]
        self.fields["zone"].initial = here
        self.fields["proposed_at"].label = _("Proposed time (%(zone)s)") % {"zone": self.zone_name}

    def full_clean(self) -> None:
        """Read the time in the zone in which it was typed."""
        with timezone.override(self.zone_name):
            super().full_clean()

    def clean_proposed_at(self) -> datetime | None:
        """Refuse a time in the past, which is a mistake."""
        at: datetime | None = self.cleaned_data["proposed_at"]
        if at is not None and at <= self.now:
            raise ValidationError(_("This time is over already."))
        return at

    def wishes(self) -> dict[str, Any]:
        """Add the assignment (None for all) and the time."""
        return super().wishes() | {
            "assignment": self.cleaned_data["assignment"] or None,
            "proposed_at": self.cleaned_data["proposed_at"],
        }


def movable_assignments(order: Order) -> list[Assignment]:
    """Return the assignments that may be rescheduled by §3.2, in their order (A49)."""
    rows = sorted(order.assignments.all(), key=lambda one: one.pk)
    there = (one for one in rows if one.withdrawn_at is None)
    return [one for one in there if may_reschedule(one.status, one.assignment_type)]


def _sentence(words: str) -> str:
    """Return the platform's message as a sentence."""
    text = words.strip().rstrip(".")
    return _("The platform says: %(words)s.") % {"words": text}

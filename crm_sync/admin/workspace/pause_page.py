"""The tab Pause: what a person holds in a workspace, watch only with its plan, and the history."""

from datetime import datetime
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.admin.ui.base import ModelAdmin, UnfoldAdminTextInputWidget
from crm_sync.admin.ui.cells import exact_moment
from crm_sync.admin.ui.page import page
from crm_sync.admin.ui.scope import note
from crm_sync.admin.workspace.tabs import opened, plugged_tabs, tabs
from crm_sync.models import Hold, Workspace, hold
from crm_sync.models.hold import REASON_LENGTH, HoldCause, HoldGroup, grouped
from crm_sync.platform.work_kind import MEANINGS, WorkKind, listed
from crm_sync.sentence import Sentence, sentence
from crm_sync.translated import number

NEWEST = 100  # holds of the history


class PauseForm(forms.Form):
    """What is held, why, and until when."""

    kinds = forms.MultipleChoiceField(
        label=_("What to pause"),
        choices=[(kind.value, meaning) for kind, meaning in MEANINGS.items()],
        initial=[kind.value for kind in WorkKind],
        widget=forms.CheckboxSelectMultiple,
    )
    reason = forms.CharField(
        label=_("Reason"),
        max_length=REASON_LENGTH,
        widget=UnfoldAdminTextInputWidget,
        help_text=_("Everybody with this workspace sees it on each page."),
    )
    until = forms.DateTimeField(
        label=_("Until"),
        required=False,
        widget=UnfoldAdminTextInputWidget(attrs={"type": "datetime-local"}),
        help_text=_("Empty: until somebody resumes it."),
    )

    def clean_until(self) -> datetime | None:
        """Refuse an end that is over."""
        until = cast("datetime | None", self.cleaned_data["until"])
        if until is not None and until <= timezone.now():
            raise forms.ValidationError(gettext("This time is over."))
        return until


def pause_page(admin: ModelAdmin, request: HttpRequest, workspace_id: int) -> HttpResponse:
    """Show what is held. A POST pauses, resumes, or ends watch only."""
    shown, now = opened(admin, request, workspace_id), timezone.now()
    can_act = admin.has_change_permission(request, shown)
    step = request.POST.get("step", "")
    form = PauseForm(request.POST if step == "pause" else None)
    if request.method == "POST":
        if not can_act:
            raise PermissionDenied
        if _done(request, shown, step, form, now):
            return HttpResponseRedirect(request.path)
    standing = hold.standing([workspace_id], now)
    is_watched = any(one.first.cause == HoldCause.WATCH_ONLY for one in standing)
    over = Hold.objects.filter(Q(ended_at__isnull=False) | Q(until__lte=now))
    rows = over.filter(workspace=workspace_id).select_related("by", "ended_by")
    plan = hold.first_plan(workspace_id) if is_watched else {}
    context = {
        "title": gettext("Pause of %(workspace)s") % {"workspace": shown.slug},
        "form": form,
        "held": [_row(one, now) for one in standing if one.first.cause == HoldCause.PERSON],
        "is_watched": is_watched,
        "plan": [
            (number(count), gettext(name))
            for name, count in plan.items()
            if count or " not " not in name
        ],
        "seen": hold.seen_as(plan),
        "before": plugged_tabs(request, workspace_id),
        "history": [_row(one, now) for one in grouped(rows.order_by("-since", "pk")[:NEWEST])],
        "can_act": can_act,
        **tabs(admin, request, workspace_id),
    }
    return page(admin, request, "crm_sync/workspace/pause.html", context, row=shown)


def _done(request: HttpRequest, shown: Any, step: str, form: PauseForm, now: datetime) -> bool:
    """Do a step; return False if the form has an error to show."""
    actor = cast("User", request.user)
    if step == "pause":
        if not form.is_valid():
            return False
        given = form.cleaned_data
        kinds = [WorkKind(name) for name in given["kinds"]]
        hold.pause(
            shown.pk, kinds, reason=given["reason"], until=given["until"], now=now, actor=actor
        )
        _say(
            request,
            shown,
            sentence(
                "Held by a person: %(work)s. %(reason)s", work=listed(kinds), reason=given["reason"]
            ),
        )
    elif step == "resume":
        kinds = [kind for kind in WorkKind if kind.value in request.POST.getlist("kind")]
        if ended := hold.resume(shown.pk, kinds, now=now, actor=actor):
            _say(request, shown, sentence("Resumed: %(work)s.", work=listed(ended)))
        else:
            messages.warning(request, gettext("Somebody has resumed it before."))
    elif step == "go":
        seen = request.POST.get("seen", "")
        if hold.go_live(shown.pk, seen=seen, now=now, actor=actor):
            text = sentence("Watch only has ended, after the plan %(plan)s was seen.", plan=seen)
            _say(request, shown, text)
        else:
            messages.warning(
                request, gettext("The plan has changed meanwhile: look at it once more.")
            )
    return True


def _say(request: HttpRequest, shown: Any, text: Sentence) -> None:
    """Say what was done, and note it."""
    note(request, Workspace.objects.filter(pk=shown.pk).only("pk", "slug"), text)
    messages.success(request, text.said())


def _row(group: HoldGroup, now: datetime) -> dict[str, Any]:
    one = group.first
    ended = one.ended_at or one.until
    return {
        "work": group.work,
        "kinds": [kind.value for kind in group.kinds],
        "cause": one.get_cause_display(),
        "reason": one.why,
        "who": one.who,
        "since": exact_moment(one.since, now),
        "until": exact_moment(one.until, now) if one.until else "",
        "ended": exact_moment(ended, now),
        "ended_who": one.ended_who or gettext("by itself"),
    }

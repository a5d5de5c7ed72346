"""The pages to push, read or edit many properties: the plan, then the progress."""

from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _, ngettext

from crm_sync.admin.ui.base import ModelAdmin
from crm_sync.admin.ui.cells import exact_moment, link, page_of
from crm_sync.admin.ui.delays import delay
from crm_sync.admin.ui.page import page
from crm_sync.admin.ui.scope import note
from crm_sync.hooks import Person
from crm_sync.models import Workspace
from crm_sync.platform.problems import explain
from crm_sync.security.access import within
from crm_sync.sentence import sentence
from crm_sync.templatetags.problems import problem_cell
from crm_sync.translated import Text, number
from properties.admin.property.bulk_edit_page import batch_address, set_page
from properties.admin.words import in_one_line
from properties.catalog import label
from properties.domain.bulk_edit import MOST
from properties.models import Batch, Property
from properties.models.property import ProblemKind, SyncState
from properties.push import batches

CALLS: dict[str, Text] = {"POST": _("Create"), "PATCH": _("Change")}
NOTHING = _("Nothing to send")


def ask(request: HttpRequest, rows: QuerySet[Property], kind: Batch.Kind) -> HttpResponse | None:
    """Store the selection and redirect to its plan; nothing is due yet."""
    if kind == Batch.Kind.SET and rows.order_by().count() > MOST:
        text = gettext("At most %(count)s at a time: narrow the list first.")
        messages.warning(request, text % {"count": number(MOST)})
        return None
    actor = cast("AbstractBaseUser", request.user)
    return HttpResponseRedirect(
        batch_address(batches.choose(rows, kind, actor=actor, now=timezone.now()))
    )


def batch_page(admin: ModelAdmin, request: HttpRequest, batch_id: int) -> HttpResponse:
    """Show the plan, confirm it (POST), or show the progress."""
    batch = _batch(request, batch_id)
    if batch.kind == Batch.Kind.SET:
        return set_page(admin, request, batch)
    if request.method == "POST":
        if not admin.has_change_permission(request):
            raise PermissionDenied
        actor = cast("AbstractBaseUser", request.user)
        if batches.start(batch, actor=actor, now=timezone.now()):
            note(request, Batch.objects.filter(pk=batch.pk), sentence("Confirmed."))
        else:
            messages.info(request, gettext("This was started before."))
        return HttpResponseRedirect(batch_address(batch))
    is_read = batch.kind == Batch.Kind.READ
    context = {"title": batch.get_kind_display(), "batch": batch, "is_read": is_read}
    if batch.confirmed_at is None:
        context |= _plan(batch) | {"can_start": admin.has_change_permission(request)}
        return page(admin, request, "properties/batch_plan.html", context)
    return page(admin, request, "properties/batch_progress.html", context | _progress(batch))


def batch_progress(request: HttpRequest, batch_id: int) -> HttpResponse:
    """Return the progress, which the page of a running batch requests every second."""
    batch = _batch(request, batch_id)
    if batch.kind == Batch.Kind.SET:  # its page goes on by itself
        raise Http404
    context = {"batch": batch, **_progress(batch)}
    return render(request, "properties/batch_live.html", context)


def _batch(request: HttpRequest, batch_id: int) -> Batch:
    batch = Batch.objects.select_related("confirmed_by").filter(pk=batch_id).first()
    if batch is None or not _is_within(request.user, batch):
        raise Http404
    return batch


def _is_within(person: Person, batch: Batch) -> bool:
    """Return whether this person sees each of its properties: the figures count all of them.

    Of a batch whose properties are all gone nobody knows the workspace.
    """
    every = batch.properties.all()
    seen = within(person, every)
    return seen is every or 0 < seen.count() == every.count()


def _plan(batch: Batch) -> dict[str, Any]:
    now = timezone.now()
    plan = batches.plan(batch, now=now)
    return {
        "plan": plan,
        "held": [
            (SyncState(kind).label, ProblemKind(kind).label, _held_back(*counts))
            for kind, counts in plan.blocked.items()
            if kind in ProblemKind.values
        ],
        "paused": [
            (workspace.slug, exact_moment(workspace.paused_until, now), _why(workspace), count)
            for workspace, count in plan.paused
        ],
        "steps": [_shown(step) for step in plan.steps],
    }


def _held_back(rows: int, fields: int) -> str:
    """Return how many properties wait for a person, and how many of their fields."""
    if not fields:
        text = ngettext("%(count)s property", "%(count)s properties", rows)
        return text % {"count": number(rows)}
    text = ngettext("%(count)s field", "%(count)s fields", fields)
    of_rows = ngettext(
        "%(fields)s of %(count)s property", "%(fields)s of %(count)s properties", rows
    )
    return of_rows % {"fields": text % {"count": number(fields)}, "count": number(rows)}


def _shown(step: batches.BatchStep) -> dict[str, Any]:
    """Return one property of a plan in words."""
    row = step.row
    return {
        "property": link(page_of(row), row),
        "title": str(row.desired.get("title") or ""),
        "call": CALLS.get(step.call, NOTHING),
        "fields": [(label(path), in_one_line(path, value)) for path, value in step.parts.items()],
        "blocked": [_waiting(row, path) for path in sorted(row.blocked)],
    }


def _waiting(row: Property, path: str) -> tuple[str, str]:
    """Return a field that waits for a person, and why."""
    return label(path) or gettext("The property"), explain(row.problems_at(path)[0]).sentence


def _why(workspace: Workspace) -> SafeString | str:
    return problem_cell(workspace.problem) if workspace.problem else ""


def _progress(batch: Batch) -> dict[str, Any]:
    now = timezone.now()
    done = "read" if batch.kind == Batch.Kind.READ else "pushed"
    troubled = batches.need_a_person(batch).order_by("object_reference_id", "pk")
    rows = [
        (link(page_of(row), row), *_waiting(row, path))
        for row in troubled[: batches.FIRST]
        for path in sorted(row.blocked)[:1]
    ]
    return {
        "progress": batches.progress(batch, now=now),
        "paused": [
            (workspace.slug, delay(workspace.paused_until, workspace.problem, now=now, done=done))
            for workspace, _ in batches.paused(batch, now)
        ],
        "confirmed": exact_moment(batch.confirmed_at, now),
        "progress_url": reverse("admin:properties_property_batch_progress", args=[batch.pk]),
        "troubled": rows,
    }

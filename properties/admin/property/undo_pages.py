"""The undo of many changes: what it would do, one confirmation, and what it did."""

from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext, pgettext

from crm_sync.account_names import name_by
from crm_sync.admin.ui.base import ModelAdmin
from crm_sync.admin.ui.cells import EMPTY, exact_moment, link, local_time, page_at
from crm_sync.admin.ui.page import page
from crm_sync.admin.ui.scope import note
from crm_sync.hooks import Person
from crm_sync.models import Workspace
from crm_sync.security.access import within
from crm_sync.sentence import sentence
from crm_sync.text import whole
from properties import merge
from properties.admin.property.all_changes import (
    address_of,
    cause_link,
    colleagues,
    selected,
    undo_page,
    workspace_of,
)
from properties.admin.words import worded_change
from properties.catalog import label
from properties.domain import undo_steps
from properties.domain.change_selection import CREATED, ChangeSelection
from properties.domain.headline import one_line
from properties.domain.undo import Kept, RowUndo
from properties.models import Change, Import, Property, Undo
from properties.models.change import Cause, Origin

SHOWN = 200  # kept parts on the page of an undo


def undo_plan(admin: ModelAdmin, request: HttpRequest) -> HttpResponse:
    """Show what the undo of a selection would do, or request it (POST)."""
    if not admin.has_change_permission(request):
        raise PermissionDenied
    selection = selected(request.user, request.GET, timezone.now())
    workspace = workspace_of(request.user, selection) if selection.can_be_undone else None
    if workspace is None:
        messages.error(request, gettext("Choose a person, an import or a time, and one workspace."))
        return HttpResponseRedirect(address_of(selection))
    selection = selection.within(workspace.pk)
    if request.method == "POST":
        if (up_to := whole(request.POST.get("up_to", ""))) is None:
            raise PermissionDenied
        actor, now = cast("AbstractBaseUser", request.user), timezone.now()
        job = undo_steps.request(workspace, selection, up_to=up_to, actor=actor, now=now)
        kind, key = Cause.parts(selection.cause)
        if kind == Cause.IMPORT and key is not None:
            imports = Import.objects.filter(workspace=workspace, pk=key)
            note(request, imports, sentence("Taken back by undo %(id)s.", id=str(job.pk)))
        return HttpResponseRedirect(undo_page(job.pk))
    plan = undo_steps.preview(selection)
    context = {
        "title": gettext("Undo these changes"),
        "plan": plan,
        "counted": undo_steps.PREVIEWED,
        "says": _says(selection, request.user),
        "steps": [_shown(row, step) for row, step in plan.steps],
        "back": address_of(selection, workspace.slug),
    }
    return page(admin, request, "properties/undo_plan.html", context)


def undone_page(admin: ModelAdmin, request: HttpRequest, undo_id: int) -> HttpResponse:
    """Show the progress of an undo, and what it did."""
    job = _job(request.user, undo_id)
    title = gettext("Undo %(key)s") % {"key": job.pk}
    context = {"title": title, **_progress(admin, request, job)}
    return page(admin, request, "properties/undo_progress.html", context)


def undone_live(admin: ModelAdmin, request: HttpRequest, undo_id: int) -> HttpResponse:
    """Return the parts of the page that change by themselves."""
    job = _job(request.user, undo_id)
    return render(request, "properties/undo_live.html", _progress(admin, request, job))


def _job(person: Person, undo_id: int) -> Undo:
    rows = within(person, Undo.objects.select_related("requested_by"))
    if (job := rows.filter(pk=undo_id).first()) is None:
        raise Http404
    return job


def _progress(admin: ModelAdmin, request: HttpRequest, job: Undo) -> dict[str, Any]:
    now = timezone.now()
    newer = Change.objects.select_related("actor").in_bulk(
        [one[4] for one in job.kept[:SHOWN] if one[4]]
    )
    mine = ChangeSelection(cause=Cause.UNDO.of(job.pk))
    slug = Workspace.objects.only("slug").get(pk=job.workspace_id).slug  # no secret (S5)
    can_undo = bool(job.ended_at and job.count("fields")) and admin.has_change_permission(request)
    return {
        "job": job,
        "says": _says(ChangeSelection.of_json(job.chosen), request.user),
        "live": reverse("admin:properties_property_undone_live", args=[job.pk]),
        "requested": exact_moment(job.requested_at, now),
        "counts": {n: job.count(n) for n in ("fields", "properties", "removed", "kept")},
        "removed": job.removed[:SHOWN],
        "kept": [
            (
                link(page_at("properties.property", key), reference),
                *_kept(path, Kept(reason), newer.get(change)),
            )
            for key, reference, path, reason, change in job.kept[:SHOWN]
        ],
        "lines": address_of(mine, slug),
        "undo": address_of(mine, slug, "changes_undo") if can_undo else "",
    }


def _kept(path: str, reason: Kept, newer: Change | None) -> tuple[str, str]:
    """Return what is kept, and why."""
    name = label(path) if path else gettext("The property")
    if newer is None:
        return name, str(reason.label)
    named = {"reason": reason.label, "who": newer.who, "at": local_time(newer.at)}
    if newer.who:
        return name, gettext("%(reason)s by %(who)s, %(at)s") % named
    origin = newer.get_origin_display()
    return name, gettext("%(reason)s by %(origin)s, %(at)s") % {**named, "origin": origin}


def _shown(row: Property, step: RowUndo) -> dict[str, Any]:
    """Return one property of a plan in words."""
    here, where = merge.leaves(row.desired), one_line(row.desired.get("address"))
    return {
        "property": link(page_at("properties.property", row.pk), where or row),
        "reference": str(row) if where else "",
        "removes": step.removes,
        "fields": [
            (label(path), *worded_change(path, here.get(path), value))
            for path, value in step.values.items()
        ],
        "kept": [_kept(part.path, part.reason, part.change) for part in step.kept],
    }


def _says(selection: ChangeSelection, person: Person) -> list[tuple[str, SafeString | str]]:
    """Return the selection in words: what is filtered, and by what."""
    found: list[tuple[str, SafeString | str]] = []
    if selection.cause:
        found.append((gettext("Changes of"), cause_link(selection.cause, person)))
    if selection.person:
        found.append((gettext("Changed by"), _name(selection.person, person)))
    if selection.origin:
        found.append((gettext("Origin"), str(Origin(selection.origin).label)))
    if selection.field:
        name = (
            pgettext("change", "Created") if selection.field == CREATED else label(selection.field)
        )
        found.append((gettext("Field"), name))
    for name, at in (
        (pgettext("time", "From"), selection.since),
        (pgettext("time", "Before"), selection.until),
    ):
        found += [(name, local_time(at))] if at else []
    return found


def _name(key: int, reader: Person) -> str:
    named = colleagues(reader).filter(pk=key).annotate(name=name_by())
    return named.values_list("name", flat=True).first() or EMPTY

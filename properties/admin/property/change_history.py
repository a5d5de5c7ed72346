"""The history of one property: who changed which field from what to what, and its undo."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.core.paginator import Page, Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext, pgettext

from crm_sync.admin.ui.base import ModelAdmin
from crm_sync.admin.ui.cells import badge, moment
from crm_sync.admin.ui.page import page
from crm_sync.hooks import Person
from crm_sync.security.access import workspace_keys
from crm_sync.sentence import said
from crm_sync.text import clean
from properties import merge
from properties.admin.words import in_one_line, worded, worded_change
from properties.catalog import equal, label
from properties.domain.bulk_edit import reasons
from properties.domain.editing import Invalid
from properties.domain.undo import ChangedSince, can_undo, undo
from properties.models import Batch, Change, Property
from properties.models.change import Cause, Origin

PER_PAGE = 50
ORIGIN_TONES: dict[str, str] = {Origin.ADMIN: "info", Origin.PLATFORM: "warning"}


@dataclass(frozen=True)
class Entry:
    """One change in words.

    Attributes:
        since: the current value, if it differs from the one that the change set.
        undo: the address of the undo; "" if there is nothing to undo.
        fields: each field that a creation set.
        batch: the address of the batch that set it together with other properties.
    """

    when: SafeString | str
    name: str
    path: str
    origin: SafeString
    who: str
    note: str
    values: tuple[str, str] = ("", "")
    since: str = ""
    undo: str = ""
    fields: tuple["Entry", ...] = ()
    batch: str = ""


def entries(row: Property, changes: list[Change]) -> list[Entry]:
    """Return changes of a property in words; `actor` must be loaded with them."""
    now, ours = timezone.now(), merge.leaves(row.desired)
    return [_entry(change, ours, now) for change in changes]


def _entry(change: Change, ours: merge.Leaves, now: datetime) -> Entry:
    entry = Entry(
        when=moment(change.at, now),
        name=pgettext("change", "Created") if change.is_creation else label(change.path),
        path=change.path,
        origin=badge(change.get_origin_display(), ORIGIN_TONES.get(change.origin, "muted")),
        who=change.who,
        note="" if change.origin == Origin.HTTP_API else change.note,
    )
    if not change.is_creation:
        return _with_undo(entry, change, ours.get(change.path))
    parts = sorted(change.parts(), key=lambda part: label(part.path))
    return replace(entry, fields=tuple(_entry(part, ours, now) for part in parts))


def _with_undo(entry: Entry, change: Change, current: Any) -> Entry:
    path = change.path
    entry = replace(entry, values=worded_change(path, change.old, change.new))
    if not can_undo(change):
        return entry
    is_current, is_back = (equal(path, current, value) for value in (change.new, change.old))
    return replace(
        entry,
        since="" if is_current else in_one_line(path, current),
        undo="" if is_back else _address(change),
    )


def _with_batches(row: Property, changes: list[Change], person: Person) -> list[Entry]:
    """Return changes in words, each with the batch in which many properties were set.

    A person who does not see all properties of a batch cannot open its page.
    """
    causes = {change.cause for change in changes}
    keys = [
        key for kind, key in map(Cause.parts, causes) if kind == Cause.BATCH and key is not None
    ]
    rows = Batch.objects.filter(pk__in=keys)
    if (mine := workspace_keys(person)) is not None:
        others = Property.objects.exclude(workspace__in=mine).filter(batch__in=keys)
        rows = rows.exclude(properties__in=others)
    batches = {
        Cause.BATCH.of(key): reverse("admin:properties_property_batch", args=[key])
        for key in rows.values_list("pk", flat=True)
    }
    return [
        replace(entry, batch=batches.get(change.cause, ""))
        for entry, change in zip(entries(row, changes), changes, strict=True)
    ]


def _address(change: Change) -> str:
    """Return the address of the undo of one field; a creation has one for each field."""
    keys = [change.real_estate_property_id, change.pk]
    query = urlencode({"field": change.path})
    return f"{reverse('admin:properties_property_undo', args=keys)}?{query}"


def history(admin: ModelAdmin, request: HttpRequest, row: Property) -> HttpResponse:
    """Show one page of the changes, of all fields or of one (`?field=`)."""
    mine = Change.objects.filter(real_estate_property=row)
    creation = mine.filter(path=Change.CREATION).first()
    paths = set(mine.order_by().values_list("path", flat=True).distinct())
    paths |= {part.path for part in creation.parts()} if creation else set()
    chosen, __ = clean(request.GET.get("field", ""))
    found = mine.filter(path__in=[chosen, Change.CREATION]) if chosen else mine
    if creation and chosen and not creation.part(chosen):
        found = found.exclude(pk=creation.pk)
    shown = Paginator(found.select_related("actor").order_by("-at", "-pk"), PER_PAGE).get_page(
        request.GET.get("page")
    )
    context = {
        "title": gettext("History of %(name)s") % {"name": row},
        "page": shown,
        "pages": numbers(shown),
        "entries": _with_batches(
            row, [change.part(chosen) or change for change in shown], request.user
        ),
        "fields": [(path, label(path)) for path in sorted(paths - {Change.CREATION}, key=label)],
        "chosen": chosen,
        "can_change": admin.has_change_permission(request, row),
    }
    return page(admin, request, "properties/history.html", context, row=row)


def numbers(page: Page[Any]) -> list[int | str]:
    """Return the numbers of the pages to choose from, with dots for those left out."""
    return list(page.paginator.get_elided_page_range(page.number, on_each_side=2, on_ends=1))


def undo_change(
    admin: ModelAdmin, request: HttpRequest, row: Property, change_id: int
) -> HttpResponse:
    """Undo a change (POST); if the field has another value now, show it and ask first."""
    found = Change.objects.filter(pk=change_id, real_estate_property=row).first()
    change = found and (found.part(request.GET.get("field", "")) if found.is_creation else found)
    if change is None or not can_undo(change):
        raise Http404
    if not admin.has_change_permission(request, row):
        raise PermissionDenied
    current = merge.leaves(row.desired).get(change.path)
    if request.method == "POST":
        try:
            return _undo(request, change)
        except ChangedSince as newer:
            current = newer.current
    old, new = worded_change(change.path, change.old, change.new)
    context = {
        "title": gettext("Undo: %(field)s") % {"field": label(change.path)},
        "change": change,
        "name": label(change.path),
        "when": moment(change.at, timezone.now()),
        "values": [
            (gettext("It was"), old),
            (gettext("This change made it"), new),
            (gettext("It is now"), worded(change.path, current)),
        ],
        "is_current": equal(change.path, current, change.new),
        "clears": change.old is None,
        "seen": _signer(change).sign_object({"value": current}),
    }
    return page(admin, request, "properties/undo.html", context, row=row)


def _undo(request: HttpRequest, change: Change) -> HttpResponse:
    seen = change.new
    if "seen" in request.POST:
        try:
            seen = _signer(change).unsign_object(request.POST["seen"])["value"]
        except signing.BadSignature:
            raise PermissionDenied from None
    actor, name = cast("AbstractBaseUser", request.user), label(change.path)
    try:
        if undo(change, seen=seen, actor=actor, now=timezone.now()):
            text = gettext("%(field)s is what it was before; a worker sends it.")
            messages.success(request, text % {"field": name})
        else:
            text = gettext("%(field)s is that already: nothing was changed.")
            messages.info(request, text % {"field": name})
    except Invalid as error:
        text = gettext("%(field)s stays as it is: %(reason)s")
        in_words = [replace(one, message=said(one.message)) for one in error.faults]
        why = reasons(change.path, in_words)
        messages.error(request, text % {"field": name, "reason": why})
    except Property.DoesNotExist:  # it was linked with another row (I36)
        raise Http404 from None
    history_page = reverse(
        "admin:properties_property_history", args=[change.real_estate_property_id]
    )
    return HttpResponseRedirect(history_page)


def _signer(change: Change) -> signing.Signer:
    """Sign for this change only, so that no page can be posted for another one."""
    return signing.Signer(salt=f"properties.domain.undo.{change.pk}.{change.path}")

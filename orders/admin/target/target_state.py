"""The state of a target in words: for its list, its page, and the overview."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Count, F, Q, QuerySet
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _, ngettext

from crm_sync.admin.ui.cells import badge, list_of, moment, page_at, shortened
from crm_sync.hooks import NEWEST, Attention, Person
from crm_sync.security.access import within
from crm_sync.sentence import said
from crm_sync.translated import Text, number
from orders.models import Target
from orders.targets import uploads

FAILS, REFUSED, OFF = "Takes nothing", "Files wait for a person", "Paused"
EMPTY, NEW, AGAIN, GOOD = "No files here", "Not used yet", "Tried again", "In order"
NAMES: dict[str, Text] = {
    FAILS: _("Takes nothing"),
    REFUSED: _("Files wait for a person"),
    OFF: _("Paused"),
    EMPTY: _("No files here"),
    NEW: _("Not used yet"),
    AGAIN: _("Tried again"),
    GOOD: _("In order"),
}
REMEDIES: dict[str, Text] = {
    FAILS: _("Correct the address or the password, or ask the owner of the server; then test it"),
    REFUSED: _("The list says why; upload them again once the cause is removed"),
}
Standing = tuple[str, str, str]  # key of NAMES, tone and reason


def with_counts(targets: QuerySet[Target]) -> QuerySet[Any]:
    """Load targets with the numbers of their files, and never with a secret (S5)."""
    waiting, refused = Q(files__due_at__isnull=False), Q(files__due_at=None)
    return targets.defer("secret").annotate(
        waiting=Count("files", filter=waiting),
        refused=Count("files", filter=refused & ~Q(files__problem="")),
        uploaded=Count("files", filter=~Q(files__digest="")),
    )


def standing(row: Any) -> Standing:
    """Return the state of a target that was loaded with its counts."""
    off = gettext("An operator has to switch on MATERIALS_DOWNLOAD: else no file is here")
    refused = ngettext(
        "%(count)s file was not taken", "%(count)s files were not taken", row.refused
    ) % {"count": number(row.refused)}
    found: list[tuple[bool, Standing]] = [
        (row.attempts >= uploads.TRIES, (FAILS, "danger", row.problem)),
        (row.refused > 0, (REFUSED, "warning", refused)),
        (not row.is_enabled, (OFF, "muted", "")),
        (not settings.MATERIALS_DOWNLOAD, (EMPTY, "warning", off)),
        (bool(row.problem), (AGAIN, "warning", row.problem)),
        (row.uploaded_at is None and row.tested_at is None, (NEW, "info", "")),
        (True, (GOOD, "good", "")),
    ]
    return next(one for is_so, one in found if is_so)


def state_badge(row: Any) -> SafeString:
    """Return the badge of a target."""
    name, tone, __ = standing(row)
    return badge(NAMES[name], tone)


def attention(person: Person, now: datetime) -> list[Attention]:
    """Return the targets that wait for a person; one query."""
    rows = within(person, with_counts(Target.objects.all()))
    named = rows.annotate(workspace_slug=F("workspace__slug")).order_by("-failing_since", "-pk")
    waiting = [(row, one) for row in named if (one := standing(row))[0] in REMEDIES]
    return [_line(row, one, now) for row, one in waiting[:NEWEST]]


def _line(row: Any, one: Standing, now: datetime) -> Attention:
    name, tone, why = one
    is_failing = name == FAILS
    files = f"{list_of('orders.targetfile')}?state=problem&target__id__exact={row.pk}"
    text = gettext("Target %(name)s: %(why)s") % {"name": row.name, "why": said(why)}
    return Attention(
        badge(NAMES[name], tone),
        shortened(text, 140),
        row.workspace_slug,
        moment(row.failing_since if is_failing else row.uploaded_at, now),
        page_at("orders.target", row.pk) if is_failing else files,
        remedy=str(REMEDIES[name]),
        act=gettext("Look"),
        next_try=moment(row.due_at, now) if is_failing else gettext("Not by itself"),
    )

"""The gaps of a workspace: intervals in which events may have been lost (I21)."""

from collections import Counter
from collections.abc import Iterable

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import F, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _, ngettext

from crm_sync import hooks
from crm_sync.admin.ui.base import ModelAdmin
from crm_sync.admin.ui.cells import moment
from crm_sync.admin.ui.page import page
from crm_sync.admin.ui.scope import note
from crm_sync.admin.workspace.tabs import opened, tabs
from crm_sync.models import Gap, Workspace
from crm_sync.sentence import sentence
from crm_sync.text import whole
from crm_sync.translated import Text, number

EXPLAINED: dict[Gap.Why, Text] = {
    Gap.Why.OVERFLOW: _(
        "The platform made more attempts between two polls than its history keeps."
    ),
    Gap.Why.ERASED: _("Somebody removed the webhook or created it again; its history was lost."),
    Gap.Why.UNEXPLAINED: _(
        "The platform names an attempt that neither reached us nor is in its history."
    ),
    Gap.Why.UNREADABLE: _("Records of the history hold no payload, or one that was cut off."),
}
ROWS = 50  # of a page


def gaps_page(admin: ModelAdmin, request: HttpRequest, workspace_id: int) -> HttpResponse:
    """Show the gaps, unseen ones first. A POST marks one or all of them as seen."""
    shown = opened(admin, request, workspace_id)
    gaps = Gap.objects.filter(workspace=workspace_id)
    can_act = admin.has_change_permission(request, shown)
    if request.method == "POST":
        if not can_act:
            raise PermissionDenied
        key = whole(request.POST.get("gap", ""))
        see(request, gaps if key is None else gaps.filter(pk=key))
        return HttpResponseRedirect(request.get_full_path())
    now = timezone.now()
    unseen = gaps.filter(acknowledged_at=None)
    newest = gaps.order_by(F("acknowledged_at").asc(nulls_first=True), "-pk")
    numbered = Paginator(newest, ROWS).get_page(request.GET.get("page"))
    context = {
        "title": gettext("Gaps of %(workspace)s") % {"workspace": shown.slug},
        "page": numbered,
        "numbers": numbered.paginator.page_range if numbered.has_other_pages() else [],
        "gaps": [
            {
                "row": gap,
                "explanation": EXPLAINED[Gap.Why(gap.why)],
                "noticed": moment(gap.noticed_at, now),
                "seen": moment(gap.acknowledged_at, now),
            }
            for gap in numbered
        ],
        "unseen": unseen.count(),
        "unread": unread(unseen.order_by("-noticed_at")[:1])[workspace_id],
        "can_act": can_act,
        **tabs(admin, request, workspace_id),
    }
    return page(admin, request, "crm_sync/workspace/gaps.html", context, row=shown)


def unread(gaps: Iterable[Gap]) -> Counter[int]:
    """Return by workspace how many open orders were not read since its newest gap (I21).

    After they are read, a gap can hide only an order of which we know nothing.
    """
    oldest_first = sorted(gaps, key=lambda gap: gap.noticed_at)
    since = {gap.workspace_id: gap.noticed_at for gap in oldest_first}
    total: Counter[int] = Counter()
    for count in hooks.plugged().unread_after_gap if since else ():
        total.update(count(since))
    return total


def see(request: HttpRequest, gaps: QuerySet[Gap]) -> None:
    """Mark gaps as seen, and write that to the history of their workspaces (S17)."""
    unseen = Gap.objects.filter(pk__in=gaps.values("pk"), acknowledged_at=None)
    found = set(unseen.values_list("workspace", flat=True))
    note(
        request, Workspace.objects.filter(pk__in=found).only("pk", "slug"), sentence("Gaps: seen.")
    )
    count = unseen.update(acknowledged_at=timezone.now())
    if count:
        text = ngettext(
            "%(count)s gap is marked as seen.", "%(count)s gaps are marked as seen.", count
        )
        messages.success(request, text % {"count": number(count)})
    else:
        messages.warning(request, gettext("All of them have been seen before."))

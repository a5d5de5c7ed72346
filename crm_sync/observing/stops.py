"""What a workspace does not do now, and why: a person holds it, or the platform does (A8, I34)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q
from django.utils.translation import gettext as _

from crm_sync.models import Workspace
from crm_sync.models.hold import HoldCause, standing
from crm_sync.platform.errors import ErrorKind
from crm_sync.platform.problems import explain
from crm_sync.text import capitalized

REFUSED = (ErrorKind.UNAUTHORIZED, ErrorKind.FORBIDDEN, ErrorKind.NO_CREDENTIALS)


@dataclass(frozen=True)
class Halt:
    """Why some or all work of a workspace stands still, for people.

    Attributes:
        is_held: a person holds it; else the platform refuses calls.
        is_watched: it is held in watch only.
        until: when it goes on by itself, if that is known.
        remedy: what an operator does about it.
    """

    workspace_id: int
    slug: str
    text: str
    effect: str
    remedy: str
    is_held: bool
    until: datetime | None = None
    tone: str = "warning"
    is_watched: bool = False


def stops(workspaces: Sequence[int] | None, now: datetime) -> list[Halt]:
    """Return the stops of these workspaces, or of all for None. Two queries, and no secret (S5)."""
    return [*holds(workspaces, now), *_by_platform(workspaces, now)]


def holds(workspaces: Sequence[int] | None, now: datetime) -> list[Halt]:
    """Return what people hold. One query."""
    found = []
    for group in standing(workspaces, now):
        one = group.first
        slug = str(one.slug)  # type: ignore[attr-defined] # an annotation
        is_watched = one.cause == HoldCause.WATCH_ONLY
        if is_watched:
            text = _("%(workspace)s is in watch only") % {"workspace": slug}
            effect = _("Nothing is sent before its first plan was seen.")
            remedy = _("See the plan, and say go.")
        else:
            named = {"work": capitalized(group.work), "workspace": slug, "person": one.who}
            text = (
                _("%(work)s of %(workspace)s: held by %(person)s")
                if one.who
                else _("%(work)s of %(workspace)s: held by a person")
            ) % named
            effect, remedy = f"{one.reason.rstrip('.')}.", _("Resume it on the tab Pause.")
        halt = Halt(
            one.workspace_id, slug, text, effect, remedy, True, one.until, is_watched=is_watched
        )
        found.append(halt)
    return found


def _by_platform(workspaces: Sequence[int] | None, now: datetime) -> list[Halt]:
    rows = Workspace.objects.filter(Q(paused_until__gt=now) | ~Q(problem=""))
    mine = rows if workspaces is None else rows.filter(pk__in=workspaces)
    found = []
    for one in mine.only("slug", "paused_until", "problem").order_by("slug"):
        told, is_paused = explain(one.problem), one.is_paused(now)
        is_refused = told.kind in REFUSED
        if is_paused or is_refused:
            text = _("%(workspace)s is paused") % {"workspace": one.slug}
            if is_refused:
                text = _("%(workspace)s is refused by the platform") % {"workspace": one.slug}
            until = one.paused_until if is_paused and not is_refused else None
            tone = "danger" if is_refused else "warning"
            effect = told.sentence or _("The platform asked for a pause.")
            found.append(Halt(one.pk, one.slug, text, effect, told.remedy, False, until, tone))
    return found

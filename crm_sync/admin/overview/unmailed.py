"""The mails that could not be sent, on the overview: who does not get one cannot know."""

from datetime import datetime

from django.db.models import Q
from django.utils.translation import gettext as _, ngettext

from crm_sync.admin.ui.cells import badge, list_of, moment, shortened
from crm_sync.hooks import Attention, Person
from crm_sync.models import Alarm
from crm_sync.security.access import own_workspaces
from crm_sync.sentence import said
from crm_sync.translated import number


def no_mail(text: str, due_at: datetime | None, now: datetime, *, link: str) -> Attention:
    """Return the line about mails of one kind that wait for the mail server.

    Args:
        text: says how many wait, and the problem of the first.
        due_at: when the first is tried again.
    """
    return Attention(
        badge(_("No mail"), "warning"),
        shortened(text, 140),
        link=link,
        remedy=_("Look at the mail server and at EMAIL_URL; nothing is lost"),
        next_try=moment(due_at, now),
    )


def attention(person: Person, now: datetime) -> list[Attention]:
    """Return one line if mails about alarms could not be sent, no matter how many wait; one query.

    An alarm about the whole installation is everybody's who may see workspaces.
    """
    mine = Q(workspace__in=own_workspaces(person)) | Q(workspace=None)
    waiting = Alarm.objects.filter(mine, due_at__isnull=False).exclude(problem="")
    found = list(waiting.order_by("due_at", "pk").values_list("problem", "due_at"))
    if not found:
        return []
    problem, due_at = found[0]
    text = ngettext(
        "%(count)s alarm waits for its mail: %(problem)s",
        "%(count)s alarms wait for their mail: %(problem)s",
        len(found),
    )
    text = text % {"count": number(len(found)), "problem": said(problem)}
    return [no_mail(text, due_at, now, link=list_of("crm_sync.workspace"))]

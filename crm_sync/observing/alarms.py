"""What is wrong now, as alarms that begin once and end once.

A thread of beat looks every half minute, so it notices too that no worker is alive. Each alarm has
one row while it is open: the database refuses a second one, and each step is a conditional UPDATE.
So it does not matter how many processes look.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from crm_sync import hooks
from crm_sync.hooks import Trouble
from crm_sync.models import Alarm, AlarmKind, Subscription, Workspace
from crm_sync.outgoing import worker
from crm_sync.outgoing.sending import shown
from crm_sync.platform.problems import meaning
from crm_sync.sentence import lazy_sentence
from crm_sync.work import heartbeat

EVERY = 30.0  # seconds from one look to the next
# How long it has to be wrong. A source and a receiver count as failing only after some tries.
PATIENCE: Mapping[str, timedelta] = {
    AlarmKind.WORKSPACE_PAUSED: timedelta(minutes=10),
    AlarmKind.SOURCE_AWAY: timedelta(0),
    AlarmKind.RECEIVER_FAILING: timedelta(0),
    AlarmKind.NO_WORKER: timedelta(minutes=2),
}
NO_WORKER = lazy_sentence(_("Nothing is pushed, read or applied; nothing is lost."))


def troubles(now: datetime) -> Iterator[Trouble]:
    """Yield what is wrong with workspaces, receivers and workers. Three queries."""
    # Calls without an answer do not pause a workspace, but the polls of its webhook fail then.
    unwell = Q(pauses__gt=0) | Q(monitor__attempts__gt=0)
    columns = ("slug", "pauses", "problem", "monitor__problem")
    for row in Workspace.objects.filter(unwell).select_related("monitor").only(*columns):
        page = reverse("admin:crm_sync_workspace_change", args=[row.pk])
        text = meaning(row.problem if row.pauses else row.monitor.problem)
        yield Trouble(AlarmKind.WORKSPACE_PAUSED, row.pk, str(row.pk), row.slug, text, page)
    rows = Subscription.objects.filter(worker.needs_a_person(now))
    for to in rows.defer("secret", "previous_secret"):
        page = reverse("admin:crm_sync_subscription_change", args=[to.pk])
        where = (to.workspace_id, str(to.pk), shown(to.address, to.format))
        yield Trouble(AlarmKind.RECEIVER_FAILING, *where, to.problem, page)
    (alive,) = heartbeat.presences(now, (heartbeat.Kind.WORKER,))
    if alive.is_missing:
        yield Trouble(AlarmKind.NO_WORKER, None, "", "", NO_WORKER, reverse("admin:index"))


def notice(now: datetime) -> None:
    """Begin an alarm for each new trouble, and end those whose trouble is over."""
    found = [one for look in hooks.plugged().troubles for one in look(now)]
    wrong = {(one.kind, one.key): one for one in found}
    opened = Alarm.objects.filter(ended_at=None)
    known = {(kind, key): pk for pk, kind, key in opened.values_list("pk", "kind", "key")}
    new = [_alarm(one, now) for cause, one in wrong.items() if cause not in known]
    Alarm.objects.bulk_create(new, ignore_conflicts=True)
    over = opened.filter(pk__in=[pk for cause, pk in known.items() if cause not in wrong])
    over.filter(told_at=None).delete()
    over.exclude(told_at=None).update(ended_at=now, due_at=now, told_to=[], attempts=0)


def _alarm(one: Trouble, now: datetime) -> Alarm:
    return Alarm(
        workspace_id=one.workspace_id,
        kind=one.kind,
        key=one.key,
        name=one.name[:300],
        text=one.text,
        page=one.page,
        began_at=now,
        due_at=now + PATIENCE[one.kind],
    )

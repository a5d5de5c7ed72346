"""A mail to each person who wants it, the day before an appointment.

From their hour on, a person is reminded of the appointments of the next day; before it, of those
that are left of the day. So an appointment that is moved or made late is not missed, and none is
mailed twice for the same time.

At least once: if a worker dies between sending and noting it, the same mail goes again, with the
same Message-ID.
"""

from collections.abc import Sequence
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib.auth.models import User
from django.core.mail import EmailMessage
from django.db.models import QuerySet, Subquery
from django.utils import timezone, translation
from django.utils.translation import gettext, gettext_lazy as _, ngettext

from crm_sync import permits
from crm_sync.admin.ui.cells import local_time
from crm_sync.links import absolute
from crm_sync.mail import MAIL_ERRORS, mails_are_sent, message
from crm_sync.models import Workspace, due
from crm_sync.platform.errors import problem_of
from crm_sync.translated import number
from crm_sync.work import leases, queues
from crm_sync.work.leases import Claim
from crm_sync.work.queues import RowQueue, Turn
from orders.calendar.appointments import Appointment, appointments
from orders.calendar.ics import what
from orders.models import Reminder, ReminderSettings
from orders.models.statuses import AssignmentStatus, shown
from orders.people.language_of_person import language_of
from orders.people.preferences import settings_of

QUEUE = "reminders"
EVERY = timedelta(minutes=15)  # from one look to the next
LONGEST_WAIT = max(EVERY, timedelta(seconds=due.BACKOFF_LIMIT)) + leases.LEASE
LINES = 50  # appointments in a mail, which only counts the others


def choose(person: User, *, hour: int | None, now: datetime) -> None:
    """Write that a person wants reminders at this hour of the day before, or None for none."""
    mine = ReminderSettings.objects.filter(person=person)
    if hour is None:
        mine.update(due_at=None, problem="")
        return
    ReminderSettings.objects.get_or_create(person=person)
    mine.update(hour=hour)
    mine.filter(due_at=None).update(due_at=now, attempts=0)


def hour_of(person: User) -> int | None:
    """Return the hour of the reminders of a person, None if they want none."""
    wanted = ReminderSettings.objects.filter(person=person, due_at__isnull=False)
    return wanted.values_list("hour", flat=True).first()


def until(now: datetime, hour: int, zone: ZoneInfo) -> datetime:
    """Return the end of the day of whose appointments a person is reminded now. Pure."""
    here = now.astimezone(zone)
    days = 2 if here.hour >= hour else 1
    return datetime.combine(here.date() + timedelta(days=days), time(), tzinfo=zone)


def people() -> QuerySet[ReminderSettings]:
    """Return all rows, with the first workspace, whose slots they use; see `mail_queue.people`."""
    first = Workspace.objects.order_by("pk").values("pk")[:1]
    return ReminderSettings.objects.annotate(workspace_id=Subquery(first))


def remind(claims: Sequence[Claim[ReminderSettings]], turn: Turn) -> list[str]:
    """Remind each person; the `work` of the queue.

    Raises:
        LeaseLost: another worker holds the row now.
    """
    return [_remind(claim, now=timezone.now()) for claim in claims]


REMINDERS: RowQueue[ReminderSettings] = RowQueue(
    name=QUEUE,
    title=_("reminders"),
    rows=lambda now: people(),
    is_on=mails_are_sent,
    work=remind,
    calls=False,
    wait=LONGEST_WAIT,
)


def _remind(claim: Claim[ReminderSettings], *, now: datetime) -> str:
    row = claim.row
    person = User.objects.get(pk=row.person_id)
    found = coming(person, row.hour, now=now)
    if not found:
        claim.finish(due_at=now + EVERY, attempts=0, problem="")
        return "nothing"
    mine = settings_of(person)
    with translation.override(language_of(mine) or settings.LANGUAGE_CODE):
        mail = written(found, to=person.email, zone=mine.zone)
    if not claim.write({}):
        raise leases.LeaseLost
    try:
        with permits.away():
            mail.send()
    except MAIL_ERRORS as error:
        queues.put_off(claim, problem=problem_of(error))
        return "put off"
    sent = [Reminder(person=person, assignment_id=one.key, at=one.at) for one in found]
    Reminder.objects.bulk_create(sent, ignore_conflicts=True)
    claim.finish(due_at=now + EVERY, attempts=0, problem="", mailed_at=now)
    return "sent"


def coming(person: User, hour: int, *, now: datetime) -> list[Appointment]:
    """Return the appointments of which a person is to be reminded now, sorted by time.

    Nothing that has begun, was cancelled, or of which they were reminded at this time.
    """
    if not (person.is_active and person.is_staff and person.email):
        return []
    mine = settings_of(person)
    end = until(now, hour, mine.zone)
    found = appointments(now, end, person=person, only_mine=mine.only_mine)
    sent = Reminder.objects.filter(person=person, at__gte=now, at__lt=end)
    known = set(sent.values_list("assignment", "at"))
    return [one for one in found if (one.key, one.at) not in known]


def written(found: Sequence[Appointment], *, to: str, zone: ZoneInfo) -> EmailMessage:
    """Return the mail about appointments, in the active language."""
    with timezone.override(zone):
        lines: list[str] = []
        for one in found[:LINES]:
            named = f"  {what(one)}: {shown(one.status, AssignmentStatus)}"
            page = absolute("admin:orders_order_change", one.order_key)
            lines += [f"- {local_time(one.at)}, {one.where}", named, f"  {page}"]
            lines.append("")
        more = {"count": number(len(found) - LINES)}
        lines += [gettext("and %(count)s more") % more, ""] if len(found) > LINES else []
        mine = absolute("admin:orders_personsettings_mine")
        lines.append(gettext("You chose this mail: %(address)s") % {"address": mine})
        text = ngettext(
            "Reminder of %(count)s appointment", "Reminder of %(count)s appointments", len(found)
        )
        return message(text % {"count": number(len(found))}, lines, [to])

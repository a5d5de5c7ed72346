"""The appointments in a mail with news: as lines, and as files for calendar programs."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from email.utils import parseaddr
from functools import partial
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.utils import timezone

from crm_sync.admin.ui.cells import local_time
from crm_sync.links import absolute
from crm_sync.translated import said_of
from orders.calendar.appointments import Appointment, of_orders
from orders.calendar.ics import CANCEL, PUBLISH, Method, calendar, what
from orders.models.news import News
from orders.people.happenings import ORDER, Happening
from orders.people.news_mail import Invitation

FILES = {PUBLISH: "appointments.ics", CANCEL: "cancelled.ics"}


def invite(person: User, found: Sequence[Happening], now: datetime) -> Invitation:
    """Return the coming appointments of the orders that a mail is about. At most three queries.

    Those that stand come with news of an appointment, those that were cancelled also with news of
    a cancelled order. It is in the active language and time zone.
    """
    scheduled = {one.key for one in found if (one.model, one.kind) == (ORDER, News.SCHEDULED)}
    ended = {one.key for one in found if (one.model, one.kind) == (ORDER, News.CANCELLED)}
    standing, cancelled = of_orders(scheduled | ended, person=person, after=now)
    standing = [one for one in standing if one.order_key in scheduled]
    lines: dict[int, list[str]] = defaultdict(list)
    for one in standing:
        lines[one.order_key].append(said_of(what(one), local_time(one.at)))
    files = [
        (FILES[method], method, _file(some, method))
        for method, some in ((PUBLISH, standing), (CANCEL, cancelled))
        if some
    ]
    return Invitation(lines, files)


def _file(found: Sequence[Appointment], method: str) -> str:
    made = calendar(
        found,
        host=urlsplit(settings.PUBLIC_BASE_URL).hostname or "localhost",
        page=partial(absolute, "admin:orders_order_change"),
        zone=timezone.get_current_timezone_name(),
        method=Method(method, parseaddr(settings.DEFAULT_FROM_EMAIL)[1]),
    )
    return made.decode()

"""A file that was fetched by itself: who wants to know is told when a person may look at it."""

from datetime import datetime

from crm_sync.mail import mails_are_sent
from properties.models import Fetch, Import


def let_mail_go(row: Import, now: datetime) -> None:
    """Make the mail about an import due that has ended or waits, where somebody wants one."""
    if mails_are_sent():
        told = Fetch.objects.filter(imported=row.pk, source__mail_to__gt="")
        told.update(due_at=now, attempts=0)

"""Make, in the database of an installation, somebody who gets a mail: news or a reminder."""

import os
import sys
from datetime import timedelta

import django


def remind() -> None:
    """Let an agent want a reminder, of an appointment tomorrow at the latest."""
    from django.contrib.auth.models import User
    from django.utils import timezone

    from orders.calendar import reminders
    from orders.models import PersonSettings
    from tests.crm_sync.admin_pages import make_workspace
    from tests.orders.admin_rows import make_assignment, make_order

    now = timezone.now()
    order = make_order(make_workspace(), "1")
    make_assignment(order, "1", status="SCHEDULED", scheduled_at=now + timedelta(hours=20))
    person = User.objects.create_superuser("agent", "agent@example.com")
    PersonSettings.objects.create(person=person, only_mine=False)
    reminders.choose(person, hour=0, now=now)


def tell() -> None:
    """Let an order be cancelled an hour ago, of which an agent wants to hear."""
    from django.contrib.auth.models import User
    from django.utils import timezone

    from orders.models import StatusChange
    from orders.models.news import News
    from orders.people.preferences import choose
    from tests.crm_sync.admin_pages import make_workspace
    from tests.orders.admin_rows import make_order, note

    now = timezone.now()
    note(make_order(make_workspace(), status="CANCELLED"), "CANCELLED", news=News.CANCELLED)
    StatusChange.objects.update(created_at=now - timedelta(hours=1))
    person = User.objects.create_superuser("agent", "agent@example.com")
    since = now - timedelta(hours=2)
    choose(person, kinds=[News.CANCELLED], only_mine=False, time_zone="", language="", now=since)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    {"news": tell, "reminder": remind}[sys.argv[1]]()

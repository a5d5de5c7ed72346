"""Make, in the database of an installation, a person for whom something has happened."""

import os
from datetime import timedelta

import django


def main() -> None:
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
    main()

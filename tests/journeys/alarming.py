"""Make, in the database of an installation, what operators are alarmed about, and end it."""

import os
import sys
from datetime import timedelta

import django

BROKEN = "https://broken.example.com/"
COUNT = 40  # more than a mail lists


def begin(kind: str, address: str = "") -> None:
    """Let alarms be due, for two operators or for a subscription at the address.

    Many receivers fail, and their workspace is paused; or no worker is alive.
    """
    from django.contrib.auth.models import User
    from django.utils import timezone

    from crm_sync.models import AlarmKind, Workspace
    from crm_sync.observing import alarms
    from orders.models import PersonSettings
    from orders.models.person_settings import alarm_switch_of
    from tests.crm_sync.admin_pages import make_workspace
    from tests.crm_sync.receivers import subscribe

    now, workspace = timezone.now(), make_workspace()
    if kind == AlarmKind.RECEIVER_FAILING:
        away = {"failing_since": now - timedelta(hours=2), "problem": "503"}
        for number in range(COUNT):
            subscribe(workspace, f"{BROKEN}{number}", "property.in_sync", **away)
        Workspace.objects.update(pauses=1, paused_until=now + timedelta(hours=1))
    if address:
        subscribe(workspace, address, f"alarm.{kind}")
    else:
        switches = {alarm_switch_of(one): True for one in (kind, AlarmKind.WORKSPACE_PAUSED)}
        for name in ("one", "two"):
            person = User.objects.create_superuser(name, f"{name}@example.com")
            PersonSettings.objects.create(person=person, **switches)
    alarms.notice(now - timedelta(minutes=15))  # so that their patience is over


def end() -> None:
    """Let the receivers and the platform be back, and a worker alive: the alarms are over."""
    from django.utils import timezone

    from crm_sync.models import Subscription, Workspace
    from crm_sync.observing import alarms
    from tests.crm_sync.admin_pages import let_processes_run

    back = {"failing_since": None, "problem": ""}
    Subscription.objects.filter(address__startswith=BROKEN).update(**back)
    Workspace.objects.update(pauses=0, paused_until=None)
    let_processes_run(timezone.now())
    alarms.notice(timezone.now())


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    {"begin": begin, "end": end}[sys.argv[1]](*sys.argv[2:])

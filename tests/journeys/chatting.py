"""Make, in the database of an installation, a Slack subscription for which 30 changes are due."""

import os
import sys

import django


def main(address: str) -> None:
    """Let the changes be due at once, for a receiver at this address."""
    from django.utils import timezone

    from crm_sync.models import Subscription
    from crm_sync.outgoing import outbox
    from crm_sync.outgoing.outbox import Message
    from tests.crm_sync.admin_pages import make_workspace

    workspace, now = make_workspace(), timezone.now()
    known = {"kinds": ["property.in_sync"], "secret": "x", "format": "SLACK", "due_at": now}
    with outbox.changing(workspace.pk):
        Subscription.objects.create(workspace=workspace, address=address, **known)
    state = {"platformId": None, "revision": 1, "state": "IN_SYNC", "problems": []}
    found = [Message("property.in_sync", now, {"reference": f"MH-{n}", **state}) for n in range(30)]
    outbox.tell(workspace.pk, found, now=now)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    main(sys.argv[1])

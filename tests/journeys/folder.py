"""Make, in the database of an installation, a source to whose folder files are delivered."""

import os
import sys
from typing import Any

import django


def main(folder: str) -> None:
    """Let files be delivered to a folder, and lack what was there before."""
    from tests.crm_sync.admin_pages import make_workspace

    missing = {"missing": "SET_STATE", "missing_state": "PRIVATE"}
    make_source(make_workspace(), f"{folder}/", "IN_TURN", **missing)


def make_source(workspace: Any, address: str, delivery: str, **sender: str) -> None:
    """Let a person have seen a file of a new source before, so the next ones are imported.

    Args:
        sender: columns of the one who sends.
    """
    from django.utils import timezone

    from properties.models import Import, Sender, Source

    now = timezone.now()
    one = Sender.objects.create(workspace=workspace, name=f"Agency {delivery}", **sender)
    source = Source.objects.create(
        workspace=workspace,
        sender=one,
        address=address,
        delivery=delivery,
        every_minutes=1,
        due_at=now,
        set_at=now,
    )
    ended = {"released_at": now, "uploaded_at": now, "ended_at": now}
    Import.objects.create(workspace=workspace, sender=one, source=source, state="DONE", **ended)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    main(sys.argv[1])

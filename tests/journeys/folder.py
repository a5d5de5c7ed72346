"""Make, in the database of an installation, a source to whose folder files are delivered."""

import os
import sys

import django


def main(folder: str) -> None:
    """Let a person have seen a file of the folder before, so the next ones are imported."""
    from django.utils import timezone

    from properties.models import Import, Sender, Source
    from tests.crm_sync.admin_pages import make_workspace

    now = timezone.now()
    workspace = make_workspace()
    sender = Sender.objects.create(
        workspace=workspace, name="Agency", missing="SET_STATE", missing_state="PRIVATE"
    )
    source = Source.objects.create(
        workspace=workspace,
        sender=sender,
        address=f"{folder}/",
        delivery="IN_TURN",
        every_minutes=1,
        due_at=now,
        set_at=now,
    )
    ended = {"released_at": now, "uploaded_at": now, "ended_at": now}
    Import.objects.create(workspace=workspace, sender=sender, source=source, state="DONE", **ended)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    main(sys.argv[1])

"""manage.py env_example: print `.env.example`."""

from typing import Any

from django.core.management.base import BaseCommand

from crm_sync.installed import beside


class Command(BaseCommand):
    """Prints the example, which an installed wheel has deep inside."""

    help = "Print every setting with its default: the beginning of a .env."

    def handle(self, *_: Any, **__: Any) -> None:
        """Print the file as it is."""
        self.stdout.write(beside(".env.example").read_text(encoding="utf-8"), ending="")

"""manage.py rotate_keys: encrypt every stored secret again, with the newest key."""

from typing import Any

from django.db import models
from django.db.models import Value
from django.db.models.functions import Cast

from crm_sync.management.base import PARTLY, SyncCommand
from crm_sync.secrets import SecretUnreadable, encrypted_columns, is_newest, rotated, stored

TEXT = models.TextField()


class Command(SyncCommand):
    """Rotates keys without a stop: each secret stays readable all the time."""

    help = (
        "Encrypt every stored secret with the first key of SECRET_KEYS_AT_REST. Put a new key in"
        " front, restart everything, run this, and take the old key out."
    )
    changes = True

    def handle(self, *_: Any, **options: Any) -> None:
        """Encrypt all columns of secrets again. The exit code is 3 if some cannot be decrypted."""
        counts = {"encrypted": 0, "newest": 0}
        unreadable: list[str] = []
        for model, name in encrypted_columns():
            for pk, token in self.track(stored(model, name), f"{model._meta.verbose_name} {name}"):
                try:
                    fresh = "" if is_newest(token) else rotated(token)
                except SecretUnreadable:
                    unreadable.append(f"{model._meta.verbose_name} {pk}: {name}")
                    continue
                counts["encrypted" if fresh else "newest"] += 1
                if fresh and not options["dry_run"]:
                    _replace(model, name, pk, token, fresh)
        would = "would be " if options["dry_run"] else ""
        lines = [f"unreadable  {one}: enter it again" for one in unreadable]
        lines.append(
            f"{counts['encrypted']} {would}encrypted anew, {counts['newest']} had the newest key"
        )
        self.emit(counts | {"unreadable": unreadable}, lines, as_json=options["json"])
        if unreadable:
            self.fail(f"no key decrypts {len(unreadable)} of them", PARTLY)


def _replace(model: type[models.Model], name: str, pk: Any, token: str, fresh: str) -> None:
    """Write a secret, unless it was changed in between."""
    same = model._default_manager.annotate(stored=Cast(name, TEXT)).filter(pk=pk, stored=token)
    same.update(**{name: Value(fresh, output_field=TEXT)})

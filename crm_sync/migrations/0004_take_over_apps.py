"""The apps that django-otp kept: their keys stand in the clear no more, and their codes open (S5)."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

OURS, DJANGO_OTP = ("crm_sync", "AuthenticatorApp"), ("otp_totp", "TOTPDevice")
KEPT = (
    *("user_id", "name", "confirmed", "key", "drift", "last_t", "last_used_at"),
    *("throttling_failure_timestamp", "throttling_failure_count"),
)


def take_over(apps: Apps, _: BaseDatabaseSchemaEditor) -> None:
    """Move each device to our table."""
    _move(apps.get_model(*DJANGO_OTP), apps.get_model(*OURS))


def give_back(apps: Apps, _: BaseDatabaseSchemaEditor) -> None:
    """Move them back, for the release of before."""
    _move(apps.get_model(*OURS), apps.get_model(*DJANGO_OTP))


def _move(before: type[models.Model], after: type[models.Model]) -> None:
    for row in before._base_manager.order_by("pk"):
        moved = after._base_manager.create(**{name: getattr(row, name) for name in KEPT})
        after._base_manager.filter(pk=moved.pk).update(created_at=row.created_at)
    before._base_manager.all().delete()


class Migration(migrations.Migration):
    dependencies = [
        ("crm_sync", "0003_authenticator_app"),
        ("otp_totp", "0003_add_timestamps"),
    ]

    operations = [migrations.RunPython(take_over, give_back)]

"""Operators may see and change targets and the files there."""

from django.apps.registry import Apps
from django.contrib.auth.management import create_permissions
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

NAMES = (
    *("view_target", "add_target", "change_target"),
    *("view_targetfile", "change_targetfile"),
)


def give(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """Add the permissions, if an operator has not removed the group."""
    alias = editor.connection.alias
    # Django makes the permissions only after the last migration.
    config = apps.get_app_config("orders")
    config.models_module = True
    create_permissions(config, verbosity=0, using=alias, apps=apps)
    config.models_module = None
    permissions = apps.get_model("auth", "Permission").objects.using(alias)
    found = permissions.filter(content_type__app_label="orders", codename__in=NAMES)
    for group in apps.get_model("auth", "Group").objects.using(alias).filter(name="Operators"):
        group.permissions.add(*found)


class Migration(migrations.Migration):
    dependencies = [
        ("orders", "0018_targets"),
        ("properties", "0003_groups"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [migrations.RunPython(give, migrations.RunPython.noop)]

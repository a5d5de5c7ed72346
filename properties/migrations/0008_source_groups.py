"""Agents and those who only look see senders and sources; operators manage them."""

from django.apps.registry import Apps
from django.contrib.auth.management import create_permissions
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

SEEN = ("view_sender", "view_source")
MANAGED = (*SEEN, "add_sender", "change_sender", "add_source", "change_source")
GROUPS = {"Agents": SEEN, "Read-only": SEEN, "Operators": MANAGED}


def allow(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """Give the permissions to the groups that are still there."""
    alias = editor.connection.alias
    # On a fresh database Django makes the permissions only after the last migration.
    config = apps.get_app_config("properties")
    config.models_module = True
    create_permissions(config, verbosity=0, using=alias, apps=apps)
    config.models_module = None
    mine = apps.get_model("auth", "Permission").objects.using(alias)
    for group in apps.get_model("auth", "Group").objects.using(alias).filter(name__in=GROUPS):
        found = mine.filter(content_type__app_label="properties", codename__in=GROUPS[group.name])
        group.permissions.add(*found)


class Migration(migrations.Migration):
    dependencies = [("properties", "0007_sources")]

    operations = [migrations.RunPython(allow, migrations.RunPython.noop)]

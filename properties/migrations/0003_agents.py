"""A group for the people who work with properties and orders."""

from django.apps.registry import Apps
from django.contrib.auth.management import create_permissions
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

GROUP = "Agents"
# No workspace, no received event: those hold how the platform is reached.
PERMISSIONS = {
    "properties": ("view_property", "add_property", "change_property", "view_conflict", "change_conflict"),
    "orders": (
        *("view_order", "change_order", "view_placement", "add_placement", "change_placement"),
        "view_platformuser",
    ),
}


def add_group(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """Make the group once; what an operator makes of it afterwards stays."""
    alias = editor.connection.alias
    group, is_new = apps.get_model("auth", "Group").objects.using(alias).get_or_create(name=GROUP)
    if not is_new:
        return
    permissions = apps.get_model("auth", "Permission").objects.using(alias)
    for label, codenames in PERMISSIONS.items():
        # On a fresh database Django makes the permissions only after the last migration.
        config = apps.get_app_config(label)
        config.models_module = True
        create_permissions(config, verbosity=0, using=alias, apps=apps)
        config.models_module = None
        found = permissions.filter(content_type__app_label=label, codename__in=codenames)
        group.permissions.add(*found)


class Migration(migrations.Migration):
    dependencies = [
        ("properties", "0002_schedules"),
        ("orders", "0001_initial"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [migrations.RunPython(add_group, migrations.RunPython.noop)]

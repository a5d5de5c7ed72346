"""The groups of the people who work here: agents, operators, and those who only look."""

from django.apps.registry import Apps
from django.contrib.auth.management import create_permissions
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

# No workspace, no received event: those hold how the platform is reached.
SEEN = {
    "properties": ("view_property", "view_conflict", "view_sender", "view_source"),
    "orders": ("view_order", "view_placement", "view_platformuser"),
}
AGENTS = {
    "properties": (*SEEN["properties"], "add_property", "change_property", "change_conflict"),
    "orders": (*SEEN["orders"], "change_order", "add_placement", "change_placement"),
}
OPERATORS = {
    "properties": (
        *(*AGENTS["properties"], "view_driftcheck", "view_import", "add_import"),
        *("add_sender", "change_sender", "add_source", "change_source"),
    ),
    "orders": (
        *(*AGENTS["orders"], "change_platformuser"),
        *("view_calendarfeed", "change_calendarfeed"),
        *("view_personsettings", "change_personsettings"),
        *("view_materialfile", "change_materialfile"),
    ),
    "crm_sync": (
        *("all_workspaces", "view_workspace", "add_workspace", "change_workspace"),
        *("view_webhookmonitor", "change_webhookmonitor", "view_gap", "change_gap"),
        *("view_receivedevent", "change_receivedevent", "view_platformcall"),
        *("view_apitoken", "add_apitoken", "change_apitoken"),
        *("view_subscription", "add_subscription", "change_subscription"),
        *("view_outgoingmessage", "change_outgoingmessage"),
    ),
    "django_celery_beat": tuple(
        f"{verb}_{model}"
        for model in ("periodictask", "intervalschedule", "crontabschedule")
        for verb in ("view", "add", "change")
    ),
}
GROUPS = {"Agents": AGENTS, "Operators": OPERATORS, "Read-only": SEEN}


def add_groups(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """Make each group once; what an operator makes of it afterwards stays."""
    alias = editor.connection.alias
    for label in OPERATORS:
        # On a fresh database Django makes the permissions only after the last migration.
        config = apps.get_app_config(label)
        config.models_module = True
        create_permissions(config, verbosity=0, using=alias, apps=apps)
        config.models_module = None
    permissions = apps.get_model("auth", "Permission").objects.using(alias)
    for name, allowed in GROUPS.items():
        group, is_new = apps.get_model("auth", "Group").objects.using(alias).get_or_create(name=name)
        for label, codenames in allowed.items() if is_new else ():
            found = permissions.filter(content_type__app_label=label, codename__in=codenames)
            group.permissions.add(*found)


class Migration(migrations.Migration):
    dependencies = [
        ("properties", "0002_schedules"),
        ("crm_sync", "0001_initial"),
        ("orders", "0001_initial"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [migrations.RunPython(add_groups, migrations.RunPython.noop)]

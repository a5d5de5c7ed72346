"""The group that people who work with properties are put into."""

import importlib

from django.apps import apps
from django.contrib.auth.models import Group, Permission, User
from django.db import connection
from django.test import Client

agents = importlib.import_module("properties.migrations.0003_groups")


def test_a_fresh_database_has_a_group_for_agents(db):
    group = Group.objects.get(name="Agents")
    names = group.permissions.order_by("content_type__app_label", "codename")
    assert list(names.values_list("content_type__app_label", "codename")) == [
        ("orders", "add_placement"),
        ("orders", "change_order"),
        ("orders", "change_placement"),
        ("orders", "view_order"),
        ("orders", "view_placement"),
        ("orders", "view_platformuser"),
        ("properties", "add_property"),
        ("properties", "change_conflict"),
        ("properties", "change_property"),
        ("properties", "view_conflict"),
        ("properties", "view_property"),
        ("properties", "view_sender"),
        ("properties", "view_source"),
    ]


def test_an_agent_sees_the_work_and_nothing_of_the_connection(db):
    user = User.objects.create(username="agent", is_staff=True)
    user.groups.add(Group.objects.get(name="Agents"))
    client = Client()
    client.force_login(user)
    pages = {
        f"/admin/{name}/": client.get(f"/admin/{name}/").status_code
        for name in (
            *("properties/property", "properties/conflict", "orders/order", "orders/placement"),
            *("crm_sync/workspace", "crm_sync/receivedevent", "auth/user", "auth/group"),
        )
    }
    assert list(pages.values()) == [200, 200, 200, 200, 403, 403, 403, 403]


def test_what_an_operator_makes_of_the_group_stays(db):
    group = Group.objects.get(name="Agents")
    group.permissions.set(Permission.objects.filter(codename="view_order"))
    agents.add_groups(apps, connection.schema_editor())
    assert group.permissions.count() == 1

"""Each property gets the keys by which it is matched, and one that is edited keeps its own."""

import importlib

from django.db import connection
from django.db.migrations.loader import MigrationLoader

from properties.drift.sweep import sweep
from properties.models import Property

FILLED = "0018_match_keys"
filling = importlib.import_module(f"properties.migrations.{FILLED}")


def document(number: int) -> dict:
    place = {"street": "Seestrasse", "streetNumber": str(number), "postalCode": "8002"}
    return {"address": place, "numberOfRooms": 3, "is24Id": f"is-{number}"}


def keys() -> list[tuple[str | None, ...]]:
    rows = Property.objects.order_by("pk")
    return list(rows.values_list("address_key", "is24_key", "unit_key"))


def test_an_upgrade_fills_the_keys_of_all_rows(workspace, monkeypatch):
    monkeypatch.setattr(filling, "TOGETHER", 3)
    for number in range(8):
        Property.objects.create(workspace=workspace, desired=document(number))
    Property.objects.create(workspace=workspace, desired={})
    Property.objects.update(address_key=None, is24_key=None, unit_key=None)
    filling.fill(MigrationLoader(connection).project_state(("properties", FILLED)).apps, None)
    wanted = [(f"seestr{n}|8002|3", f"is{n}", None) for n in range(8)]
    assert keys() == [*wanted, (None, None, None)]


def test_a_repetition_changes_nothing_and_the_sweep_writes_what_is_missing(workspace):
    for number in range(2):
        Property.objects.create(workspace=workspace, desired=document(number))
    apps = MigrationLoader(connection).project_state(("properties", FILLED)).apps
    before = keys()
    filling.fill(apps, None)
    assert keys() == before
    Property.objects.update(address_key=None, is24_key="odd")
    list(sweep(workspace))
    assert keys() == before

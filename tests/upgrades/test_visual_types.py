"""The lines of a timeline about materials hold product and visual type as two values."""

import importlib

import pytest
from django.apps import apps

from orders.models import StatusChange
from tests.orders.admin_rows import make_assignment, make_order, note

pytestmark = pytest.mark.django_db


def test_two_words_become_two_values_and_go_back_and_nothing_else_changes(main):
    order = make_order(main)
    assignment = make_assignment(order)
    for minutes, text in enumerate(["GROUND_PHOTO POST", "GROUND_PHOTO", "Any 3D tour", ""]):
        note(order, text, fact="MATERIALS", assignment=assignment, minutes=minutes)
    note(order, "Call them", fact="ACTION", assignment=assignment)
    lines = StatusChange.objects.order_by("pk").values_list("new", "new_name")
    before = list(lines.all())
    module = importlib.import_module("orders.migrations.0007_visual_types")
    for _ in range(2):
        module.apart(apps, None)
        assert list(lines.all()) == [("GROUND_PHOTO", "POST"), *before[1:]]
    module.together(apps, None)
    assert list(lines.all()) == before

"""What is kept of a release is an installation with rows in each table."""

import os

import pytest
from django.core.management import call_command
from django.db import connection

from tests.upgrades.dumps import Dump, tables_of_ours
from tests.upgrades.filling import fill


@pytest.mark.django_db(transaction=True)
def test_a_filled_installation_has_rows_in_each_table(
    day, workspace, box, drain_all, settings, tmp_path, boss
):
    settings.MATERIALS_DOWNLOAD = True
    fill(workspace, box, drain_all, tmp_path, boss)
    assert [model for model in tables_of_ours() if not model._base_manager.exists()] == []
    call_command("audit")
    if release := os.environ.get("RELEASE"):  # python -m tests.upgrades
        Dump(release, connection.vendor).write(box, tmp_path)

"""The command that reads the materials of an order and of its property, and lists them."""

import json
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command

from tests.conftest import PLATFORM
from tests.orders.conftest import now
from tests.orders.test_lost_materials import refuse
from tests.orders.test_materials import there
from tests.platforms import Between


def test_the_command_reads_what_was_delivered_and_generated_and_lists_it(
    box, ended, workspace, capsys
):
    box.marketing_ready("201", "LINKEDIN")
    there(box, ended).append(there(box, ended)[0] | {"id": "late-1"})
    box.deliver()
    call_command("list_materials", workspace.slug, ended.platform_id, "--json")
    document = json.loads(capsys.readouterr().out)
    assert document["order"] == ended.platform_id
    listed = {
        (one["visualType"] or one["targetPlatform"]): len(one["materials"])
        for one in document["sets"]
    }
    assert listed == {"POST": 2, "POST_WEB": 1, "REAL_ESTATE_BROCHURE": 1, "LINKEDIN": 1}
    call_command("list_materials", workspace.slug, ended.platform_id)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    assert lines[0].startswith("GROUND_PHOTO POST_WEB  ground-photo-1.png  http")


def test_the_command_says_which_list_was_not_read(box, ended, workspace, capsys):
    Between(box, PLATFORM).before = refuse("500 Broken", path="marketing")
    with pytest.raises(CommandError, match=r"^marketing materials: .*500") as error:
        call_command("list_materials", workspace.slug, ended.platform_id)
    assert error.value.returncode == 3
    assert len(capsys.readouterr().out.splitlines()) == 3  # what is known is listed


def test_the_command_says_that_nothing_can_be_read_while_the_workspace_waits(
    ended, workspace, box, capsys
):
    type(workspace).objects.update(paused_until=now() + timedelta(minutes=1))
    box.calls.clear()
    with pytest.raises(CommandError, match="marketing materials: not read yet") as error:
        call_command("list_materials", workspace.slug, ended.platform_id)
    assert (error.value.returncode, list(box.calls)) == (3, [])
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_the_command_names_an_order_that_is_not_known(workspace):
    with pytest.raises(CommandError, match="no order '7' is known in workspace main") as error:
        call_command("list_materials", workspace.slug, "7")
    assert error.value.returncode == 2

"""What the platform generated for a property stands on its page and in a command (§4.5, A40)."""

import json
from io import StringIO

import pytest
from django.contrib.auth.models import Permission, User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils.timezone import now

from crm_sync import hooks
from crm_sync.work import turn
from orders.models import Material, MaterialSet
from tests.orders.test_events import hear
from tests.together import crossing

pytestmark = pytest.mark.django_db


@pytest.fixture
def generated(box, home, drain_all):
    box.marketing_ready("201", "LINKEDIN")
    box.marketing_ready("201", "INSTAGRAM")
    hear(box, drain_all)
    return list(Material.objects.order_by("target_platform"))


@pytest.mark.rule("S23")
@pytest.mark.django_db(transaction=True)
def test_a_person_who_is_forgotten_while_the_list_is_read_does_not_come_back(box, home, drain_all):
    box.marketing_ready("201", "LINKEDIN")
    box.workspace.marketing["201"][0]["fileName"] = "Anna Schmidt.png"
    hear(box, drain_all)
    assert Material.objects.get().file_name == "Anna Schmidt.png"
    MaterialSet.objects.update(due_at=now())
    crossing(
        lambda: turn.take(hooks.queue("materials"), home.workspace_id, seconds=20.0),
        lambda: call_command("forget_person", "Anna Schmidt", stdout=StringIO()),
        at='INSERT INTO "orders_material" ',
    )
    assert Material.objects.get().file_name == "[forgotten].png"


def page(client: Client, home) -> str:
    return client.get(f"/admin/properties/property/{home.pk}/change/").content.decode()


def test_the_page_of_a_property_shows_them_by_target_platform(boss, home, generated):
    text = page(boss, home)
    instagram, linkedin = generated
    assert 'id="marketing-group"' in text
    assert 0 < text.index("<h3>Instagram ") < text.index("<h3>Linkedin ")
    assert f'href="{instagram.url}"' in text
    assert f'href="{linkedin.url}"' in text


def test_a_property_without_any_has_no_such_tab(boss, home):
    assert "marketing-group" not in page(boss, home)


def test_a_set_that_was_announced_before_we_knew_the_property_is_shown(boss, home, generated):
    MaterialSet.objects.update(real_estate_property=None)
    assert "marketing-group" in page(boss, home)


def test_who_may_not_see_orders_does_not_see_them(home, generated):
    agent = User.objects.create_user("agent", is_staff=True)
    agent.user_permissions.add(Permission.objects.get(codename="view_property"))
    home.workspace.people.add(agent)
    client = Client()
    client.force_login(agent)
    assert "marketing-group" not in page(client, home)
    agent.user_permissions.add(Permission.objects.get(codename="view_order"))
    assert "marketing-group" in page(client, home)


@pytest.mark.parametrize("name", ["SEED-1", "201"])
def test_the_command_lists_them_by_reference_or_id(home, generated, capsys, name):
    call_command("list_marketing_materials", home.workspace.slug, name, "--json")
    document = json.loads(capsys.readouterr().out)
    assert [one["targetPlatform"] for one in document["sets"]] == ["INSTAGRAM", "LINKEDIN"]
    urls = [material["url"] for one in document["sets"] for material in one["materials"]]
    assert urls == [one.url for one in generated]
    call_command("list_marketing_materials", home.workspace.slug, name)
    assert [line.split("  ")[2] for line in capsys.readouterr().out.splitlines()] == urls


def test_the_command_names_a_property_that_is_not_known(home, capsys):
    with pytest.raises(CommandError, match="no property 'X' is known") as error:
        call_command("list_marketing_materials", home.workspace.slug, "X")
    assert error.value.returncode == 2
    call_command("list_marketing_materials", home.workspace.slug, "SEED-1")
    assert capsys.readouterr().out == "none so far\n"

"""The screens of users and groups show only what means something to whoever decides (S17)."""

import json
import re

import pytest
from django.contrib.auth.models import Group, Permission
from django.utils.safestring import mark_safe

from crm_sync.templatetags.slim import slim
from crm_sync.text import capitalized
from tests.crm_sync.admin_pages import client_of

pytestmark = [pytest.mark.django_db, pytest.mark.once]


def test_the_form_of_a_group_offers_only_permissions_that_a_screen_asks_for():
    page = client_of(superuser=True).get("/admin/auth/group/add/").content.decode()
    assert "Platform | workspace | Can see every workspace" in page
    assert "Orders | order | Can view order" in page
    assert "| ring |" not in page


def test_the_deletion_of_a_group_does_not_list_its_links():
    group = Group.objects.create(name="New")
    group.permissions.set(Permission.objects.all()[:3])
    client = client_of(superuser=True)
    address = f"/admin/auth/group/{group.pk}/delete/"
    assert "relationship" not in client.get(address).content.decode()
    assert client.post(address, {"post": "yes"}).status_code == 302
    assert not Group.objects.filter(name="New").exists()


@pytest.mark.parametrize(
    ("language", "available", "chosen"),
    [
        ("de", "Verfügbare %s", "Ausgewählte %s"),
        ("fr", "Disponibles\xa0: %s", "Sélection\xa0: %s"),
        ("it", "Disponibili: %s", "Selezione: %s"),
    ],
)
def test_what_can_be_chosen_is_named_without_a_gender(language, available, chosen):
    """The words of Django are masculine: "persone scelti"."""
    script = client_of(superuser=True).get("/admin/jsi18n/", headers={"Accept-Language": language})
    said = json.loads(re.search(r"const newcatalog = (\{.*?\});", script.text, re.DOTALL)[1])
    assert (said["Available %s"], said["Chosen %s"]) == (available, chosen)


@pytest.mark.parametrize("name", ["état", "state", "État", "Ästhetik", "über"])
def test_the_title_of_a_cell_begins_with_a_capital_in_each_language(name):
    cell = slim(mark_safe(f'<td class="x" data-label="{name}">état</td>'))
    assert cell == f'<td class="x" data-label="{capitalized(name)}">état</td>'

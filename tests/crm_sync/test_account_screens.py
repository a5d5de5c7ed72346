"""The screens of users and groups show only what means something to whoever decides (S17)."""

import pytest
from django.contrib.auth.models import Group, Permission

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

"""The one workspace is chosen in every form; among several, a person chooses."""

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import NoReverseMatch, reverse

from tests.crm_sync.admin_pages import client_of, make_workspace

pytestmark = [pytest.mark.django_db, pytest.mark.once]
INVITATION = "/admin/auth/user/invite/"
FORMS = {
    "/admin/crm_sync/apitoken/add/",
    "/admin/crm_sync/subscription/add/",
    "/admin/orders/target/add/",
    "/admin/properties/import/add/",
    "/admin/properties/property/add/",
    "/admin/properties/sender/add/",
}


def asking(client: Client) -> dict[str, str]:
    """Return the input of the workspace of each form that adds something, by its address."""
    found = {}
    for model in admin.site._registry:
        try:
            address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_add")
        except NoReverseMatch:
            continue
        context = client.get(address).context
        known = [context.get("form"), context.get("adminform")] if context else []
        forms = [getattr(one, "form", one) for one in known]
        for form in forms:
            if "workspace" in getattr(form, "fields", ()):
                found[address] = str(form["workspace"])
    return found


@pytest.mark.parametrize("count", [1, 2])
def test_the_one_workspace_is_chosen_in_every_form(count):
    for n in range(count):
        make_workspace(f"main-{n}")
    client = client_of(superuser=True)
    found = asking(client)
    assert set(found) == FORMS
    free = {address for address, html in found.items() if '<option value=""' in html}
    assert free == (set() if count == 1 else FORMS)
    chosen = client.get(INVITATION).context["form"]["workspaces"].value()
    assert (chosen is not None) == (count == 1)

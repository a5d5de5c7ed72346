"""An operator makes a token, and a programmer reads what the API does, both from here alone."""

import pytest
import requests
from django.urls import reverse

from crm_sync.models import ApiToken
from tests.browser.test_admin import stock  # noqa: F401 - a fixture

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_token_is_made_shown_once_used_and_revoked(visit, stock):  # noqa: F811
    window = visit()
    page = window.log_in()
    page.goto(reverse("admin:crm_sync_apitoken_changelist"))
    page.goto(reverse("admin:crm_sync_apitoken_add"))
    page.select_option("[name=workspace]", label="main")
    page.fill("[name=name]", "The agency's CRM")
    page.get_by_role("button", name="Create the token").click()
    page.get_by_text("Choose what the program may do.").wait_for()
    page.get_by_label("It may: Read properties, their state and history").check()
    page.get_by_role("button", name="Create the token").click()
    token = page.locator("pre").inner_text()
    where = f"{window.address}/api/v1/properties"
    headers = {"Authorization": f"Bearer {token}"}
    assert requests.get(where, headers=headers, timeout=30).status_code == 200
    assert requests.put(f"{where}/A", headers=headers, json={}, timeout=30).status_code == 403
    with page.expect_navigation():
        page.get_by_role("link", name="I have saved it").click()
    assert token not in page.content()
    with page.expect_navigation():
        page.get_by_role("link", name="The agency's CRM").click()
    assert token not in page.content()
    page.get_by_role("button", name="Revoke").click()
    page.get_by_text("Its program is refused from now on.").wait_for()
    assert ApiToken.objects.get().revoked_at is not None
    assert requests.get(where, headers=headers, timeout=30).status_code == 401
    assert (window.foreign, window.errors) == ([], [])


def test_the_page_that_describes_the_api_works_without_any_other_host(visit):
    window = visit()
    window.page.goto("/api/v1/docs/")
    window.page.get_by_text("/properties/{reference}/placements").wait_for()
    window.page.locator("#operations-properties-properties_put").click()
    window.page.get_by_text("Create or replace a property").first.wait_for()
    assert (window.foreign, window.errors) == ([], [])

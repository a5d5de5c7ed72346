"""Pausing, resuming and the first plan, by mouse, as a person does it (I34)."""

from datetime import UTC, datetime

import pytest

from crm_sync import connecting
from crm_sync.connecting import Given
from crm_sync.models import Hold, Workspace
from tests.browser.conftest import picture
from tests.browser.test_accessibility import violations
from tests.crm_sync.admin_pages import make_workspace

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def held() -> list[str]:
    rows = Hold.objects.active(datetime.now(UTC)).order_by("pk")
    return list(rows.values_list("kind", flat=True))


def tab(workspace: Workspace) -> str:
    return f"/admin/crm_sync/workspace/{workspace.pk}/pause/"


@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_person_pauses_a_kind_sees_the_banner_everywhere_and_resumes(visit, width, theme):
    workspace = make_workspace()
    window = visit(width=width, theme=theme)
    page = window.log_in()
    page.goto(tab(workspace))
    picture(page, f"pause-form-{width}-{theme}")
    for kind in ("imports", "files", "messages"):
        page.locator(f"input[name=kinds][value={kind}]").uncheck()
    page.get_by_label("Reason").fill("The feed has wrong prices")
    page.get_by_role("button", name="Pause", exact=True).click()
    page.get_by_role("button", name="Resume changes and orders").wait_for()
    assert held() == ["pushes", "orders"]
    found = violations(page)
    picture(page, f"pause-held-{width}-{theme}")
    page.goto("/admin/properties/property/")
    page.get_by_text("Changes and orders of main: held by").wait_for()
    found += violations(page)
    picture(page, f"pause-banner-{width}-{theme}")
    page.get_by_role("link", name="Resume it on the tab Pause.").click()
    page.get_by_role("button", name="Resume changes and orders").click()
    page.get_by_text("Resumed: changes and orders.").wait_for()
    picture(page, f"pause-history-{width}-{theme}")
    assert (held(), found, window.errors, window.foreign) == ([], [], [], [])
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("width", [1400, 390])
def test_a_person_sees_the_first_plan_and_says_go_in_two_clicks(visit, width):
    given = Given("live", "https://platform.example", "token")
    workspace, _ = connecting.store(given, now=datetime.now(UTC))
    window = visit(width=width)
    page = window.log_in()
    page.goto("/admin/")
    page.get_by_role("link", name="See the plan, and say go.").click()
    page.wait_for_url(f"**{tab(workspace)}")
    page.get_by_role("cell", name="Properties to create").wait_for()
    found = violations(page)
    picture(page, f"pause-plan-{width}")
    page.get_by_role("button", name="Go: send this").click()
    page.get_by_text("Watch only has ended").wait_for()
    assert (held(), found, window.errors) == ([], [], [])

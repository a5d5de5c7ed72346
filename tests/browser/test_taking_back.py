"""Taking an import back, and undoing what a person changed, by mouse, counted in clicks."""

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from properties.domain import undo_steps
from properties.domain.editing import edit
from properties.models import Import, Property, Undo
from tests.browser.test_accessibility import violations
from tests.browser.test_pause import picture
from tests.crm_sync.admin_pages import make_workspace
from tests.properties.form_page import make
from tests.properties.uploaded import table, upload, work

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def take_undos():
    """Let a worker do all undos."""
    return lambda: undo_steps.finish(Undo.objects.latest("pk"))


@pytest.fixture
def imported(visit, settings, tmp_path) -> Import:
    """An import that changed four properties, of which somebody has edited one since."""
    settings.DATA_DIR = tmp_path
    workspace = make_workspace()
    address = {"street": "Seestrasse 12", "postalCode": "8001", "locality": "Zürich"}
    for n in range(4):
        make(workspace, f"A{n}", title=f"Flat {n}", address=address)
    anna = User.objects.create(username="anna", is_staff=True)
    references = [f"A{n}" for n in range(5)]
    row = upload(workspace, anna, table(references), released=True)
    while Import.objects.get(pk=row.pk).ended_at is None:
        work(row)
    one = Property.objects.get(object_reference_id="A3")
    edit(one, {"title": "Villa"}, origin="ADMIN", actor=anna, now=timezone.now())
    return row


def titles() -> dict[str, str]:
    return dict(Property.objects.values_list("object_reference_id", "title"))


@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_an_import_is_taken_back_in_four_clicks(visit, imported, take_undos, width, theme):
    window = visit(width=width, theme=theme)
    page = window.log_in()
    page.goto("/admin/properties/import/")
    page.get_by_role("link", name="stock.csv").click()
    page.get_by_role("link", name="Take it back…").click()
    page.get_by_text("Changed since by anna").wait_for()
    found = violations(page)
    picture(page, f"undo-plan-{width}-{theme}")
    page.get_by_role("button", name="Undo them now").click()
    page.get_by_text("A worker does it").wait_for()
    take_undos()
    page.get_by_text("All was handled.").wait_for()
    found += violations(page)
    picture(page, f"undo-done-{width}-{theme}")
    assert titles() == {"A0": "Flat 0", "A1": "Flat 1", "A2": "Flat 2", "A3": "Villa"}
    page.get_by_role("link", name="Its changes").click()
    page.get_by_role("link", name="Undo these…").wait_for()
    page.goto("/admin/properties/import/")
    page.get_by_role("link", name="stock.csv").click()
    page.get_by_text("Taken back by agent").wait_for()
    assert page.get_by_role("link", name="Take it back…").count() == 1  # Villa was kept
    page.goto("/admin/properties/property/changes/")
    found += violations(page)
    picture(page, f"what-changed-{width}-{theme}")
    assert (found, window.errors, window.foreign) == ([], [], [])
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_what_a_person_changed_is_undone_from_the_page_of_all_changes(visit, imported, take_undos):
    page = visit().log_in()
    page.goto("/admin/properties/property/changes/")
    page.get_by_label("Person").select_option("anna")
    page.get_by_role("button", name="Show").click()
    page.get_by_role("link", name="Undo these…").click()
    page.get_by_role("button", name="Undo them now").click()
    page.get_by_text("A worker does it").wait_for()
    take_undos()
    page.get_by_text("All was handled.").wait_for()
    assert titles()["A3"] == "House A3"

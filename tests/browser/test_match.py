"""An office connects, imports, matches, picks, links and says go: nothing is there twice (I36)."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from crm_sync import connecting, hooks
from crm_sync.connecting import Given
from crm_sync.models import Hold, Workspace
from crm_sync.platform import transport
from crm_sync.work import turn
from properties.domain.editing import due_now
from properties.imports import job
from properties.models import Import, Property
from properties.pull.walk import pull
from tests.browser.conftest import picture
from tests.browser.test_accessibility import violations
from tests.conftest import PLATFORM, TOKEN
from tests.properties.uploaded import PACE, claim

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LIVE = "https://live.example"
HEAD = (
    "objectReferenceId,title,address.street,address.streetNumber,address.postalCode,"
    "address.locality,numberOfRooms"
)


def there(box, key: str, number: int, title: str, **more) -> None:
    place = {"street": "Seestrasse", "streetNumber": str(number), "postalCode": "8002"}
    box.workspace.properties[key] = {
        "id": key,
        "objectReferenceId": f"HAND-{key}",
        "title": title,
        "address": place | {"locality": "Zürich"},
        "numberOfRooms": 3.5,
    } | more


@pytest.fixture
def office(box, settings, tmp_path) -> Workspace:
    """Return a workspace in watch only; people made eight properties on its platform by hand."""
    settings.DATA_DIR = tmp_path
    transport.MOUNTS[LIVE] = transport.MOUNTS[PLATFORM]
    box.workspace.properties.clear()
    for number in range(1, 6):
        there(box, f"80{number}", number, f"House {number}, by hand")
    there(box, "806", 6, "Second floor", floor=2)
    there(box, "807", 6, "Third floor", floor=3)
    there(box, "808", 8, "Only on the platform")
    workspace, _ = connecting.store(Given("office", LIVE, TOKEN), now=datetime.now(UTC))
    return workspace


def push_all(workspace: Workspace) -> None:
    due_now(Property.objects.all())
    while turn.take(hooks.queue("properties"), workspace.pk, seconds=5.0).counts:
        pass


def import_all() -> None:
    row = Import.objects.get()
    while Import.objects.get().state in Import.UNDER_WAY:
        job.work(claim(row), until=float("inf"), limits=PACE)


def hand_in(page, tmp_path: Path) -> None:
    lines = [f"CRM-{n},House {n},Seestr.,{n},8002,Zuerich,3.5" for n in (1, 2, 3, 4, 5, 6, 9)]
    feed = tmp_path / "stock.csv"
    feed.write_text("\n".join([HEAD, *lines]))
    page.goto("/admin/properties/import/add/")
    page.set_input_files("[name=file]", feed)
    page.get_by_role("button", name="Upload", exact=True).click()
    page.wait_for_selector("text=A worker looks at the file")


@pytest.mark.rule("I36")
@pytest.mark.parametrize(
    ("width", "theme"), [(1400, "light"), (390, "light"), (1400, "dark"), (390, "dark")]
)
def test_an_office_connects_imports_matches_and_says_go_and_the_platform_has_no_double(
    visit, box, office, tmp_path, width, theme
):
    list(pull(office))
    push_all(office)
    window = visit(width=width, theme=theme)
    page, found = window.log_in(), []
    tab = f"/admin/properties/property/match/{office.pk}/"

    def look(name: str) -> None:
        found.extend(violations(page))
        picture(page, f"match-{name}-{width}-{theme}")
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")

    page.goto(tab)
    page.get_by_role("heading", name="Only on the platform").wait_for()
    look("before")
    hand_in(page, tmp_path)
    import_all()
    page.get_by_text("6 new records look like a property").wait_for()
    look("import")
    page.get_by_role("button", name="Import", exact=True).click()
    works = page.get_by_text("This page follows by itself")
    works.wait_for()
    import_all()
    works.wait_for(state="hidden")  # by itself the page goes to the result
    push_all(office)
    page.goto(f"/admin/crm_sync/workspace/{office.pk}/pause/")
    look("plan")
    page.get_by_role("link", name="Open the tab Match").click()
    page.get_by_role("button", name="Link all 5 pairs").wait_for()
    look("pairs")
    page.get_by_label("Where both have a value").select_option("crm_wins")
    page.get_by_role("button", name="Link all 5 pairs").click()
    page.get_by_text("Linked by address with rooms: 5 properties.").wait_for()
    page.get_by_role("combobox", name="What CRM-6 is on the platform").wait_for()
    look("ambiguous")
    page.get_by_role("combobox", name="What CRM-6 is on the platform").select_option(
        label="HAND-807: Third floor"
    )
    page.get_by_label("Where both have a value").select_option("crm_wins")
    page.get_by_role("button", name="Save these choices").click()
    page.get_by_text("Linked by choice: 1 property.").wait_for()
    look("rest")
    page.goto(f"/admin/crm_sync/workspace/{office.pk}/pause/")
    page.get_by_role("button", name="Go: send this").click()
    page.get_by_text("Watch only has ended").wait_for()
    push_all(office)
    now = {key: one["objectReferenceId"] for key, one in box.workspace.properties.items()}
    (created,) = now.keys() - {f"80{n}" for n in range(1, 9)}
    assert now == {
        **{f"80{n}": f"CRM-{n}" for n in range(1, 6)},
        **{"806": "HAND-806", "807": "CRM-6", "808": "HAND-808", created: "CRM-9"},
    }
    titles = {one["objectReferenceId"]: one["title"] for one in box.workspace.properties.values()}
    assert (titles["CRM-1"], titles["CRM-6"], titles["CRM-9"]) == ("House 1", "House 6", "House 9")
    assert box.workspace.properties["807"]["floor"] == 3
    assert not Hold.objects.filter(ended_at=None).exists()
    page.goto(tab)
    look("after")
    assert (found, window.errors, window.foreign) == ([], [], [])

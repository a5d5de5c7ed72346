"""The pictures of README and the guides of agents: `DOCS_IMAGES=docs/images` writes them anew."""

import os
from datetime import datetime, time, timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from crm_sync.models import Gap, ReceivedEvent
from orders.models import Assignment, Order, PersonSettings, Placement
from properties.models import Property
from tests.browser.test_admin import stock  # noqa: F401
from tests.crm_sync.admin_pages import let_processes_run

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PLACES = {"en": "", "de": "de", "fr": "fr"}  # in which folder those of a language are
PHOTOGRAPHER = {"name": "Ann Lee", "phone": "+41 31 555 01 01"}


@pytest.fixture
def day(stock, box, drain_all) -> None:  # noqa: F811
    """Let it be a day with all processes running, appointments, a draft and an answer to give."""
    let_processes_run(timezone.now() + timedelta(minutes=1))  # for as long as the pictures take
    ReceivedEvent.objects.filter(state=ReceivedEvent.State.QUARANTINED).delete()
    Gap.objects.update(acknowledged_at=timezone.now())
    morning = datetime.combine(timezone.localdate(), time(9), timezone.get_current_timezone())
    homes = list(Property.objects.order_by("object_reference_id"))
    for index, hours in enumerate((0, 5, 25, 30, 49)):
        home = homes[index % len(homes)]
        order = Order.objects.create(
            workspace=stock,
            platform_id=str(1101 + index),
            object_reference_id=home.object_reference_id,
            real_estate_property=home,
            status="IN_PROGRESS",
        )
        needs = {"status": "SCHEDULED", "scheduled_at": morning + timedelta(hours=hours)}
        if index == 4:
            needs = {"status": "ACTION_REQUIRED", "action_required": "POWER_OF_ATTORNEY_REQUIRED"}
        Assignment.objects.create(
            workspace=stock,
            order=order,
            platform_id=f"a{index}",
            products=["GROUND_PHOTO", "FLOOR_PLAN"][: 1 + index % 2],
            photographer=PHOTOGRAPHER,
            status_at=timezone.now() - timedelta(hours=2),
            **needs,
        )
    for _ in range(6):
        box.step()
        box.deliver()
        drain_all()


@pytest.mark.parametrize("language", PLACES)
def test_the_pictures_of_the_documents(visit, day, tmp_path, language):
    folder = Path(os.environ.get("DOCS_IMAGES", tmp_path)) / PLACES[language]
    window = visit()
    page = window.log_in()
    me, home = User.objects.get(), Property.objects.get(object_reference_id="MH-1002")
    PersonSettings.objects.create(
        person=me, only_mine=False, language=language, seen_until=timezone.now()
    )
    Placement.objects.create(
        workspace=home.workspace,
        created_by=me,
        object_reference_id="MH-1002",
        real_estate_property=home,
    )
    order = Order.objects.get(platform_id="1007")
    for name, height, address in (
        ("overview", 1000, reverse("admin:index")),
        ("properties", 900, reverse("admin:properties_property_changelist")),
        ("property", 900, reverse("admin:properties_property_change", args=[home.pk])),
        ("order", 1000, reverse("admin:orders_order_change", args=[order.pk])),
        ("calendar", 900, reverse("admin:orders_order_calendar")),
    ):
        page.set_viewport_size({"width": 1400, "height": height})
        page.goto(address)
        page.wait_for_load_state("networkidle")
        assert page.get_attribute("html", "lang") == language
        page.screenshot(path=folder / f"{name}.png")
    assert (window.errors, window.foreign) == ([], [])
    assert {one.stem for one in folder.glob("*.png")} >= {"overview", "properties", "calendar"}

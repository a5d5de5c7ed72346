"""The overview proposes the zone of the browser once, until the person takes or dismisses it."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from orders.models import PersonSettings
from tests.crm_sync.admin_pages import client_of, make_workspace
from tests.orders.test_calendar import MAY

pytestmark = pytest.mark.django_db
ANSWER = reverse("admin:orders_personsettings_zone")
MINE = reverse("admin:orders_personsettings_mine")


@pytest.fixture(autouse=True)
def in_utc(settings) -> None:
    settings.TIME_ZONE = "UTC"
    make_workspace()


def is_proposed(client: Client) -> bool:
    return 'data-zone="UTC" hidden' in client.get("/admin/").content.decode()


def test_the_zone_that_is_taken_is_that_of_all_pages_and_is_not_proposed_again():
    client, other = client_of(MAY), client_of(MAY)
    assert is_proposed(client)
    text = client.post(
        ANSWER, {"do": "use", "time_zone": "Europe/Zurich"}, follow=True
    ).content.decode()
    assert "All times are shown in Europe/Zurich now." in text
    assert not is_proposed(client)
    mine = PersonSettings.objects.get()
    assert (mine.time_zone, mine.kinds, mine.due_at) == ("Europe/Zurich", [], None)
    assert is_proposed(other)


def test_what_was_dismissed_or_chosen_in_my_settings_is_not_proposed_again():
    dismissing, choosing = client_of(MAY), client_of(MAY)
    dismissing.post(ANSWER, {"do": "dismiss", "time_zone": "Europe/Zurich"})
    assert not is_proposed(dismissing)
    assert PersonSettings.objects.get().time_zone == ""
    choosing.post(MINE, {"only_mine": "mine", "time_zone": ""})
    assert not is_proposed(choosing)


@pytest.mark.parametrize("zone", ["", "Mars/Olympus", "../etc/passwd", "x" * 5_000])
def test_a_zone_that_cannot_be_chosen_is_refused(zone):
    client = client_of(MAY)
    text = client.post(ANSWER, {"do": "use", "time_zone": zone}, follow=True).content.decode()
    assert "This zone is not known here: choose one in My settings." in text
    assert not PersonSettings.objects.exists()


def test_a_look_or_a_stranger_changes_nothing():
    client_of(MAY).get(ANSWER, {"do": "use", "time_zone": "Europe/Zurich"})
    Client().post(ANSWER, {"do": "use", "time_zone": "Europe/Zurich"})
    assert not PersonSettings.objects.exists()
    assert User.objects.count() == 1

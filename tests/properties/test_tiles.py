"""The figures of the properties on the dashboard."""

import uuid
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from crm_sync.models import Workspace
from properties.admin.tiles import tiles
from properties.models import Property

pytestmark = pytest.mark.django_db


def make(reference: str, workspace: Workspace, **columns: object) -> None:
    Property.objects.create(
        workspace=workspace, object_reference_id=reference, **({"platform_id": reference} | columns)
    )


def shown() -> dict[str, int]:
    return {tile.title: tile.value for tile in tiles(User(is_superuser=True))}


def test_the_usual_states_are_always_shown_and_the_rare_ones_when_there_are_any():
    assert shown() == {"In sync": 0, "Pending": 0, "Conflict": 0, "Refused": 0}
    place = Workspace.objects.create(slug="main", base_url="https://platform.test")
    make("1", place)
    make("2", place, due_at=timezone.now())
    held = {"lease_token": uuid.uuid4(), "lease_until": timezone.now() + timedelta(hours=1)}
    make("3", place, due_at=timezone.now(), **held)
    make("4", place, platform_id=None)
    make("5", place, problem={"CONFLICT": {"title": "x"}})
    make("6", place, problem={"REFUSED": {"title": "x"}})
    make("7", place, problem={"DIFFERS": {"title": "x"}})
    make("8", place, problem={"CANNOT_CLEAR": {"title": "x"}})
    make("9", place, problem={"GONE": {"": "x"}})
    assert shown() == {
        "In sync": 1,
        "Pending": 2,
        "Not sent yet": 1,
        "Conflict": 1,
        "Refused": 1,
        "Reads back different": 1,
        "Cannot be cleared": 1,
        "Gone from the platform": 1,
    }


def test_two_queries_count_them_all_and_one_the_drift(django_assert_num_queries):
    with django_assert_num_queries(3):
        tiles(User(is_superuser=True))


def test_what_waits_for_a_person_stands_on_the_first_page_and_links_to_it(admin_client):
    place = Workspace.objects.create(slug="main", base_url="https://platform.test")
    make("fine", place)
    make("odd", place, problem={"CANNOT_CLEAR": {"title": "The platform keeps <b>it</b>"}})
    row = Property.objects.get(object_reference_id="odd")
    text = admin_client.get("/admin/").content.decode()
    assert "odd: Title: The platform keeps &lt;b&gt;it&lt;/b&gt;" in text
    assert f"/admin/properties/property/{row.pk}/change/" in text
    assert "Nothing waits for a person." not in text


def test_fields_that_wait_for_the_same_share_one_sentence(admin_client):
    place = Workspace.objects.create(slug="main", base_url="https://platform.test")
    why = "Both sides changed it"
    make("A-1", place, problem={"CONFLICT": {"title": why, "localizations": why}})
    assert "A-1: Title, Texts: Both sides changed it" in admin_client.get("/admin/").text

"""The figures of the properties on the dashboard."""

import uuid
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from crm_sync.admin.ui import paginator
from crm_sync.admin.ui.cells import moment
from crm_sync.models import Workspace
from properties.admin.tiles import attention, tiles
from properties.models import Change, Conflict, Property

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


def test_of_many_properties_the_tile_says_that_there_are_more(monkeypatch, admin_client):
    place = Workspace.objects.create(slug="main", base_url="https://platform.test")
    monkeypatch.setattr(paginator, "MOST", 3)
    for name in ("1", "2", "3"):
        make(name, place)
    make("4", place, problem={"CONFLICT": {"title": "x"}})
    in_sync, *_ = tiles(User(is_superuser=True))
    assert (in_sync.value, in_sync.shown) == (3, "3")
    make("5", place)
    in_sync, *_ = tiles(User(is_superuser=True))
    assert (in_sync.value, in_sync.shown) == (3, "3+")
    assert "<strong>3+</strong>" in admin_client.get("/admin/").text


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


def test_a_problem_is_as_old_as_what_it_comes_from_however_often_the_property_is_read():
    place, now = Workspace.objects.create(slug="main", base_url="https://a.test"), timezone.now()
    day = {n: now - timedelta(days=n) for n in range(1, 9)}
    refused = {"problem": {"REFUSED": {"title": "odd"}}, "read_at": now}
    make("conflict", place, problem={"CONFLICT": {"title": "x"}}, read_at=now, pushed_at=day[1])
    make("sent", place, **refused, pushed_at=day[2])
    make("changed", place, **refused, pushed_at=day[8])
    make("edited", place, **refused)
    make("gone", place, problem={"GONE": {"": "x"}}, read_at=day[6], pushed_at=day[7])
    make("nothing", place, **refused)
    row = {one.object_reference_id: one for one in Property.objects.all()}
    for decision, at in (("", day[5]), ("", day[4]), ("OURS", day[8])):
        one = {"real_estate_property": row["conflict"], "path": f"field{at.day}"}
        Conflict.objects.create(**one, decision=decision, created_at=at)
    for name, origin, at in (
        ("changed", "ADMIN", day[3]),
        ("changed", "PLATFORM", day[1]),
        ("edited", "FEED", day[4]),
        ("nothing", "PLATFORM", day[1]),
    ):
        Change.objects.create(real_estate_property=row[name], origin=origin, at=at, revision=1)
    found = attention(User(is_superuser=True), now)
    assert [str(one.text).partition(":")[0] for one in found] == [
        *("sent", "changed", "edited", "conflict", "gone", "nothing"),
    ]
    wanted = [moment(day[n], now) for n in (2, 3, 4, 5, 6)]
    assert [one.since for one in found] == [*wanted, ""]
    Property.objects.update(read_at=now + timedelta(hours=1))
    later = attention(User(is_superuser=True), now)
    assert [one.since for one in later if "gone" not in one.text] == [*wanted[:-1], ""]


def test_fields_that_wait_for_the_same_share_one_sentence(admin_client):
    place = Workspace.objects.create(slug="main", base_url="https://platform.test")
    why = "Both sides changed it"
    make("A-1", place, problem={"CONFLICT": {"title": why, "localizations": why}})
    assert "A-1: Title, Texts: Both sides changed it" in admin_client.get("/admin/").text

"""The scheduled sample: what it stores, what it repairs, and what people see of it."""

from datetime import timedelta

import pytest
import time_machine
from django.contrib.auth.models import User
from django.utils.timezone import now

from crm_sync.models import Workspace
from crm_sync.platform.errors import ErrorKind
from crm_sync.tasks import clear_deliveries
from properties.admin.tiles import tiles
from properties.domain.editing import create, edit
from properties.drift.sample import take_sample
from properties.models import DriftCheck, Property, Recurring
from tests.conftest import PLATFORM
from tests.crm_sync.admin_pages import CANARY, ESCAPED, client_of, queries_of
from tests.platforms import Between
from tests.properties.recurring import Kind, row_of, take

LIST = "/admin/properties/driftcheck/"


@pytest.fixture
def stock(box, workspace, drain_all) -> list[Property]:
    """Return four properties that are in step."""
    box.workspace.properties.clear()
    for number in range(1, 5):
        create(workspace, f"R-{number}", {"title": f"{number}"}, origin="ADMIN", now=now())
    drain_all()
    box.calls.clear()
    return list(Property.objects.order_by("pk"))


def sample(workspace: Workspace) -> dict[str, int]:
    return take(Kind.SAMPLE, workspace)


def drift_tile():
    return next((tile for tile in tiles(User(is_superuser=True)) if tile.title == "Drift"), None)


def test_a_sample_counts_what_differs_and_makes_due_what_nothing_explains(
    box, workspace, stock, drain_all
):
    box.edit_property(stock[0].platform_id, {"title": "Theirs", "numberOfRooms": 3})
    edit(stock[1], {"title": "On its way"}, origin="ADMIN", now=now())
    Property.objects.update(due_at=None)
    Property.objects.filter(pk=stock[1].pk).update(due_at=now() + timedelta(hours=1))
    assert sample(workspace) == {"done": 1}
    check = DriftCheck.objects.get()
    assert (check.kind, check.compared, check.differing) == ("SAMPLE", 4, 2)
    assert (check.unexplained, check.pending, check.blocked, check.gone) == (1, 1, 0, 0)
    assert check.fields == {"title": 2, "numberOfRooms": 1}
    assert check.found == [
        {
            **{"pk": stock[0].pk, "reference": "R-1", "verdict": "unexplained", "gone": False},
            **{"fields": ["numberOfRooms", "title"], "error": ""},
        },
        {
            **{"pk": stock[1].pk, "reference": "R-2", "verdict": "pending", "gone": False},
            **{"fields": ["title"], "error": ""},
        },
    ]
    assert drain_all() == {"properties": {"in sync": 1}}
    assert Property.objects.get(pk=stock[0].pk).desired["title"] == "Theirs"


def test_it_reads_no_more_than_its_size_and_writes_nothing_there(box, workspace, stock):
    check = take_sample(workspace, is_over=lambda: False, size=3)
    assert check.compared == 3
    assert [call[0] for call in box.calls] == ["GET"] * 3


def test_it_ends_with_its_time_and_says_so(box, workspace, stock):
    check = take_sample(workspace, is_over=lambda: True)
    assert (check.compared, check.stopped) == (1, "the time of one run was up")


def test_a_platform_that_fails_ends_it_and_the_page_explains_why(box, workspace, stock):
    canned = iter([None])
    Between(box, PLATFORM).before = lambda _: next(canned, ("503 Gone", [], b""))
    check = take_sample(workspace, is_over=lambda: False)
    check.refresh_from_db()
    assert (check.compared, check.stopped.kind) == (1, ErrorKind.DOWN)
    page = client_of(superuser=True).get(f"{LIST}{check.pk}/change/").content.decode()
    assert "Ended before time: The platform is out of order at the moment." in page


def test_a_property_that_the_platform_refuses_to_read_is_explained(box, workspace, stock):
    canned = iter([("400 Bad Request", [("Content-Type", "text/plain")], b"never read it")])
    Between(box, PLATFORM).before = lambda _: next(canned, None)
    check = take_sample(workspace, is_over=lambda: False)
    page = client_of(superuser=True).get(f"{LIST}{check.pk}/change/").content.decode()
    assert (check.compared, check.failed) == (3, 1)
    assert "The platform refused it: never read it." in page


def test_it_runs_once_an_hour_and_in_each_workspace(box, workspace, stock):
    empty = Workspace.objects.create(slug="empty", base_url=PLATFORM, fixed_token="test-token")
    for one in (empty, workspace):
        assert sample(one) == {"done": 1}
        assert sample(one) == {}
    with time_machine.travel(now() + timedelta(minutes=61), tick=True):
        assert sample(empty) == {"done": 1}
        assert sample(workspace) == {"done": 1}
    found = DriftCheck.objects.order_by("pk").values_list("workspace__slug", "compared")
    assert list(found) == [("empty", 0), ("main", 4)] * 2


def test_a_platform_that_is_busy_pauses_everybody_and_nothing_is_stored(box, workspace, stock):
    between = Between(box, PLATFORM)
    between.before = lambda _: ("429 Too Many Requests", [("Retry-After", "90")], b"")
    assert sample(workspace) == {"put off": 1}
    assert "429" in row_of(Kind.SAMPLE, workspace).problem
    Recurring.objects.update(due_at=now())
    assert sample(workspace) == {}
    assert not DriftCheck.objects.exists()


def test_checks_of_more_than_ninety_days_ago_are_deleted(box, workspace, stock):
    sample(workspace)
    with time_machine.travel(now() + timedelta(days=89), tick=True):
        sample(workspace)
    with time_machine.travel(now() + timedelta(days=91), tick=True):
        sample(workspace)
        assert clear_deliveries() == {"checks for drift": 1, "changes": 8}
    assert DriftCheck.objects.count() == 2


def test_the_tile_says_how_many_of_how_many_differ_and_where(box, workspace, stock):
    assert drift_tile() is None
    sample(workspace)
    tile = drift_tile()
    assert (tile.value, tile.tone) == (0, "info")
    assert tile.hint.startswith("of 4 differ from the platform, ")
    box.edit_property(stock[0].platform_id, {"title": "Theirs", "numberOfRooms": 3})
    with time_machine.travel(now() + timedelta(minutes=61), tick=True):
        sample(workspace)
    with time_machine.travel(now() + timedelta(minutes=71), tick=True):
        tile = drift_tile()
    assert (tile.value, tile.tone) == (1, "warning")
    assert tile.hint == (
        "of 4 differ from the platform, 10 min ago; 1 unexplained; in Number of rooms, Title"
    )
    assert tile.link == f"{LIST}?kind__exact=SAMPLE"


def test_the_pages_show_what_was_found_and_lead_to_it(box, workspace, stock):
    sample(workspace)
    check = DriftCheck.objects.get()
    found = {"pk": stock[0].pk, "reference": CANARY, "verdict": "unexplained", "gone": False}
    DriftCheck.objects.update(
        unexplained=1,
        differing=1,
        fields={"title": 1, CANARY: 1},
        found=[found | {"fields": ["title"], "error": ""}],
        stopped=CANARY,
    )
    viewer = client_of("properties.view_driftcheck")
    page = viewer.get(f"{LIST}{check.pk}/change/").content.decode()
    assert f'<a class="cs-link" href="/admin/properties/property/{stock[0].pk}/change/">' in page
    for text in (page, viewer.get(LIST).content.decode()):
        assert CANARY not in text
        assert "1 unexplained" in text
    assert ESCAPED in page
    assert viewer.post(f"{LIST}add/").status_code == 403
    assert viewer.post(f"{LIST}{check.pk}/delete/").status_code == 403
    assert client_of("properties.view_property").get(LIST).status_code == 403


def test_the_list_takes_as_many_queries_for_many_checks_as_for_one(workspace):
    boss = client_of(superuser=True)
    DriftCheck.objects.create(workspace=workspace, kind="SAMPLE", finished_at=now())
    one = queries_of(boss, LIST)
    for _ in range(30):
        DriftCheck.objects.create(workspace=workspace, kind="SAMPLE", finished_at=now())
    assert queries_of(boss, LIST) == one

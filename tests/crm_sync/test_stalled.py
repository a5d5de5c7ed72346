"""What stands still says so: on every page, and first on the overview."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import time_machine
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone
from django.utils.html import strip_tags

from crm_sync.models import Gap, Heartbeat, WebhookMonitor, Workspace
from crm_sync.webhook.configuration import GONE
from crm_sync.work.heartbeat import GONE_AFTER, Kind
from orders.models import Assignment, Order
from properties.models import Walk
from tests.crm_sync.admin_pages import client_of, make_received_event, make_workspace, queries_of

pytestmark = pytest.mark.django_db
PAGES = ("/admin/", "/admin/crm_sync/receivedevent/", "/admin/auth/user/add/")


def seen(kind: Kind, seconds: float, name: str = "a") -> None:
    at = timezone.now() - timedelta(seconds=seconds)
    Heartbeat.objects.create(kind=kind, name=f"{kind}@{name}", started_at=at, seen_at=at)


def all_run() -> None:
    seen(Kind.WORKER, 4)
    seen(Kind.BEAT, 2)
    seen(Kind.TICK, 3)


def connected(slug: str = "main", **columns) -> Workspace:
    workspace = make_workspace(slug)
    columns.setdefault("due_at", timezone.now() + timedelta(minutes=1))
    WebhookMonitor.objects.create(workspace=workspace, **columns)
    return workspace


def words(client: Client, page: str) -> str:
    return " ".join(strip_tags(client.get(page).content.decode()).split())


def urgent(client: Client) -> list[tuple[str, str, str, str, str]]:
    """Read (badge, why, workspace, remedy, next try) of the lines that come first."""
    lines = client.get("/admin/").context["attention"]
    assert [line.is_urgent for line in lines] == sorted(
        (line.is_urgent for line in lines), reverse=True
    )
    return [
        tuple(
            strip_tags(str(part))
            for part in (line.badge, line.text, line.where, line.remedy, line.next_try)
        )
        for line in lines
        if line.is_urgent
    ]


@pytest.fixture(autouse=True)
def no_time_passes() -> Iterator[None]:
    """Let "45 s" be "45 s" also where the second page comes a second later."""
    with time_machine.travel(timezone.now(), tick=False):
        yield


@pytest.mark.parametrize("page", PAGES)
def test_no_page_speaks_of_processes_that_run(boss, page):
    connected()
    all_run()
    assert "last seen" not in words(boss, page)
    assert "cs-missing" not in boss.get(page).content.decode()


@pytest.mark.parametrize("page", PAGES)
def test_every_page_says_loudly_that_none_runs_and_how_to_start_one(boss, page):
    """The overview of an installation without a workspace among them: it has no list yet."""
    seen(Kind.WORKER, 125)
    text = words(boss, page)
    loud = (
        "No worker for 2 min. Nothing is pushed, read or applied; nothing is lost."
        " Start one with: manage.py run worker"
        " No beat ever ran here. What was put off does not begin, and schedules do not run;"
        " nothing is lost."
        " Start one with: manage.py run beat"
    )
    assert loud in text


def test_a_page_for_nobody_says_nothing():
    assert "ever ran" not in words(Client(), "/admin/login/")


def test_the_line_costs_one_query_on_a_page(boss, django_assert_num_queries):
    connected()
    before = queries_of(boss, "/admin/auth/user/add/")
    all_run()
    for number in range(20):
        seen(Kind.WORKER, 4, name=str(number))
    assert queries_of(boss, "/admin/auth/user/add/") == before


def test_the_overview_says_it_once(boss):
    connected()
    assert words(boss, "/admin/").count("No worker ever ran here") == 1


def test_where_all_is_well_nothing_is_urgent(boss):
    connected()
    all_run()
    assert urgent(boss) == []


def test_a_worker_that_is_missing_stands_before_what_follows_from_it(boss):
    workspace = connected()
    seen(Kind.BEAT, 2)
    late = timezone.now() - timedelta(seconds=90)
    make_received_event(workspace, due_at=late)
    assert urgent(boss) == [
        (
            "Not running",
            "No worker ever ran here. Nothing is pushed, read or applied; nothing is lost.",
            "",
            "Start one with: manage.py run worker",
            "When it runs",
        ),
        (
            "Stalled",
            "No worker has taken what is due in received events for 60 s or longer",
            "main",
            "Start a worker",
            "When a worker is free",
        ),
    ]


def test_a_full_disk_is_told_before_the_workers_that_cannot_write_on_it(boss, settings):
    connected()
    seen(Kind.BEAT, 2)
    settings.DATA_DIR = Path("/proc")  # it has no room
    full, missing = urgent(boss)
    assert full == (
        "Disk full",
        "The disk of DATA_DIR is full. Workers and beat may run, but cannot say so",
        "",
        "Make room; start no more workers",
        "When that is done",
    )
    assert missing[0] == "Not running"


def test_a_folder_of_data_that_is_gone_is_told(boss, settings, tmp_path):
    connected()
    all_run()
    settings.DATA_DIR = tmp_path / "gone"
    assert urgent(boss) == [
        (
            "No disk",
            f"DATA_DIR cannot be read: [Errno 2] No such file or directory: '{tmp_path}/gone'",
            "",
            "Mount it, or correct DATA_DIR",
            "When that is done",
        )
    ]


def test_a_broker_that_is_away_is_told_first_while_worker_and_beat_live(boss):
    connected()
    all_run()
    Heartbeat.objects.filter(kind=Kind.TICK).update(seen_at=timezone.now() - timedelta(seconds=45))
    assert urgent(boss) == [
        (
            "Not running",
            "No message has come through the broker for 45 s."
            " Nothing that is due begins; nothing is lost.",
            "",
            "Start it, or correct CELERY_BROKER_URL; workers and beat come back by themselves",
            "When it runs",
        )
    ]
    assert "No message has come through the broker for 45 s" in words(boss, PAGES[1])


def test_the_overview_begins_with_what_waits_for_a_person_or_says_that_all_is_well(boss):
    def first() -> str:
        page = boss.get("/admin/").content.decode()
        return page[: page.index('class="cs-folded"')]

    connected()
    assert ">Needs attention</h2>" in first()
    all_run()
    assert ">All is well</h2>" in first()


def test_all_is_not_well_for_an_agent_while_no_worker_runs():
    connected()
    page = client_of("properties.view_property").get("/admin/").content.decode()
    assert ">All is well<" not in page
    assert "Tell the person who runs this installation" in page
    assert "celery" not in page


def test_one_line_tells_of_a_queue_that_stands_still_in_many_workspaces(boss):
    all_run()
    late = timezone.now() - timedelta(seconds=90)
    for number in range(3):
        make_received_event(connected(f"w{number}"), due_at=late)
    assert urgent(boss) == [
        (
            "Stalled",
            "No worker has taken what is due in received events for 60 s or longer",
            "3 workspaces",
            "Start one more worker, or look at the log of the one that runs",
            "When a worker is free",
        )
    ]


def test_a_worker_that_died_is_named_while_others_go_on(boss):
    connected()
    all_run()
    seen(Kind.WORKER, 300, name="dead")
    seen(Kind.WORKER, GONE_AFTER.total_seconds() + 60, name="long-gone")
    Heartbeat.objects.create(
        kind=Kind.WORKER,
        name="worker@ended",
        started_at=timezone.now(),
        seen_at=timezone.now() - timedelta(seconds=300),
        stopped_at=timezone.now() - timedelta(seconds=299),
    )
    assert urgent(boss) == [
        (
            "Died",
            "Worker worker@dead sends no heartbeat and did not end properly",
            "",
            "Look at its log and start it again; others take its rows within half a minute",
            "By the others",
        )
    ]


def test_a_webhook_that_was_never_set_and_one_that_is_gone_are_urgent(boss):
    all_run()
    make_workspace("never")
    now = timezone.now()
    drift = {GONE: {"theirs": "none", "ours": "set"}}
    connected("gone", drift=drift, drift_since=now, due_at=now + timedelta(seconds=41.5))
    assert urgent(boss) == [
        (
            "No webhook",
            "The platform does not know where to call: no event arrives",
            "never",
            "Configure it on its page, or manage.py configure_webhook never",
            "Not by itself",
        ),
        (
            "No webhook",
            "The webhook is not there any more: no event arrives",
            "gone",
            "Repair it on its page, or manage.py configure_webhook gone",
            "in 41 s",
        ),
    ]


def test_an_order_for_whose_answer_the_platform_waits_is_urgent_until_it_has_ended(boss):
    workspace = connected()
    all_run()
    now = timezone.now()
    for number, status in (("1", "IN_PROGRESS"), ("2", "COMPLETED")):
        order = Order.objects.create(
            workspace=workspace,
            platform_id=number,
            status=status,
            due_at=now + timedelta(minutes=7, seconds=30),
        )
        Assignment.objects.create(
            workspace=workspace,
            order=order,
            platform_id=f"a{number}",
            status="ACTION_REQUIRED",
            action_required="CUSTOMER_NOT_REACHED",
        )
    assert urgent(boss) == [
        (
            "Action required",
            "Order 1: customer not reached",
            "main",
            "Its page says what the platform needs",
            "in 7 min",
        )
    ]


def test_who_may_not_see_workspaces_is_told_on_the_page_and_not_in_the_list():
    make_workspace()
    viewer = client_of("auth.view_user")
    answer = viewer.get("/admin/")
    assert answer.context["attention"] == []
    assert "No worker ever ran here" in answer.content.decode()


def of_a_restore(client: Client) -> list[tuple[str, str, str, str]]:
    """Read (why, workspace, what to do, next try) of the lines that tell of a restore."""
    lines = client.get("/admin/").context["attention"]
    return [
        (line.text, line.where, line.remedy, line.next_try)
        for line in lines
        if strip_tags(line.badge) == "Restored"
    ]


def test_one_line_tells_what_is_left_of_all_that_was_restored_together(boss):
    now = timezone.now()
    all_run()
    for slug in ("a", "b", "c", "d"):
        connected(slug)
    restored = Workspace.objects.filter(slug__in=["a", "b"])
    restored.update(restored_at=now - timedelta(hours=1))
    Workspace.objects.filter(slug="c").update(restored_at=now - timedelta(days=15))
    unread = "not read yet: 2 webhooks, 2 lists of properties"
    wait = "Wait: workers read before they send. manage.py restored --status says what is left"
    line = (f"A backup was restored; {unread}", "2 workspaces", wait, "By the workers")
    assert of_a_restore(boss) == [line]
    few = queries_of(boss, "/admin/")
    for n in range(20):
        connected(f"w{n}")
    Workspace.objects.filter(slug__startswith="w").update(restored_at=now - timedelta(hours=1))
    assert [line[1] for line in of_a_restore(boss)] == ["22 workspaces"]
    assert queries_of(boss, "/admin/") == few

    WebhookMonitor.objects.update(polled_at=now)
    for one in Workspace.objects.all():
        Walk.objects.create(workspace=one, started_at=now, finished_at=now)
    assert of_a_restore(boss) == []
    gap = {"why": "OVERFLOW", "began_at": now, "ended_at": now, "noticed_at": now}
    Gap.objects.create(workspace=Workspace.objects.get(slug="a"), **gap)
    ((text, where, todo, when),) = of_a_restore(boss)
    assert (text, where) == ("A backup was restored; for a person: 1 gaps", "22 workspaces")
    assert todo.startswith("Decide what waits for a person: the tiles below lead to it. manage.py")
    assert when == "Not by itself"


def test_a_restore_in_another_workspace_is_not_told():
    person = User.objects.create(username="operator", is_staff=True)
    person.user_permissions.add(Permission.objects.get(codename="view_workspace"))
    connected("hers").people.add(person)
    Workspace.objects.filter(pk=connected("other").pk).update(restored_at=timezone.now())
    client = Client()
    client.force_login(person)
    assert of_a_restore(client) == []
    Workspace.objects.filter(slug="hers").update(restored_at=timezone.now())
    assert [line[1] for line in of_a_restore(client)] == ["hers"]

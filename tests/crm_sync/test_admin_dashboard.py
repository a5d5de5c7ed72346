"""The first page of the admin: figures, what needs a person, and how to begin."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone
from django_celery_beat.models import PeriodicTask

from crm_sync.models import ReceivedEvent
from crm_sync.templatetags.problems import problem_cell
from properties.domain.editing import create
from properties.models import Conflict, Property
from tests.crm_sync.admin_pages import client_of, make_received_event, make_workspace
from tests.problems import answered

pytestmark = pytest.mark.django_db
State = ReceivedEvent.State


def platform_tiles(client: Client) -> dict[str, tuple[int, str]]:
    tiles = dict(client.get("/admin/").context["groups"])["Platform"]
    return {tile.title: (tile.value, tile.tone) for tile in (*tiles.counted, *tiles.zero)}


def test_before_the_first_workspace_it_says_what_to_do(boss):
    text = boss.get("/admin/").content.decode()
    assert "manage.py add_workspace main" in text
    assert "manage.py configure_webhook main" in text
    assert "Needs attention" not in text


def test_the_tiles_count_what_they_say(boss):
    workspace = make_workspace(refused_callbacks=2)
    make_workspace("second", refused_callbacks=3)
    now = timezone.now()
    make_received_event(workspace, state=State.APPLIED)
    make_received_event(workspace, state=State.APPLIED, received_at=now - timedelta(days=2))
    make_received_event(workspace, state=State.QUARANTINED, received_at=now - timedelta(days=2))
    make_received_event(workspace, state=State.FAILED, received_at=now - timedelta(days=2))
    make_received_event(workspace, state=State.FAILED)
    assert platform_tiles(boss) == {
        "Received today": (2, "info"),
        "Not understood": (1, "warning"),
        "Failed": (2, "danger"),
        "Refused callbacks": (5, "warning"),
        "Failed attempts": (0, "warning"),
        "Changed webhooks": (0, "danger"),
        "Gaps": (0, "warning"),
    }


def test_tiles_at_zero_fold_away_under_their_names(boss):
    make_received_event(make_workspace(), state=State.FAILED)
    text = boss.get("/admin/").content.decode()
    folded = text[text.index("<details") :]
    assert text.index(">Failed<") < text.index("<details", text.index(">Failed<"))
    assert "At zero: Not understood · Refused callbacks · Failed attempts" in folded


@pytest.mark.parametrize("may", ["all", "crm_sync.view_receivedevent", "orders.view_order"])
def test_all_that_is_counted_moves_with_the_page(boss, may):
    make_workspace()
    client = boss if may == "all" else client_of(may)
    text = client.get("/admin/").content.decode()
    assert 'data-follow="/admin/" data-every="60000"' in text
    assert "crm_sync/follow.js" in text
    before, _, after = text.partition('data-part="tiles"')
    assert "cs-tile " in after
    assert "cs-tile " not in before
    assert ('data-part="connections"' in text) == (may == "all")


def test_every_tile_leads_to_a_page_that_opens(boss):
    make_workspace()
    for _, tiles in boss.get("/admin/").context["groups"]:
        for tile in (*tiles.counted, *tiles.zero):
            assert (tile.title, boss.get(tile.link).status_code) == (tile.title, 200)


def test_what_waits_for_a_person_is_listed_newest_first(boss):
    now, busy = timezone.now(), answered("GET /v1/x", 429, "slow down")
    fine = make_workspace()
    make_workspace("paused", paused_until=now + timedelta(minutes=5), problem=busy)
    make_workspace("refusing", refused_callbacks=1, last_refusal="GET: 405 a body is needed")
    old = make_received_event(fine, state=State.FAILED, received_at=now - timedelta(hours=2))
    new = make_received_event(fine, state=State.QUARANTINED, received_at=now - timedelta(hours=1))
    make_received_event(fine, state=State.APPLIED)
    lines = [line for line in boss.get("/admin/").context["attention"] if not line.is_urgent]
    assert [(line.where, line.link) for line in lines[2:]] == [
        ("main", f"/admin/crm_sync/receivedevent/{new.pk}/change/"),
        ("main", f"/admin/crm_sync/receivedevent/{old.pk}/change/"),
    ]
    assert lines[0].remedy == "All goes on by itself after the pause."
    assert [(line.where, line.text) for line in lines[:2]] == [
        ("paused", problem_cell(busy, remedy=False)),
        ("refusing", "1 callback, last GET: 405 a body is needed"),
    ]


def test_each_line_has_a_button_to_where_it_is_settled(boss):
    row = make_received_event(make_workspace(), state=State.FAILED)
    link = f"/admin/crm_sync/receivedevent/{row.pk}/change/"
    assert f'<a class="cs-quiet" href="{link}">Open</a>' in boss.get("/admin/").content.decode()


@pytest.mark.rule("S17")
def test_who_may_only_look_is_offered_nothing_to_do(boss):
    row = create(make_workspace(), "A-1", {"title": "Flat"}, origin="ADMIN", now=timezone.now())
    Conflict.objects.create(real_estate_property=row, path="title", ours="Flat", theirs="House")
    Property.objects.update(problem={"CONFLICT": {"title": ""}})
    viewer = client_of("properties.view_property", "properties.view_conflict")
    decide = f"/admin/properties/conflict/decide/{row.pk}/"
    page = f"/admin/properties/property/{row.pk}/change/"
    for client, act, button in ((boss, "Decide", "Decide 1"), (viewer, "Open", "Look at 1")):
        (line,) = [one for one in client.get("/admin/").context["attention"] if "A-1" in one.text]
        assert (line.act, bool(line.remedy)) == (act, act == "Decide")
        assert f'href="{decide}">{button} conflict</a>' in client.get(page).text


def test_commands_are_shown_to_operators_alone(boss):
    page = "/admin/properties/conflict/", "/admin/orders/placement/", "/admin/"
    agent = client_of("properties.view_conflict", "orders.view_placement")
    assert [path for path in page if "manage.py" in agent.get(path).content.decode()] == []
    assert "manage.py" in boss.get("/admin/").content.decode()


def test_figures_are_only_for_those_who_may_open_what_was_counted():
    workspace = make_workspace(problem="500")
    make_received_event(workspace, state=State.FAILED, effect="secret figure")
    context = client_of("auth.view_user").get("/admin/").context
    assert (context["groups"], context["attention"], context["connections"]) == ([], [], [])


def test_the_sidebar_offers_only_what_may_be_opened():
    items = [
        item["title"]
        for group in client_of("crm_sync.view_receivedevent")
        .get("/admin/")
        .context["sidebar_navigation"]
        for item in group["items"]
    ]
    assert items == ["Overview", "Received events", "My settings", "Sessions"]


DAILY = ["Overview", "Properties", "What changed", "Conflicts", "Orders", "Calendar", "Imports"]


@pytest.mark.parametrize(
    ("group", "shown"),
    [
        (
            "Agents",
            {
                "": DAILY,
                "Platform": ["Platform users"],
                "Settings": ["My settings", "Sessions"],
            },
        ),
        (
            "Operators",
            {
                "": DAILY,
                "Platform": [
                    "Workspaces",
                    "Platform users",
                    "Received events",
                    "Calls",
                    "Drift",
                    "Files",
                    "Outgoing messages",
                ],
                "Settings": [
                    "My settings",
                    "Sessions",
                    "Mail and calendars",
                    "API tokens",
                    "Schedules",
                ],
            },
        ),
    ],
)
def test_the_sidebar_begins_with_the_daily_work_of_each_group(main, group, shown):
    browser = client_of()
    User.objects.get().groups.add(Group.objects.get(name=group))
    groups = browser.get("/admin/").context["sidebar_navigation"]
    titles = {one["title"]: [item["title"] for item in one["items"]] for one in groups}
    assert titles == shown


@pytest.mark.parametrize("tab", ["match", "owners"])
def test_a_tab_that_another_app_adds_to_a_workspace_marks_the_workspaces(boss, main, tab):
    page = boss.get(f"/admin/properties/property/{tab}/{main.pk}/")
    items = [one for group in page.context["sidebar_navigation"] for one in group["items"]]
    assert [one["title"] for one in items if one["active"]] == ["Workspaces"]
    assert page.context["opts"].label == "crm_sync.Workspace"


def test_the_lists_of_one_screen_are_tabs_of_each_other(boss):
    page = boss.get("/admin/orders/placement/")
    tabs = [one["items"] for one in page.context["tab_list"] if "orders.order" in one["models"]]
    assert [[(tab["title"], tab["link"], tab["active"]) for tab in one] for one in tabs] == [
        [
            ("Orders", "/admin/orders/order/", False),
            ("Placements", "/admin/orders/placement/", True),
        ]
    ]
    assert '<a href="/admin/orders/order/"' in page.text.partition('id="tabs-items"')[2]


def test_a_list_that_may_not_be_opened_is_no_tab():
    page = client_of("orders.view_placement").get("/admin/orders/placement/")
    assert page.context["tab_list"] == []


def test_every_entry_of_the_sidebar_opens(boss):
    for group in boss.get("/admin/").context["sidebar_navigation"]:
        for item in group["items"]:
            assert (item["title"], boss.get(item["link"]).status_code) == (item["title"], 200)


def test_the_sidebar_counts_the_deliveries_that_wait_for_a_person(boss):
    workspace = make_workspace()
    for state in State.values:
        make_received_event(workspace, state=state)
    groups = boss.get("/admin/").context["sidebar_navigation"]
    badges = {
        item["title"]: item["badge"] for g in groups for item in g["items"] if "badge" in item
    }
    assert badges == {"Received events": "3"}


@pytest.mark.parametrize("model", ["auth/user", "auth/group"])
def test_accounts_have_their_pages(boss, model):
    assert boss.get(f"/admin/{model}/add/").status_code == 200


def test_a_user_is_added_with_a_password_that_works(boss):
    password = "correct horse battery"
    form = {
        "username": "ada",
        "password1": password,
        "password2": password,
        "usable_password": "true",
    }
    assert boss.post("/admin/auth/user/add/", form).status_code == 302
    assert User.objects.get(username="ada").check_password(password)
    assert (
        boss.get(f"/admin/auth/user/{User.objects.get(username='ada').pk}/change/").status_code
        == 200
    )


@pytest.mark.parametrize("model", ["periodictask", "intervalschedule", "crontabschedule"])
def test_schedules_have_their_pages(boss, model):
    assert boss.get(f"/admin/django_celery_beat/{model}/").status_code == 200
    assert boss.get(f"/admin/django_celery_beat/{model}/add/").status_code == 200


def test_solar_and_clocked_schedules_are_left_out(boss):
    for model in ("solarschedule", "clockedschedule"):
        assert boss.get(f"/admin/django_celery_beat/{model}/").status_code == 404


def test_who_may_only_view_schedules_cannot_switch_them_off():
    task = PeriodicTask.objects.get(task="crm_sync.clear_deliveries")
    viewer = client_of("django_celery_beat.view_periodictask")
    viewer.post(
        "/admin/django_celery_beat/periodictask/",
        {"action": "disable_tasks", "_selected_action": task.pk},
    )
    task.refresh_from_db()
    assert task.enabled is True


def test_an_operator_switches_a_schedule_off(boss):
    task = PeriodicTask.objects.get(task="crm_sync.clear_deliveries")
    assert boss.get(f"/admin/django_celery_beat/periodictask/{task.pk}/change/").status_code == 200
    boss.post(
        "/admin/django_celery_beat/periodictask/",
        {"action": "disable_tasks", "_selected_action": task.pk},
    )
    task.refresh_from_db()
    assert task.enabled is False

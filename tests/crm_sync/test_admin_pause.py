"""The tab Pause and the banner: who sees them, who may press, and what the history says (I34)."""

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from crm_sync import connecting
from crm_sync.connecting import Given
from crm_sync.models import Hold, Workspace, hold
from crm_sync.platform.errors import ErrorKind, Problem
from crm_sync.platform.work_kind import WorkKind
from tests.crm_sync.admin_pages import make_workspace, queries_of
from tests.problems import noted

pytestmark = pytest.mark.django_db
ALL = [kind.value for kind in WorkKind]


def now() -> datetime:
    return datetime.now(UTC)


def tab(workspace: Workspace) -> str:
    return f"/admin/crm_sync/workspace/{workspace.pk}/pause/"


def person(*permissions: str, workspaces: list[Workspace] | None = None) -> Client:
    """Sign in somebody of these workspaces with these permissions of the app."""
    user = User.objects.create_user(f"person-{User.objects.count()}", is_staff=True)
    user.user_permissions.add(*Permission.objects.filter(codename__in=permissions))
    user.workspaces.set(workspaces or [])
    client = Client()
    client.force_login(user)
    return client


def held() -> list[str]:
    return list(Hold.objects.active(now()).order_by("pk").values_list("kind", flat=True))


def test_a_workspace_is_paused_and_resumed_on_its_tab(main, boss):
    posted = {"step": "pause", "kinds": ["pushes", "orders"], "reason": "wrong prices"}
    page = boss.post(tab(main), posted, follow=True).content.decode()
    assert held() == ["pushes", "orders"]
    assert "<h2>Changes and orders held by" in page
    assert Hold.objects.first().by == User.objects.get(is_superuser=True)
    boss.post(tab(main), {"step": "resume", "kind": ["pushes", "orders"]})
    assert held() == []
    assert noted() == [
        "Held by a person: changes and orders. wrong prices",
        "Resumed: changes and orders.",
    ]
    assert "by itself" not in boss.get(tab(main)).content.decode()


def test_an_old_hold_can_be_resumed_however_long_the_history_behind_it_is(main, boss):
    old, later = now() - timedelta(days=9), now() - timedelta(days=1)
    hold.pause(main.pk, [WorkKind.FILES], reason="an old one", now=old)
    Hold.objects.bulk_create(
        Hold(workspace=main, kind="pushes", reason="over", since=later, ended_at=later)
        for _ in range(150)
    )
    context = boss.get(tab(main)).context
    assert [(one["work"], one["reason"]) for one in context["held"]] == [("files", "an old one")]
    assert {one["reason"] for one in context["history"]} == {"over"}


@pytest.mark.parametrize(
    "posted",
    [
        {"kinds": ALL, "reason": ""},
        {"kinds": [], "reason": "why"},
        {"kinds": ["nothing"], "reason": "why"},
        {"kinds": ALL, "reason": "why", "until": "2020-01-01T08:00"},
        {"kinds": ALL, "reason": "x" * 201},
    ],
)
def test_a_form_that_is_wrong_holds_nothing_and_says_so(main, boss, posted):
    response = boss.post(tab(main), {"step": "pause", **posted})
    assert (response.status_code, held()) == (200, [])
    assert "error" in response.content.decode() or "cs-danger" in response.content.decode()


def test_the_end_is_in_the_zone_of_the_person(main, boss):
    posted = {"step": "pause", "kinds": ALL, "reason": "why", "until": "2099-07-01T08:00"}
    boss.post(tab(main), posted)
    assert {one.until for one in Hold.objects.all()} == {datetime(2099, 7, 1, 8, tzinfo=UTC)}


@pytest.mark.rule("S12")
def test_a_workspace_of_others_is_not_there(main):
    other = make_workspace("other")
    operator = person("view_workspace", "change_workspace", workspaces=[other])
    assert operator.post(tab(main), {"step": "pause"}).status_code == 404


# --- the banner


def banners(client: Client, path: str = "/admin/password_change/") -> str:
    return client.get(path).content.decode()


def test_everybody_with_the_workspace_sees_the_banner_and_nobody_else(main):
    other = make_workspace("other")
    until = datetime(2099, 7, 1, 8, tzinfo=UTC)
    hold.pause(main.pk, [*WorkKind], reason="moving", now=now(), until=until, program="anna")
    shown = (
        "<strong>Everything of main: held by anna until Wed 1 Jul 2099, 08:00 UTC.</strong> moving."
    )
    assert shown in banners(person(workspaces=[main]))
    assert "moving" not in banners(person(workspaces=[other]))
    assert "moving" not in banners(person())
    assert tab(main) in banners(person("view_workspace", workspaces=[main]))
    assert tab(main) not in banners(person(workspaces=[main]))


def test_a_workspace_that_the_platform_pauses_or_refuses_is_a_banner(main):
    agent = person(workspaces=[main])
    Workspace.objects.update(
        paused_until=now() + timedelta(minutes=5),
        pauses=1,
        problem=Problem("GET: 503", ErrorKind.DOWN),
    )
    page = banners(agent)
    assert "<strong>main is paused until " in page
    assert "The platform is out of order at the moment." in page
    Workspace.objects.update(problem=Problem("GET: 401", ErrorKind.UNAUTHORIZED))
    assert "<strong>main is refused by the platform.</strong>" in banners(agent)
    Workspace.objects.update(paused_until=None, problem=Problem("slow", ErrorKind.SLOW))
    assert "main is" not in banners(agent)


def test_the_banner_costs_two_queries_however_many_holds_there_are(main):
    agent = person(workspaces=[main])
    before = queries_of(agent, "/admin/password_change/")
    hold.pause(main.pk, [*WorkKind], reason="why", now=now())
    assert queries_of(agent, "/admin/password_change/") == before


# --- watch only


def test_a_person_sees_the_first_plan_and_says_go(boss):
    row, _ = connecting.store(Given("live", "https://platform.example", "token"), now=now())
    page = boss.get(tab(row)).content.decode()
    assert "Properties to create" in page
    assert "<strong>live is in watch only.</strong>" in page
    said = boss.post(tab(row), {"step": "go", "seen": "9"}, follow=True).content.decode()
    assert "The plan has changed meanwhile" in said
    assert len(held()) == 3
    boss.post(tab(row), {"step": "go", "seen": hold.seen_as(hold.first_plan(row.pk))})
    assert held() == []

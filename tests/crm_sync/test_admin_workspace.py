"""The workspace screen: connections, three settings, and never a secret."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.urls import reverse
from django.utils import timezone

from crm_sync.models import Workspace
from tests.crm_sync.admin_pages import (
    SECRETS,
    client_of,
    make_workspace,
)

pytestmark = [pytest.mark.django_db, pytest.mark.once]
LIST = "/admin/crm_sync/workspace/"


def page(workspace: Workspace) -> str:
    return reverse("admin:crm_sync_workspace_change", args=[workspace.pk])


def settings_of(**changed: object) -> dict[str, object]:
    return {"conflict_policy": "crm_wins", "read_before_write": "on", "max_under_way": 8} | changed


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        ({}, "Fixed token: stored"),
        ({"fixed_token": "", "client_id": "crm"}, "Client credentials of crm: secret stored"),
        ({"fixed_token": "", "client_secret": ""}, "None stored"),
    ],
)
def test_the_page_says_what_is_stored_and_not_its_value(boss, columns, shown):
    assert shown in boss.get(page(make_workspace(**columns))).content.decode()


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        ({"auth_type": "HEADER"}, {"authHeaderName": "X-API-Key", "authSecret": "stored"}),
        (
            {"auth_type": "QUERY_PARAMETER", "auth_secret": ""},
            {"authParameterName": "token", "authSecret": "none yet"},
        ),
        ({"auth_type": "NONE"}, {"authSecret": "none: anybody can send events"}),
    ],
)
def test_the_webhook_says_how_callbacks_are_authenticated(boss, columns, shown):
    workspace = make_workspace(**columns)
    answer = boss.get(reverse("admin:crm_sync_workspace_webhook", args=[workspace.pk]))
    assert (
        dict(answer.context["expected"]).items()
        >= {
            "authType": columns["auth_type"],
            **shown,
        }.items()
    )


@pytest.mark.parametrize(
    ("columns", "badge"),
    [
        ({}, '<span class="cs-badge cs-good">Connected</span>'),
        ({"problem": "401"}, '<span class="cs-badge cs-danger">Problem</span>'),
        (
            {"fixed_token": "", "client_secret": ""},
            '<span class="cs-badge cs-danger">No credentials</span>',
        ),
    ],
)
def test_the_list_tells_the_state_of_a_connection(boss, columns, badge):
    make_workspace(**columns)
    assert badge in boss.get(LIST).content.decode()


def test_a_pause_counts_until_it_is_over(boss):
    workspace = make_workspace(paused_until=timezone.now() + timedelta(minutes=5), problem="429")
    assert '<span class="cs-badge cs-warning">Paused</span>' in boss.get(LIST).content.decode()
    Workspace.objects.update(paused_until=timezone.now() - timedelta(seconds=1), problem="")
    assert "Connected" in boss.get(LIST).content.decode()
    assert "Not paused" in boss.get(page(workspace)).content.decode()


def test_saving_writes_only_the_columns_that_were_changed(boss, django_assert_num_queries):
    workspace = make_workspace()
    Workspace.objects.update(problem="set by a worker", pauses=4)
    with django_assert_num_queries(50, exact=False) as captured:
        assert boss.post(page(workspace), settings_of(max_under_way=3)).status_code == 302
    updates = [q["sql"] for q in captured.captured_queries if 'UPDATE "crm_sync_work' in q["sql"]]
    assert len(updates) == 1
    assert updates[0].startswith('UPDATE "crm_sync_workspace" SET "max_under_way" = 3 WHERE')
    workspace.refresh_from_db()
    assert (workspace.max_under_way, workspace.problem, workspace.pauses) == (
        3,
        "set by a worker",
        4,
    )
    assert {name: getattr(workspace, name) for name in SECRETS} == SECRETS


@pytest.mark.parametrize("value", [0, 101, ""])
def test_a_number_of_requests_that_stops_or_floods_is_refused(boss, value):
    workspace = make_workspace()
    response = boss.post(page(workspace), settings_of(max_under_way=value))
    assert list(response.context["adminform"].form.errors) == ["max_under_way"]
    workspace.refresh_from_db()
    assert workspace.max_under_way == 8


def test_what_belongs_to_the_commands_cannot_be_posted(boss):
    workspace = make_workspace()
    boss.post(
        page(workspace),
        settings_of(slug="other", base_url="https://evil.test", auth_type="NONE", fixed_token="x"),
    )
    workspace.refresh_from_db()
    assert (workspace.slug, workspace.base_url, workspace.auth_type, workspace.fixed_token) == (
        "main",
        "https://platform.test",
        "HEADER",
        SECRETS["fixed_token"],
    )


def test_a_workspace_is_never_deleted_here(boss):
    workspace = make_workspace()
    address = f"{LIST}{workspace.pk}/delete/"
    assert boss.post(address, {"post": "yes"}).status_code == 403
    assert list(Workspace.objects.values_list("slug", flat=True)) == ["main"]


def test_an_address_that_is_no_web_address_is_not_linked(boss):
    workspace = make_workspace()
    Workspace.objects.update(base_url="javascript:alert(1)")
    for address in ("/admin/", LIST, page(workspace)):
        assert 'href="javascript:' not in boss.get(address).content.decode()


def test_each_setting_says_what_it_means(boss):
    workspace = make_workspace()
    form = boss.get(page(workspace)).context["adminform"].form
    assert [name for name, field in form.fields.items() if not field.help_text] == []
    html = boss.get(page(workspace)).content.decode()
    for choice in ("Our value wins:", "The platform's value wins:", "A person decides:"):
        assert choice in html
    viewer = client_of("crm_sync.view_workspace")
    assert viewer.get(page(workspace)).status_code == 200


def test_a_page_is_named_without_the_app_in_front(boss):
    def header(address: str) -> list[str]:
        heading = boss.get(address).content.decode().partition("<h1")[2].partition("</h1>")[0]
        return re.findall(r"truncate tracking-tight\">\s*(.*?)\s*</", heading)

    assert header(LIST) == ["Workspaces"]
    assert header(page(make_workspace())) == ["Workspaces", "main"]
    assert len(header("/admin/")) == 1


@pytest.mark.parametrize("tab", ["credentials", "webhook", "gaps", "pause", "match", "owners"])
def test_each_tab_of_a_workspace_names_it_and_leads_back_to_it(tab):
    workspace, client = make_workspace(slug="north"), client_of(superuser=True)
    own = f"/admin/crm_sync/workspace/{workspace.pk}/"
    page = f"/admin/properties/property/{tab}/{workspace.pk}/"
    text = client.get(page if tab in ("match", "owners") else f"{own}{tab}/").text
    assert re.findall(r'<a href="([^"]*)" [^>]*title="Go back"', text) == [f"{own}change/"]
    header = text.partition("<h1")[2].partition("</h1>")[0]
    assert re.findall(r"tracking-tight\">\s*(.*?)\s*</", header) == ["Workspaces", "north"]


def test_a_page_about_many_rows_leads_back_to_their_list():
    text = client_of(superuser=True).get("/admin/properties/property/changes/").text
    expected = ["/admin/properties/property/"]
    assert re.findall(r'<a href="([^"]*)" [^>]*title="Go back"', text) == expected


@pytest.mark.parametrize("page", ["change", "history", "delete"])
def test_a_page_of_django_about_one_row_leads_back_to_its_list(page):
    group = Group.objects.create(name="A")
    text = client_of(superuser=True).get(f"/admin/auth/group/{group.pk}/{page}/").text
    assert re.findall(r'<a href="([^"]*)" [^>]*title="Go back"', text) == ["/admin/auth/group/"]

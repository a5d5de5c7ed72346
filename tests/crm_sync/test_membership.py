"""Who is in which workspace: where that is chosen, and what lists say of it."""

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from crm_sync.admin.ui.filters import MANY
from crm_sync.models import Workspace
from properties.models import Property
from tests.crm_sync.admin_pages import make_workspace, queries_of
from tests.crm_sync.test_admin_workspace import settings_of

pytestmark = [pytest.mark.django_db, pytest.mark.once]
PROPERTIES = "/admin/properties/property/"
COLUMN = "column-in_workspace"


@pytest.fixture
def agent(db) -> User:
    person = User.objects.create(username="agent", is_staff=True, password="!")
    person.groups.add(Group.objects.get(name="Agents"))
    return person


def browser(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def make_properties(*workspaces: Workspace) -> None:
    for workspace in workspaces:
        Property.objects.create(
            workspace=workspace, object_reference_id=f"R-{workspace}", desired={}
        )


def test_the_page_of_a_workspace_chooses_its_people_and_the_log_says_so(boss, main, agent):
    page = reverse("admin:crm_sync_workspace_change", args=[main.pk])
    assert f'<option value="{agent.pk}">agent</option>' in boss.get(page).content.decode()
    assert boss.post(page, settings_of(people=[agent.pk])).status_code == 302
    assert list(main.people.all()) == [agent]
    assert "People" in LogEntry.objects.get().get_change_message()
    assert boss.post(page, settings_of()).status_code == 302
    assert list(main.people.all()) == []


def test_only_people_who_may_sign_in_here_can_be_chosen(boss, main, agent):
    User.objects.create(username="left", is_staff=True, is_active=False)
    customer = User.objects.create(username="customer")
    page = reverse("admin:crm_sync_workspace_change", args=[main.pk])
    names = {str(one) for one in boss.get(page).context["adminform"].form.fields["people"].queryset}
    assert {"left", "customer"} & names == set()
    boss.post(page, settings_of(people=[customer.pk]))
    assert list(main.people.all()) == []
    main.people.add(customer)  # who is in it already can be taken out
    names = {str(one) for one in boss.get(page).context["adminform"].form.fields["people"].queryset}
    assert "customer" in names


def test_the_page_of_a_user_chooses_the_workspaces(boss, main, agent):
    other = make_workspace("other")
    page = reverse("admin:auth_user_change", args=[agent.pk])
    shown = boss.get(page).context["adminform"].form
    posted = {
        "username": "agent",
        "is_active": "on",
        "is_staff": "on",
        "groups": list(agent.groups.values_list("pk", flat=True)),
        "date_joined_0": "2026-01-01",
        "date_joined_1": "00:00:00",
        "workspaces": [main.pk, other.pk],
    }
    assert shown.initial["workspaces"] == []
    assert boss.post(page, posted).status_code == 302
    assert sorted(agent.workspaces.values_list("slug", flat=True)) == ["main", "other"]
    assert boss.get(page).context["adminform"].form.initial["workspaces"] == [main.pk, other.pk]
    assert "Workspaces" in LogEntry.objects.get().get_change_message()
    assert boss.post(page, posted | {"workspaces": [other.pk]}).status_code == 302
    assert list(agent.workspaces.values_list("slug", flat=True)) == ["other"]


def test_who_is_in_no_workspace_is_told_whom_to_ask(main, agent):
    User.objects.create(username="zoe", first_name="Zoe", last_name="Boss", is_staff=True)
    User.objects.filter(username="zoe").update(is_superuser=True)
    for address in ("/admin/", PROPERTIES, "/admin/orders/order/"):
        text = browser(agent).get(address).content.decode()
        assert "You are in no workspace yet" in text
        assert "Ask Zoe Boss to put you into one." in text
    main.people.add(agent)
    for address in ("/admin/", PROPERTIES, "/admin/orders/order/"):
        assert "You are in no workspace yet" not in browser(agent).get(address).content.decode()


def test_a_list_names_the_workspace_to_who_sees_two_and_to_nobody_else(boss, main, agent):
    make_properties(main)
    main.people.add(agent)
    assert COLUMN not in boss.get(PROPERTIES).content.decode()
    other = make_workspace("other")
    make_properties(other)
    text = boss.get(PROPERTIES).content.decode()
    assert COLUMN in text
    assert "By workspace" in text
    text = browser(agent).get(PROPERTIES).content.decode()
    assert COLUMN not in text
    assert "By workspace" not in text
    other.people.add(agent)
    text = browser(agent).get(PROPERTIES).content.decode()
    assert COLUMN in text
    assert "By workspace" in text
    assert "R-other" in text
    text = browser(agent).get(f"{PROPERTIES}?workspace=other").content.decode()
    assert "R-other" in text
    assert "R-main" not in text


def test_who_sees_many_workspaces_types_the_beginning_of_one_instead_of_choosing(boss, main, agent):
    make_properties(main)
    names = [f"branch-{number}" for number in range(1, MANY + 1)]
    for name in names:
        make_properties(make_workspace(name))
    main.people.add(agent)
    shown = boss.get(PROPERTIES).content.decode()
    assert '<input type="text" name="workspace"' in shown
    assert "branch-17</option>" not in shown
    for typed, found in {
        "branch-2": ["branch-2"],
        "Branch-1": [name for name in names if name.startswith("branch-1")],
        "ma": ["main"],
        "ranch": [],
    }.items():
        text = boss.get(f"{PROPERTIES}?workspace={typed}").content.decode()
        assert [name for name in ["main", *names] if f"R-{name}<" in text] == found, typed
    assert 'name="workspace"' not in browser(agent).get(PROPERTIES).content.decode()


def test_workspaces_and_people_of_any_number_cost_the_same_queries(main, agent):
    main.people.add(agent)
    make_workspace("w").people.add(agent)
    client = browser(agent)
    pages = (PROPERTIES, "/admin/orders/order/", "/admin/")
    few = [queries_of(client, one) for one in pages]
    for number in range(20):
        make_workspace(f"w{number}").people.add(agent)
    assert [queries_of(client, one) for one in pages] == few

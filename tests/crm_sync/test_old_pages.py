"""A page that was opened before a colleague saved puts nothing back."""

import pytest
from django.contrib.auth.models import Group, User
from django.urls import reverse

from crm_sync.models import Subscription, Workspace
from properties.models import Sender
from tests.crm_sync.receivers import subscribe
from tests.properties.form_page import FormReader


def opened(client, page: str, form: str) -> dict[str, list[str]]:
    """Return what a browser would post from a page that nobody has touched."""
    return read(client.get(page).text, form)


def read(text: str, form: str) -> dict[str, list[str]]:
    reader = FormReader()
    reader.begins = lambda has: has.get("id") == form
    reader.feed(text)
    assert reader.data
    return reader.data


@pytest.mark.rule("S17")
def test_an_old_page_of_a_workspace_lets_nobody_in_again(admin_client, main):
    left, stays, new = (
        User.objects.create(username=name, is_staff=True) for name in ("left", "stays", "new")
    )
    main.people.add(left, stays)
    page = reverse("admin:crm_sync_workspace_change", args=[main.pk])
    old = opened(admin_client, page, "workspace_form")
    main.people.remove(left)
    Workspace.objects.filter(pk=main.pk).update(max_under_way=2)  # to spare the platform
    old["people"] = [str(left.pk), str(new.pk)]  # what this page adds and removes is done
    answer = admin_client.post(page, old | {"conflict_policy": "platform_wins"})
    assert answer.status_code == 302
    main.refresh_from_db()
    assert ([*main.people.all()], main.max_under_way) == ([new], 2)
    assert main.conflict_policy == "platform_wins"


def test_an_old_page_that_showed_nobody_removes_nobody(admin_client, main):
    page = reverse("admin:crm_sync_workspace_change", args=[main.pk])
    old = opened(admin_client, page, "workspace_form")
    person = User.objects.create(username="person", is_staff=True)
    main.people.add(person)
    admin_client.post(page, old | {"conflict_policy": "platform_wins"})
    assert [*main.people.all()] == [person]


def test_what_was_added_beside_a_mistake_is_added_with_the_next_post(admin_client, main):
    person = User.objects.create(username="person", is_staff=True)
    page = reverse("admin:crm_sync_workspace_change", args=[main.pk])
    data = opened(admin_client, page, "workspace_form") | {"people": [str(person.pk)]}
    answer = admin_client.post(page, data | {"max_under_way": "0"})
    assert list(answer.context["adminform"].form.errors) == ["max_under_way"]
    again = read(answer.text, "workspace_form")
    assert (again["people"], again.get("initial-people")) == ([str(person.pk)], None)
    admin_client.post(page, again | {"max_under_way": "4"})
    main.refresh_from_db()
    assert ([*main.people.all()], main.max_under_way) == ([person], 4)


@pytest.mark.rule("S17")
def test_an_old_page_of_an_account_gives_nothing_back(admin_client, admin_user, main):
    group = Group.objects.create(name="Those who left")
    person = User.objects.create(username="person", is_staff=True)
    person.groups.add(group)
    person.workspaces.add(main)
    page = reverse("admin:auth_user_change", args=[person.pk])
    old = opened(admin_client, page, "user_form")
    person.groups.clear()
    person.workspaces.clear()
    User.objects.filter(pk=person.pk).update(is_active=False)
    answer = admin_client.post(page, old | {"last_name": "Meier"})
    assert answer.status_code == 302
    person.refresh_from_db()
    assert (person.last_name, person.is_active) == ("Meier", False)
    assert ([*person.groups.all()], [*person.workspaces.all()]) == ([], [])


def test_the_page_of_an_account_shows_its_password_nowhere(admin_client, admin_user):
    page = admin_client.get(reverse("admin:auth_user_change", args=[admin_user.pk])).text
    assert admin_user.password not in page
    assert 'name="initial-password"' not in page


def test_an_old_page_of_a_sender_keeps_what_a_colleague_saved(admin_client, main):
    row = Sender.objects.create(workspace=main, name="Agency")
    page = reverse("admin:properties_sender_change", args=[row.pk])
    old = opened(admin_client, page, "sender_form")
    Sender.objects.filter(pk=row.pk).update(columns={"Ort": "address.locality"}, lenient=False)
    admin_client.post(page, old | {"language": "fr"})
    row.refresh_from_db()
    assert (row.language, row.columns) == ("fr", {"Ort": "address.locality"})
    assert row.lenient is False


def test_an_old_page_of_a_subscription_keeps_what_a_colleague_saved(admin_client, main):
    row = subscribe(main, "https://receiver.test/", language="de")
    page = reverse("admin:crm_sync_subscription_change", args=[row.pk])
    old = opened(admin_client, page, "subscription_form")
    Subscription.objects.filter(pk=row.pk).update(address="https://other.test/")
    admin_client.post(page, old | {"language": "fr"})
    row.refresh_from_db()
    assert (row.language, row.address) == ("fr", "https://other.test/")


def test_a_sender_gets_no_name_that_another_one_has(admin_client, main):
    Sender.objects.create(workspace=main, name="Agency")
    other = Sender.objects.create(workspace=main, name="Broker")
    page = reverse("admin:properties_sender_change", args=[other.pk])
    answer = admin_client.post(page, opened(admin_client, page, "sender_form") | {"name": "Agency"})
    assert list(answer.context["adminform"].form.errors) == ["name"]

"""The page of the platform's users: found, shown, tied to accounts by hand, read again."""

import re

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse
from django.utils.timezone import now

from orders.models import PlatformUser, UserList
from orders.platform_users import user_list
from tests.crm_sync.admin_pages import (
    make_workspace,
)
from tests.orders.admin_rows import LIST as ORDERS, make_order
from tests.orders.test_user_names import make_user
from tests.problems import answered, noted

pytestmark = pytest.mark.django_db

LIST = "/admin/orders/platformuser/"
READ = f"{LIST}read/"


def page(user: PlatformUser) -> str:
    return reverse("admin:orders_platformuser_change", args=[user.pk])


def found(client: Client, query: str) -> list[str]:
    return [row.platform_id for row in client.get(f"{LIST}?{query}").context["cl"].result_list]


def choose(client: Client, user: PlatformUser, account: object) -> tuple[int, list[str]]:
    """Choose as the page offers it; the status, and what is said to it."""
    text = client.get(page(user)).content.decode()
    seen = re.search(r'name="seen" value="([^"]*)"', text)
    posted = {"account": str(account), "seen": seen[1] if seen else ""}
    answer = client.post(f"{LIST}{user.pk}/account/", posted, follow=True)
    return answer.status_code, [str(one) for one in (answer.context or {}).get("messages", [])]


@pytest.mark.parametrize(
    ("query", "users"),
    [
        ("q=two", ["2"]),
        ("q=AGENT-1", ["1"]),
        ("q=%2B49+30", ["2"]),
        ("q=one@example", ["1"]),
        ("q=boss-of-three", ["3"]),
        ("gone=yes", ["3"]),
        ("gone=no", ["1", "2"]),
        ("account=none", ["1"]),
        ("account=email", ["2"]),
        ("account=hand", ["3"]),
        ("language=de", ["2"]),
        ("country=CH", ["1", "2"]),
        ("workspace=other", ["3"]),
        ("o=-0", ["2", "3", "1"]),
    ],
)
def test_the_list_is_filtered_searched_and_sorted(main, boss, query, users):
    two = User.objects.create_user("two", "2@example.com")
    three = User.objects.create_user("boss-of-three", "3@example.com")
    make_user(main, "1", email="one@example.com", country="CH")
    more = {"phone": "+49 30 1", "language": "de", "country": "CH", "user_reference_id": "B"}
    make_user(main, "2", name="Agent Two", account=two, **more)
    columns = {"account": three, "is_tied_by_hand": True, "user_reference_id": "C"}
    make_user(make_workspace("other"), "3", name="Agent Three", gone_at=now(), **columns)
    assert found(boss, query) == users


def test_the_page_shows_the_user_and_leads_to_their_orders(main, boss):
    user = make_user(main, email="one@example.com", phone="+49", language="de", country="CH")
    make_order(main, "5001", user_platform_id="101")
    make_order(main, "5002", user_platform_id="102")
    answer = boss.get(page(user))
    facts = {name: str(value) for name, value in answer.context["facts"]}
    assert facts["Name"] == "Agent One"
    assert (facts["Reference"], facts["Id on the platform"]) == ("AGENT-1", "101")
    assert (facts["E-mail"], facts["Phone"]) == ("one@example.com", "+49")
    assert (facts["Language"], facts["Country"], facts["Workspace"]) == ("de", "CH", "main")
    assert facts["Account here"] == "—"
    assert "Gone since" not in facts
    orders = boss.get(f"{ORDERS}?by={user.pk}")
    assert f"{ORDERS}?by={user.pk}" in answer.content.decode()
    assert [row.platform_id for row in orders.context["cl"].result_list] == ["5001"]
    PlatformUser.objects.update(gone_at=now())
    assert "Gone since" in dict(boss.get(page(user)).context["facts"])


def test_an_account_is_chosen_by_hand_given_to_nobody_and_left_to_the_e_mail(main, boss):
    one = User.objects.create_user("one", "ONE@example.com")
    other = User.objects.create_user("other", "other@example.com")
    user = make_user(main, email="one@example.com")

    def tie() -> tuple[int | None, bool]:
        return PlatformUser.objects.values_list("account", "is_tied_by_hand").get()

    assert choose(boss, user, other.pk) == (200, ["Account: other."])
    assert tie() == (other.pk, True)
    assert choose(boss, user, "nobody") == (200, ["Account: nobody."])
    assert tie() == (None, True)
    assert choose(boss, user, "email") == (200, ["Account: one."])
    assert tie() == (one.pk, False)
    assert noted() == ["Account: other.", "Account: nobody.", "Account: one."]


def test_what_somebody_else_has_changed_meanwhile_stays(main, boss):
    user = make_user(main)
    other = User.objects.create_user("other")
    posted = {"account": "nobody", "seen": "email None"}
    PlatformUser.objects.update(account=other, is_tied_by_hand=True)
    answer = boss.post(f"{LIST}{user.pk}/account/", posted, follow=True)
    (said,) = (str(one) for one in answer.context["messages"])
    assert said.startswith("Somebody has changed this meanwhile.")
    assert PlatformUser.objects.get().account == other
    for wrong in ({"account": "9999", "seen": ""}, {"account": "", "seen": ""}, {}):
        answer = boss.post(f"{LIST}{user.pk}/account/", wrong, follow=True)
        assert [str(one) for one in answer.context["messages"]] == [
            "Choose one of the accounts that there are."
        ]
    assert PlatformUser.objects.get().account == other
    assert boss.post(f"{LIST}999/account/", posted).status_code == 404


def test_an_account_that_is_chosen_and_not_active_any_more_stays_on_offer(main, boss):
    away = User.objects.create_user("away", is_active=False)
    User.objects.create_user("never", is_active=False)
    user = make_user(main, account=away, is_tied_by_hand=True)
    text = boss.get(page(user)).content.decode()
    assert f'<option value="{away.pk}" selected>away</option>' in text
    assert ">never<" not in text


def test_deleting_an_account_in_the_admin_leaves_the_user(main, boss):
    account = User.objects.create_user("one")
    user = make_user(main, account=account, is_tied_by_hand=True)
    answer = boss.post(f"/admin/auth/user/{account.pk}/delete/", {"post": "yes"}, follow=True)
    assert answer.status_code == 200
    assert not User.objects.filter(pk=account.pk).exists()
    assert PlatformUser.objects.get().account is None
    assert boss.get(page(user)).status_code == 200


def test_read_users_again_makes_every_workspace_due_and_rings(
    main, boss, rings, django_capture_on_commit_callbacks
):
    other = make_workspace("other")
    UserList.objects.create(workspace=main, due_at=now() + user_list.EVERY)
    assert "Not read yet: other" in boss.get(LIST).content.decode()
    before = now()
    with django_capture_on_commit_callbacks(execute=True):
        assert boss.post(READ).status_code == 302
    assert sorted(rings) == [("users", main.pk), ("users", other.pk)]
    assert UserList.objects.filter(due_at__gte=before, due_at__lte=now()).count() == 2
    assert boss.get(READ).status_code == 405


def test_the_list_says_when_it_was_read_and_why_it_was_not(main, boss):
    UserList.objects.create(workspace=main, due_at=now() + user_list.EVERY)
    assert "main: not read yet, next " in boss.get(LIST).content.decode()
    UserList.objects.update(read_at=now(), set_aside=2)
    text = boss.get(LIST).content.decode()
    assert "main: read " in text
    assert "2 without an id, not kept" in text
    UserList.objects.update(problem=answered("GET /v1/users", 503), attempts=2)
    said = "The platform is out of order at the moment."
    assert said in boss.get(LIST).content.decode()
    assert "users of the platform: " not in boss.get("/admin/").content.decode()
    UserList.objects.update(attempts=3)
    assert f"users of the platform: {said}" in boss.get("/admin/").content.decode()


def test_an_agent_sees_the_users_in_the_menu(main):
    agent = User.objects.create_user("agent", is_staff=True)
    agent.groups.add(Group.objects.get(name="Agents"))
    main.people.add(agent)
    client = Client()
    client.force_login(agent)
    make_user(main)
    assert found(client, "") == ["101"]
    assert "Platform users" in client.get("/admin/").content.decode()

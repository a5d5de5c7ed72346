"""A person is invited in one form: account, role, workspaces, user of the platform, and a link."""

import re
from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import override

from crm_sync.sentence import Sentence
from orders.models import PlatformUser
from tests.crm_sync.admin_pages import client_of, make_workspace
from tests.crm_sync.test_password_links import NEW, enter, follow, link_in
from tests.problems import noted

pytestmark = [pytest.mark.django_db, pytest.mark.once]
INVITE, USERS = "/admin/auth/user/invite/", "/admin/auth/user/"


@pytest.fixture(autouse=True)
def mails(settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    settings.PUBLIC_BASE_URL = "https://crm.example.com"


@pytest.fixture
def main():
    return make_workspace()


@pytest.fixture
def boss(db) -> Client:
    return client_of(superuser=True)


def platform_user(workspace, **columns) -> PlatformUser:
    known = {"platform_id": "101", "name": "Ada L.", "user_reference_id": "AGENT-1"}
    return PlatformUser.objects.create(workspace=workspace, **(known | columns))


def role(name: str) -> str:
    return str(Group.objects.get(name=name).pk)


def typed(**more) -> dict[str, object]:
    known = {"name": "Ada King Lovelace", "email": "ada@example.com", "group": role("Agents")}
    return known | more


def errors(answer) -> dict[str, list[str]]:
    return answer.context["form"].errors


@pytest.mark.rule("S17")
def test_one_form_makes_the_account_and_mails_a_link(boss, main):
    user = platform_user(main)
    assert "Invite…" in boss.get(USERS).content.decode()
    form = boss.get(INVITE).context["form"]
    assert form["workspaces"].value() == [main.pk]  # the only one is chosen
    posted = typed(workspaces=[main.pk], platform_user=user.pk)
    answer = boss.post(INVITE, posted)
    ada = User.objects.get(username="ada@example.com")
    assert answer["Location"] == reverse("admin:auth_user_change", args=[ada.pk])
    assert (ada.first_name, ada.last_name, ada.email) == (
        *("Ada King", "Lovelace"),
        "ada@example.com",
    )
    assert (ada.is_staff, ada.is_superuser, ada.has_usable_password()) == (True, False, False)
    assert [one.name for one in ada.groups.all()] == ["Agents"]
    assert list(ada.workspaces.all()) == [main]
    user.refresh_from_db()
    assert (user.account, user.is_tied_by_hand) == (ada, True)
    (sent,) = mail.outbox
    assert sent.to == ["ada@example.com"]
    assert "You can log in to CRM sync as ada@example.com." in sent.body
    assert follow(link_in(sent.body)).status_code == 302
    assert enter(NEW, "ada@example.com") == 302
    assert follow(link_in(sent.body)).status_code == 200  # it works once
    assert "Invited as Agents." in noted()
    with override("de"):
        stored = LogEntry.objects.values_list("change_message", flat=True)
        assert "Eingeladen als Maklerteam." in [Sentence.loaded(one).said() for one in stored]


def test_the_groups_of_a_new_installation_have_names_in_each_language(boss, main):
    """Those that its own people make keep the name that they gave it."""
    Group.objects.create(name="Zug")
    named = {
        "de": ["Betrieb", "Maklerteam", "Nur ansehen", "Zug"],
        "fr": ["Agents", "Consultation seule", "Exploitation", "Zug"],
        "it": ["Agenti", "Operatori", "Sola consultazione", "Zug"],
    }
    for language, names in named.items():
        for page in (INVITE, USERS, "/admin/auth/group/"):
            shown = boss.get(page, headers={"Accept-Language": language}).content.decode()
            assert [name for name in names if name not in shown] == [], (language, page)


@pytest.mark.parametrize("way", ["none", "down"])
def test_without_mail_the_link_is_shown_once(boss, main, settings, way):
    backends = {"none": "django.core.mail.backends.dummy.EmailBackend"}
    settings.EMAIL_BACKEND = backends.get(way, "tests.orders.test_notices.Down")
    answer = boss.post(INVITE, typed(workspaces=[main.pk]))
    text = answer.content.decode()
    why = {"none": "This installation sends no mail.", "down": "The mail could not be sent"}
    assert why[way] in text
    assert "It is shown only now." in text
    link = re.search(r"<pre[^>]*>https://crm.example.com(\S+)</pre>", text)[1]
    ada = User.objects.get(username="ada@example.com")
    assert link not in boss.get(reverse("admin:auth_user_change", args=[ada.pk])).content.decode()
    assert follow(link).status_code == 302
    assert enter(NEW, "ada@example.com") == 302


def test_a_wrong_input_is_named_and_makes_nobody(boss, main):
    other = make_workspace("other")
    user = platform_user(other)
    User.objects.create_user("someone", email="Taken@example.com")
    assert boss.get(INVITE).context["form"]["workspaces"].value() is None
    for posted, field, said in (
        (typed(), "workspaces", "Choose at least one: this role sees no other."),
        (
            typed(workspaces=[main.pk], platform_user=user.pk),
            "platform_user",
            "This user is of other, which is not chosen above.",
        ),
        (typed(email="taken@example.com"), "email", "There is an account with this address."),
        (typed(email="someone@"), "email", "Enter a valid email address."),
    ):
        assert errors(boss.post(INVITE, posted))[field] == [said]
    assert (User.objects.count(), mail.outbox) == (2, [])
    assert boss.post(INVITE, typed(group=role("Operators"))).status_code == 302


def test_a_user_who_is_gone_or_belongs_to_somebody_cannot_be_chosen(boss, main):
    taken = platform_user(main, account=User.objects.create_user("eve"))
    gone = platform_user(main, platform_id="102", gone_at=timezone.now())
    for one in (taken, gone):
        answer = boss.post(INVITE, typed(workspaces=[main.pk], platform_user=one.pk))
        assert "platform_user" in errors(answer)


@pytest.mark.rule("S17")
def test_who_may_not_make_accounts_invites_nobody_and_an_old_login_needs_the_password(main):
    for permissions in ((), ("auth.view_user",), ("auth.add_user",), ("auth.change_user",)):
        client = client_of(*permissions)
        assert client.get(INVITE).status_code == 403
        assert client.post(INVITE, typed(workspaces=[main.pk])).status_code == 403
    boss = User.objects.create_superuser("boss", password=NEW)
    client = Client()
    client.force_login(boss)
    session = client.session
    session["confirmed_at"] = (timezone.now() - timedelta(minutes=11)).isoformat()
    session.save()
    answer = client.post(INVITE, typed(workspaces=[main.pk]))
    assert errors(answer) == {"own_password": ["This is not your password."]}
    assert not User.objects.filter(username="ada@example.com").exists()
    answer = client.post(INVITE, typed(workspaces=[main.pk], own_password=NEW))
    assert answer.status_code == 302
    assert User.objects.filter(username="ada@example.com").exists()


def test_an_address_that_no_header_can_hold_has_the_link_shown(boss):
    odd = User.objects.create(username="ada", email="ada@ü..example", is_staff=True)
    posted = {"action": "send_link", "_selected_action": [str(odd.pk)]}
    text = boss.post(USERS, posted).content.decode()
    assert "The mail could not be sent (UnicodeError)" in text
    assert "It is shown only now." in text


def test_another_link_is_sent_to_one_person_and_ends_the_first_when_it_is_used(boss, main):
    boss.post(INVITE, typed(workspaces=[main.pk]))
    ada = User.objects.get(username="ada@example.com")
    posted = {"action": "send_link", "_selected_action": [str(ada.pk)]}
    answer = boss.post(USERS, posted)
    assert answer["Location"] == reverse("admin:auth_user_change", args=[ada.pk])
    first, second = (link_in(one.body) for one in mail.outbox)
    assert follow(second).status_code == 302
    assert follow(first).status_code == 200
    everybody = {
        "action": "send_link",
        "_selected_action": [str(one.pk) for one in User.objects.all()],
    }
    text = boss.post(USERS, everybody, follow=True).content.decode()
    assert "Choose one person who may log in here." in text
    assert len(mail.outbox) == 2

"""What a person chooses for herself: mails and time zone."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from orders.models import PersonSettings
from orders.models.news import News
from orders.people.preferences import choose
from tests.crm_sync.admin_pages import client_of

MINE = "/admin/orders/personsettings/mine/"
LIST = "/admin/orders/personsettings/"
ZURICH = "Europe/Zurich"


@pytest.fixture
def agent(db) -> Client:
    return client_of("orders.view_order")


def person_of(client: Client) -> User:
    return User.objects.get(pk=client.session["_auth_user_id"])


def save(client: Client, *kinds: str, whose: str = "mine", zone: str = ""):
    switches = {f"on_{kind}": "on" for kind in kinds}
    return client.post(MINE, {**switches, "only_mine": whose, "time_zone": zone}, follow=True)


def test_without_a_choice_nobody_gets_mail_and_looking_writes_nothing(agent):
    text = agent.get(MINE).content.decode()
    assert "Mail me when" in text
    assert " checked>" not in text
    assert not PersonSettings.objects.exists()


def test_what_is_chosen_is_due_from_then_on_and_shown_again(agent):
    before = timezone.now()
    assert "Saved." in save(agent, "action", "uncertain", whose="all", zone=ZURICH).content.decode()
    row = PersonSettings.objects.get()
    assert (row.person, row.kinds) == (person_of(agent), [News.UNCERTAIN, News.ACTION])
    assert (row.only_mine, row.time_zone) == (False, ZURICH)
    assert before <= row.told_until == row.due_at <= timezone.now()
    text = agent.get(MINE).content.decode()
    assert text.count(" checked>") == 2
    assert f'<option value="{ZURICH}" selected>' in text
    assert '<option value="all" selected>' in text


def test_another_choice_moves_no_watermark(agent):
    save(agent, "action")
    first = PersonSettings.objects.get()
    save(agent, "action", "delivered")
    second = PersonSettings.objects.get()
    assert second.kinds == [News.ACTION, News.DELIVERED]
    assert (second.told_until, second.due_at) == (first.told_until, first.due_at)


def test_who_wants_no_mail_any_more_is_due_no_more(agent):
    save(agent, "action")
    PersonSettings.objects.update(problem="it was down")
    save(agent)
    row = PersonSettings.objects.get()
    assert (row.kinds, row.due_at, row.told_until, row.problem) == ([], None, None, "")


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../../etc/passwd", "Etc/GMT+3", "\0"])
def test_a_zone_that_is_not_offered_is_refused_and_nothing_changes(agent, zone):
    save(agent, "action", zone="Asia/Tokyo")
    assert "Saved." not in save(agent, zone=zone).content.decode()
    row = PersonSettings.objects.get()
    assert (row.kinds, row.time_zone) == ([News.ACTION], "Asia/Tokyo")


def test_the_page_is_for_everybody_who_may_log_in_here_and_for_nobody_else(db):
    stranger = Client()
    assert stranger.get(MINE).status_code == 302
    assert save(stranger, "action").request["PATH_INFO"] == "/admin/login/"
    nobody = client_of()
    text = nobody.get(MINE).content.decode()
    assert "Mail me when" not in text
    assert "Time zone" in text
    save(nobody, zone=ZURICH)
    assert PersonSettings.objects.get().time_zone == ZURICH
    assert nobody.get("/admin/").content.decode().count(MINE) == 1


def test_each_has_their_own(agent, boss):
    save(agent, "action")
    save(boss, "delivered", whose="all")
    assert {row.person: row.kinds for row in PersonSettings.objects.all()} == {
        person_of(agent): [News.ACTION],
        person_of(boss): [News.DELIVERED],
    }


def test_the_page_says_why_no_mail_arrives(agent, settings):
    assert "no e-mail address" in agent.get(MINE).content.decode()
    assert "sends no mail yet" not in agent.get(MINE).content.decode()
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    assert "sends no mail yet" in agent.get(MINE).content.decode()
    User.objects.update(email="agent@example.com")
    save(agent, "action")
    PersonSettings.objects.update(problem="Connection refused <b>")
    text = agent.get(MINE).content.decode()
    assert "To agent@example.com, one mail" in text
    assert "no e-mail address" not in text
    assert "could not be sent: Connection refused &lt;b&gt; Next try" in text


def test_operators_see_who_gets_mail_and_others_do_not(agent, boss):
    save(agent, "action")
    save(boss, zone=ZURICH)
    PersonSettings.objects.update(problem="Connection refused")
    text = boss.get(LIST).content.decode()
    assert person_of(agent).username in text
    assert "Connection refused" in text
    assert text.count("Only own orders") == 1
    assert agent.get(LIST).status_code == 403


def test_an_operator_has_a_mail_tried_again(agent, boss):
    save(agent, "action")
    later = timezone.now() + timedelta(hours=1)
    PersonSettings.objects.update(problem="Connection refused", due_at=later)
    keys = [row.pk for row in PersonSettings.objects.all()]
    boss.post(LIST, {"action": "try_again", "_selected_action": keys})
    assert PersonSettings.objects.get().due_at <= timezone.now()


def test_the_database_refuses_who_wants_mail_and_is_never_due(agent):
    choose(
        person_of(agent),
        kinds=[News.ACTION],
        only_mine=True,
        time_zone="",
        language="",
        now=timezone.now(),
    )
    with pytest.raises(IntegrityError, match="who_wants_mail"), transaction.atomic():
        PersonSettings.objects.update(due_at=None)

"""The language of a person: of their pages, mails and calendar, whoever caused them."""

import re
from datetime import timedelta

import pytest
from django.conf import settings as django_settings
from django.core import mail
from django.test import Client
from django.utils import translation

from orders.models import PersonSettings, PlatformUser
from orders.people.language_of_person import language_of
from orders.people.preferences import settings_of
from tests.crm_sync.admin_pages import client_of
from tests.orders.admin_rows import make_order
from tests.orders.conftest import now
from tests.orders.test_calendar import appointment, events, make_address
from tests.orders.test_notices import agent as mailed, cancelled, drain
from tests.orders.test_person_settings import MINE, person_of


@pytest.fixture
def agent(db) -> Client:
    return client_of("orders.view_order")


def language_of_page(client: Client, address: str = MINE, browser: str = "") -> str:
    text = client.get(address, headers={"accept-language": browser}).content.decode()
    return re.search(r'<html[^>]* lang="([^"]+)"', text).group(1)


def tied(client: Client, workspace, language: str, **columns: object) -> None:
    PlatformUser.objects.create(
        workspace=workspace,
        platform_id=f"U-{language}",
        language=language,
        account=person_of(client),
        **columns,
    )


def test_a_page_is_in_the_language_of_the_browser_if_nobody_knows_better(agent):
    assert language_of_page(agent, browser="fr-CH,fr;q=0.9") == "fr"
    assert language_of_page(agent, browser="de-CH") == "de-ch"
    assert language_of_page(agent, browser="ja") == "en"


def test_the_account_on_the_platform_goes_before_the_browser(agent, workspace):
    tied(agent, workspace, "DE")
    assert language_of_page(agent, browser="fr") == "de"


def test_the_browser_says_in_which_country_the_language_of_the_account_is_read(agent, workspace):
    tied(agent, workspace, "de")
    assert language_of_page(agent, browser="de-CH") == "de-ch"
    PersonSettings.objects.update_or_create(person=person_of(agent), defaults={"language": "de"})
    assert language_of_page(agent, browser="de-CH") == "de"


def test_a_language_that_is_not_offered_or_of_a_user_who_is_gone_does_not_count(agent, workspace):
    tied(agent, workspace, "rm")
    tied(agent, workspace, "de", gone_at="2026-01-01T00:00:00Z")
    assert language_of_page(agent, browser="fr") == "fr"


def test_what_the_person_chose_goes_before_all(agent, workspace):
    tied(agent, workspace, "de")
    chosen = {"only_mine": "mine", "time_zone": "", "language": "fr"}
    answer = agent.post(MINE, chosen, follow=True)
    assert answer.status_code == 200
    assert PersonSettings.objects.get().language == "fr"
    assert language_of_page(agent, browser="de") == "fr"


def test_a_language_that_is_no_choice_is_refused(agent):
    chosen = {"only_mine": "mine", "time_zone": "", "language": "xx"}
    assert "Select a valid choice" in agent.post(MINE, chosen).content.decode()
    assert not PersonSettings.objects.exists()


def test_the_page_of_the_login_is_in_the_language_of_the_browser(client, db):
    assert language_of_page(client, "/admin/login/", browser="fr") == "fr"


def test_what_programs_read_is_english_whatever_they_ask_for(client, db):
    usual = client.get("/api/v1/properties/")
    asked = client.get("/api/v1/properties/", headers={"accept-language": "fr"})
    assert (usual.status_code, asked.json()) == (401, usual.json())


def test_one_request_leaves_no_language_behind(agent):
    language_of_page(agent, browser="fr")
    assert translation.get_language() == django_settings.LANGUAGE_CODE


@pytest.mark.parametrize(("code", "known"), [("de_CH", "de-ch"), ("FR", "fr"), ("de-AT", "de")])
def test_a_language_is_known_as_people_and_programs_write_it(agent, workspace, code, known):
    tied(agent, workspace, code)
    assert language_of(settings_of(person_of(agent))) == known


@pytest.mark.parametrize(
    ("language", "subject", "line"),
    [
        ("", "Orders: 1 was cancelled", "What happened since "),
        ("de-ch", "Aufträge: 1 wurde storniert", "Was seit "),
        ("fr", "Commandes\u00a0: 1 a été annulée", "Ce qui "),
    ],
)
def test_a_mail_is_in_the_language_of_who_gets_it(workspace, language, subject, line):
    person = mailed()
    PersonSettings.objects.filter(person=person).update(language=language)
    cancelled(make_order(workspace))
    assert drain() == {"sent": 1}
    (sent,) = mail.outbox
    assert sent.subject == subject
    assert sent.body.startswith(line)


def test_a_calendar_is_in_the_language_of_its_person(agent, workspace, client):
    PersonSettings.objects.create(person=person_of(agent), language="fr")
    appointment(workspace, at=now() + timedelta(days=1))
    (event,) = events(client, make_address(agent))
    assert str(event["DESCRIPTION"]).startswith("Commande ")

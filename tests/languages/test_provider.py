"""The login with a provider, in the language of the reader."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from crm_sync.security import provider_login
from tests.crm_sync.provider_server import DISCOVERY, TOKEN, serving
from tests.crm_sync.test_provider_login import START, begin, enter, let_log_in
from tests.languages.pseudo import CODE, NAMES, untranslated

LOGIN = "/admin/login/"
DATA = (*NAMES, "127.0.0.1", "s-1", "Agents", "Operators", "Read-only")


@pytest.fixture
def there(settings):
    with serving() as one:
        let_log_in(settings, one)
        yield one


def shown(answer) -> list[str]:
    assert answer.status_code == 200
    return untranslated(answer.content.decode(), DATA)


def at_the_login(answer) -> list[str]:
    """Return what is not translated where this answer leads."""
    page = answer.client.get(answer["Location"])
    assert len(page.context["messages"]) == 1
    return shown(page)


def test_each_text_of_a_login_with_a_provider_is_translated(reader, there, settings):
    stranger = Client(headers={"accept-language": CODE})
    person = User.objects.get()
    assert shown(stranger.get(LOGIN)) == []
    for changed in ({"groups": []}, {"preferred_username": person.username}):
        there.claims = {"sub": "s-1", "groups": ["Agents"]} | changed
        assert at_the_login(enter(there, stranger)) == []
    provider_login.connect(person, "s-1")
    for people in (0, 1):
        User.objects.filter(pk=person.pk).update(is_staff=False)
        if people:
            User.objects.create_superuser("Agents")
        assert at_the_login(enter(there, stranger)) == []
    there.answers[TOKEN] = 400, {"error": "invalid_grant"}
    assert at_the_login(enter(there, stranger)) == []
    begin(stranger)
    state = stranger.session[provider_login.PENDING]["state"]
    for _ in range(2):  # the person gave up there, and tries again
        assert at_the_login(stranger.get(f"{START}back/", {"state": state})) == []
    there.answers[DISCOVERY] = 500, {}
    provider_login.provider.forget()
    assert at_the_login(stranger.get(START)) == []
    settings.OIDC_ONLY = True
    User.objects.create_user("eve", password="a-very-good-password", is_staff=True)
    entered = {"username": "eve", "password": "a-very-good-password"}
    assert shown(stranger.post(LOGIN, entered)) == []


def test_each_text_of_the_page_of_an_account_is_translated(reader, there, settings):
    page = f"/admin/auth/user/{User.objects.get().pk}/change/"
    with_provider = reader.get(page)
    assert "provider_subject" in with_provider.content.decode()
    settings.OIDC_ISSUER = ""
    assert set(shown(with_provider)) <= set(shown(reader.get(page)))  # it adds none

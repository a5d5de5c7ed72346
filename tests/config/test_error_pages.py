"""A page that cannot be shown says in words what happened and what to do."""

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError
from django.test import Client, RequestFactory

from crm_sync.api.error_answers import bad_request, server_error

NOT_DONE = "Nothing was changed."


def test_a_page_that_is_not_there_is_a_404_that_leads_to_the_overview(db):
    answer = Client(headers={"Host": "localhost"}).get("/nothing/")
    assert answer.status_code == 404
    text = answer.content.decode()
    assert "There is no such page" in text
    assert 'href="/admin/"' in text


def test_who_may_not_do_something_learns_whom_to_ask(db):
    viewer = User.objects.create_user("viewer", is_staff=True)
    client = Client(headers={"Host": "localhost"})
    client.force_login(viewer)
    answer = client.get("/admin/auth/user/")
    assert (answer.status_code, NOT_DONE in answer.content.decode()) == (403, True)
    assert "ask an operator" in answer.content.decode()


def test_a_form_without_its_token_says_that_it_is_out_of_date(db):
    client = Client(enforce_csrf_checks=True, headers={"Host": "localhost"})
    answer = client.post("/admin/login/", {"username": "somebody"})
    assert (answer.status_code, NOT_DONE in answer.content.decode()) == (403, True)
    assert "This form is out of date" in answer.content.decode()


def test_a_wrong_host_is_a_400_in_the_format_of_the_api_and_a_page_elsewhere():
    client = Client(headers={"Host": "x"})
    answer = client.get("/api/v1/workspaces/main/properties")
    text = "The header Host has an address that is not served here."
    assert answer.status_code == 400
    assert answer.json() == {"code": "bad_request", "message": text, "fields": []}
    page = client.get("/admin/")
    assert (page.status_code, "This request cannot be read" in page.text) == (400, True)


@pytest.mark.parametrize(
    ("status", "words"),
    [(400, "This request cannot be read"), (500, "Something went wrong here")],
)
def test_what_cannot_be_answered_needs_no_database(status, words):
    request = RequestFactory().get("/admin/")
    answer = server_error(request) if status == 500 else bad_request(request, ValueError())
    assert (answer.status_code, words in answer.content.decode()) == (status, True)


@pytest.mark.parametrize("language", ["en", "de"])
def test_while_the_database_does_not_answer_a_page_says_so_and_when_to_come_back(language):
    request = RequestFactory().get("/admin/", headers={"Accept-Language": language})
    try:
        raise OperationalError("canary: database is locked")
    except OperationalError:
        answer = server_error(request)
    words = {"en": "The database does not answer now", "de": "Die Datenbank antwortet gerade nicht"}
    assert (answer.status_code, answer["Retry-After"]) == (503, "30")
    assert (words[language] in answer.text, "canary" in answer.text) == (True, False)

"""Connecting a workspace in the admin: what is asked, what is stored, and that nothing is shown."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import ADDITION, LogEntry
from django.urls import reverse
from django.utils import timezone

from crm_sync.models import Workspace
from tests.conftest import PLATFORM, TOKEN
from tests.crm_sync.admin_pages import SECRETS, client_of, make_workspace
from tests.problems import noted

pytestmark = [pytest.mark.django_db, pytest.mark.once]
ADD = "/admin/crm_sync/workspace/add/"
ENTERED = {"slug": "second", "base_url": PLATFORM, "token": TOKEN, "step": "save"}
READ = [("GET", "/v1/users")]


def credentials(workspace: Workspace) -> str:
    return reverse("admin:crm_sync_workspace_credentials", args=[workspace.pk])


def said(response) -> list[str]:
    return [str(one) for one in response.context["messages"]]


def errors(response) -> list[str]:
    return [text for texts in response.context["form"].errors.values() for text in texts]


def asked(box) -> list[tuple[str, str]]:
    return [(method, path) for method, path, _, _ in box.calls]


def test_a_workspace_is_connected_after_the_platform_was_asked(box, boss):
    now = timezone.now()
    answer = boss.post(ADD, ENTERED, follow=True)
    assert said(answer) == ["Connected."]
    added = Workspace.objects.get()
    assert (added.slug, added.base_url, added.fixed_token) == ("second", PLATFORM, TOKEN)
    assert added.credentials_at is not None
    assert added.credentials_at >= now
    assert asked(box) == READ
    line = LogEntry.objects.get()
    assert (line.action_flag, line.object_id) == (ADDITION, str(added.pk))
    assert noted()[-1] == f"Credentials: fixed token, at {PLATFORM}."


def test_client_credentials_are_taken_too(box, boss):
    boss.post(ADD, ENTERED | {"token": "", "client_id": "client", "secret": "secret"})
    added = Workspace.objects.get()
    assert (added.fixed_token, added.client_id, added.client_secret) == ("", "client", "secret")


def test_what_the_platform_does_not_accept_is_not_stored(box, boss):
    answer = boss.post(ADD, ENTERED | {"token": "wrong-token"})
    text = "The platform does not accept our credentials. Nothing was saved."
    assert errors(answer) == [text]
    assert not Workspace.objects.exists()
    assert "wrong-token" not in answer.content.decode()
    boss.post(ADD, ENTERED | {"token": "wrong-token", "unchecked": "on"})
    assert Workspace.objects.get().fixed_token == "wrong-token"


@pytest.mark.parametrize(
    ("entered", "error"),
    [
        ({"token": ""}, "Enter either the fixed token, or the client id with its secret."),
        ({"client_id": "x"}, "Enter either the fixed token, or the client id with its secret."),
        ({"token": "", "client_id": "x"}, "Enter either the fixed token, or the client id with"),
        ({"base_url": "http://example.com"}, "The token would be sent unencrypted"),
        ({"base_url": "nothing"}, "The address is not an http(s) address."),
        ({"slug": "a b"}, "A name has letters, digits, hyphens and underscores only."),
        ({"slug": "main"}, "There is a workspace of this name already."),
    ],
)
def test_what_cannot_be_is_refused_and_nobody_is_asked(box, boss, main, entered, error):
    answer = boss.post(ADD, ENTERED | entered)
    assert [text[: len(error)] for text in errors(answer)] == [error]
    assert asked(box) == []
    assert Workspace.objects.count() == 1


@pytest.mark.rule("S5")
def test_no_answer_shows_what_is_stored_or_was_typed(box, boss):
    workspace = make_workspace(credentials_at=timezone.now())
    page = credentials(workspace)
    typed = {
        "base_url": "nothing",
        "token": "typed-token",
        "secret": "typed-secret",
        "step": "save",
    }
    for answer in (boss.get(page), boss.post(page, typed), boss.post(page, {"step": "test"})):
        text = answer.content.decode()
        hidden = [*SECRETS.values(), "typed-token", "typed-secret"]
        assert [one for one in hidden if one in text] == []
        assert "no-store" in answer["Cache-Control"]
    text = boss.get(page).content.decode()
    assert "A fixed token is stored since " in text
    assert 'type="password"' in text


def test_new_credentials_replace_the_old_ones_and_the_log_has_no_value(box, boss):
    workspace = make_workspace(client_id="crm", problem="401", pauses=3)
    entered = {"base_url": PLATFORM, "token": TOKEN, "step": "save"}
    assert said(boss.post(credentials(workspace), entered, follow=True)) == [
        "The new credentials are stored."
    ]
    workspace.refresh_from_db()
    stored = (workspace.fixed_token, workspace.client_id, workspace.client_secret)
    assert stored == (TOKEN, "", "")
    assert (workspace.problem, workspace.auth_secret) == ("", SECRETS["auth_secret"])
    message = noted()[0]
    assert message == f"Credentials: fixed token, at {PLATFORM}."


def test_an_address_is_never_changed_without_entering_the_credentials_again(box, boss):
    workspace = make_workspace()
    boss.post(credentials(workspace), {"base_url": PLATFORM, "step": "save", "unchecked": "on"})
    workspace.refresh_from_db()
    assert workspace.base_url == "https://platform.test"
    assert asked(box) == []


def test_a_test_reads_once_and_says_in_one_sentence_how_that_went(box, boss):
    workspace = make_workspace(base_url=PLATFORM, fixed_token=TOKEN)
    page = credentials(workspace)
    works = ["The platform answers, and accepts the credentials."]
    assert said(boss.post(page, {"step": "test"}, follow=True)) == works
    assert asked(box) == READ
    Workspace.objects.update(base_url=PLATFORM)
    workspace.fixed_token = "wrong"
    workspace.save()
    refused = ["The platform does not accept our credentials."]
    assert said(boss.post(page, {"step": "test"}, follow=True)) == refused
    Workspace.objects.update(base_url="http://nowhere.test")
    away = ["The platform cannot be reached."]
    assert said(boss.post(page, {"step": "test"}, follow=True)) == away


def test_a_test_says_when_the_clocks_differ(box, boss):
    box.now = lambda: timezone.now() + timedelta(hours=2)
    workspace = make_workspace(base_url=PLATFORM, fixed_token=TOKEN)
    (text,) = said(boss.post(credentials(workspace), {"step": "test"}, follow=True))
    assert text.startswith("The platform answers, but its clock is ")
    assert text.endswith(" ahead of ours.")


def test_who_may_not_change_a_workspace_neither_adds_nor_tests(box, main):
    viewer = client_of("crm_sync.view_workspace")
    page = credentials(main)
    assert [viewer.get(one).status_code for one in (ADD, page)] == [403, 403]
    assert viewer.post(page, {"step": "test"}).status_code == 403
    assert viewer.post(ADD, ENTERED).status_code == 403
    assert asked(box) == []
    assert Workspace.objects.count() == 1

"""kill -9 of the web between the answer of the provider and the session of a person (S25)."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.crm_sync.provider_server import CLIENT, SECRET, TOKEN, Provider, serving
from tests.journeys.rows import ask, everything, standing, stands
from tests.processes import Installation, wait_until

CONFIGURATION = """
version: 1
workspaces:
  - {slug: main, base_url: https://platform.example, token: env:PLATFORM_TOKEN}
  - {slug: zuerich, base_url: https://platform.example, token: env:PLATFORM_TOKEN}
"""
GROUPS = """
select username, name from auth_user_groups as joined
join auth_user on auth_user.id = user_id join auth_group on auth_group.id = group_id
"""
WORKSPACES = """
select username, slug from crm_sync_workspace_people as joined
join auth_user on auth_user.id = user_id join crm_sync_workspace as w on w.id = workspace_id
"""
HISTORY = "select count(*) from django_admin_log"
# The first login of somebody, and one after which they may do something else.
LOGINS = [("Agents", "main", 2), ("Operators", "zuerich", 3)]


class Browser(requests.Session):
    """Follows no redirect."""

    def __init__(self, installation: Installation) -> None:
        super().__init__()
        self.home = f"http://127.0.0.1:{installation.web_port}/admin/"

    def open(self, address: str = "") -> requests.Response:
        return self.get(self.home + address.removeprefix(self.home), allow_redirects=False)

    @property
    def is_in(self) -> bool:
        return self.open().status_code == 200


@contextmanager
def at_the_provider(provider: Provider, _: str) -> Iterator[Callable[[], bool]]:
    """The code is used, and the answer does not come."""
    used, ended = threading.Event(), threading.Event()

    def hang() -> tuple[int, Any]:
        used.set()
        ended.wait(60)
        return 500, {}

    provider.answers[TOKEN] = hang
    yield used.is_set
    ended.set()
    del provider.answers[TOKEN]


@contextmanager
def in_the_insert(table: str, _: Provider, url: str) -> Iterator[Callable[[], bool]]:
    with standing(url, table):
        yield partial(stands, url)


MOMENTS = {
    "at the provider": at_the_provider,
    "half an account": partial(in_the_insert, "auth_user_groups"),
    "without a session": partial(in_the_insert, "django_session"),
}


@pytest.fixture
def provider() -> Iterator[Provider]:
    with serving() as one:
        yield one


@pytest.fixture
def installation(tmp_path: Path, database_url: str, provider: Provider) -> Iterator[Installation]:
    ours = {"OIDC_ISSUER": provider.issuer, "OIDC_CLIENT_ID": CLIENT, "OIDC_CLIENT_SECRET": SECRET}
    one = Installation(tmp_path, database_url, OIDC_INTERNAL_HOSTS="127.0.0.1", **ours)
    file = tmp_path / "crm.yaml"
    file.write_text(CONFIGURATION)
    one.manage("config", "apply", str(file))
    one.start_web()
    yield one
    one.stop()


@pytest.mark.rule("S25")
@pytest.mark.processes
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_login_whose_web_is_killed_leaves_nothing_half_done_and_its_answer_works_no_more(
    installation, database_url, provider, moment
):
    browser = Browser(installation)
    for group, workspace, lines in LOGINS:
        provider.claims = {"sub": "s-1", "preferred_username": "ada"}
        provider.claims |= {"groups": [group], "workspaces": [workspace]}
        browser.cookies.clear()
        before = rows(database_url)
        back = provider.authorize(browser.open("login/provider/").headers["Location"])
        codes = dict(provider.codes)
        with MOMENTS[moment](provider, database_url) as is_there:
            going = threading.Thread(target=cut_off, args=(browser, back))
            going.start()
            wait_until(moment, is_there, limit=30)
            installation.kill("web")
            going.join()
        if moment != "without a session":
            assert rows(database_url) == before
        installation.start_web()
        provider.codes = codes  # as of a provider that takes each code twice
        asked = len(provider.asked)
        assert browser.open(back).headers["Location"] == "/admin/login/"
        assert (provider.asked[asked:], browser.is_in) == ([], False)

        again = provider.authorize(browser.open("login/provider/").headers["Location"])
        assert browser.open(again).headers["Location"] == "/admin/"
        assert browser.is_in
        assert ask(database_url, GROUPS) == [("ada", group)]
        assert ask(database_url, WORKSPACES) == [("ada", workspace)]
        assert ask(database_url, HISTORY) == [(lines,)]


def cut_off(browser: Browser, address: str) -> None:
    """Open a page whose answer never comes."""
    with suppress(requests.ConnectionError):
        browser.open(address)


def rows(url: str) -> dict[str, Any]:
    """Return all rows but sessions."""
    return {name: found for name, found in everything(url).items() if name != "django_session"}

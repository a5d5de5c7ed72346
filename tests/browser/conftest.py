"""A headless Chromium in front of the real admin."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, Page, sync_playwright

PASSWORD = "a-long-test-password"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        reason = "no Chromium on this machine: the browser tests are skipped"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    # Playwright runs an event loop in this thread, and Django would refuse the database there.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        started = playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield started
        started.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


def picture(page, name: str) -> None:
    """Keep a picture for who wants to look at it."""
    if folder := os.environ.get("PICTURES"):
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


class Visit:
    """One browser window; remembers what a page must not do."""

    def __init__(
        self,
        browser: Browser,
        address: str,
        *,
        width: int = 1400,
        theme: str = "light",
        zone: str = "UTC",
        has_script: bool = True,
    ):
        self.address = address
        self.foreign: list[str] = []
        self.errors: list[str] = []
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=theme,
            base_url=address,
            timezone_id=zone,
            java_script_enabled=has_script,
        )
        context.set_default_timeout(30_000)
        self.page: Page = context.new_page()
        self.page.on("request", self._note_request)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("response", self._note_response)

    def log_in(self) -> Page:
        """Open the first page as somebody who has logged in before."""
        client = Client()
        client.force_login(User.objects.create_superuser("agent", "", PASSWORD))
        name = settings.SESSION_COOKIE_NAME
        cookie = {"name": name, "value": client.cookies[name].value, "url": self.address}
        self.page.context.add_cookies([cookie])
        self.page.goto("/admin/")
        return self.page

    def log_in_by_form(self) -> Page:
        User.objects.create_superuser("agent", "", PASSWORD)
        self.page.goto("/admin/login/")
        self.page.fill("[name=username]", "agent")
        self.page.fill("[name=password]", PASSWORD)
        self.page.click("button[type=submit]")
        self.page.wait_for_url("**/admin/")
        return self.page

    def _note_request(self, request) -> None:
        if not request.url.startswith((self.address, "data:", "blob:")):
            self.foreign.append(request.url)

    def _note_response(self, response) -> None:
        if response.status >= 400:
            self.errors.append(f"{response.status} {response.url}")


@pytest.fixture
def visit(browser: Browser, live_server):
    """Open windows on the live server, all closed at the end."""
    opened: list[Visit] = []

    def open_one(**options) -> Visit:
        opened.append(Visit(browser, live_server.url, **options))
        return opened[-1]

    yield open_one
    for one in opened:
        one.page.context.close()


@pytest.fixture
def reads() -> tuple[str, int]:
    """Return the language of the person and the width of the window; tests may choose others."""
    return "en", 1400

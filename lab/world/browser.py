"""The browser of somebody who works in our admin: its cookies, and what its pages post."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from http.cookies import SimpleCookie
from typing import Any

import requests

from lab.world.wires import OURS, Reply, Wires
from tests.properties.form_page import FormReader

LOGIN = "/admin/login/"
PASSWORD = "as long as a person can remember"
Values = dict[str, list[str]]


@dataclass(frozen=True)
class Page:
    """What an answer shows: a page, or where the browser is sent."""

    status: int
    location: str
    body: bytes

    @property
    def asks_to_log_in(self) -> bool:
        return self.location.startswith(LOGIN)

    def form(self, attribute: str, value: str) -> Values:
        """Return what the form with this attribute posts untouched; {} if there is none."""
        reader = _Reader(attribute, value)
        reader.feed(self.body.decode())
        return reader.data

    def hidden(self, name: str) -> str | None:
        """Return the value of a hidden input of this name, the first one on the page."""
        found = re.search(rf'name="{name}" value="([^"]*)"', self.body.decode())
        return found and found[1]


class _Reader(FormReader):
    def __init__(self, attribute: str, value: str) -> None:
        super().__init__()
        self._of = (attribute, value)

    def begins(self, form: dict[str, str | None]) -> bool:
        return self._of in form.items()


Got = Callable[[Page | None], None]  # None if no answer came


class Browser:
    """It logs its person in when a page asks for that."""

    def __init__(self, wires: Wires, username: str) -> None:
        self.wires, self.username = wires, username
        self._cookies = dict[str, str]()

    def open(self, path: str, got: Got) -> None:
        """Open a page; if it asks for a login, log in, and open it once more."""

        def opened(page: Page | None) -> None:
            if page is not None and page.asks_to_log_in:
                self._log_in(lambda: self.get(path, got))
            else:
                got(page)

        self.get(path, opened)

    def get(self, path: str, got: Got) -> None:
        """Open a page as it is answered."""
        self._send("GET", path, None, got)

    def post(self, path: str, values: Values, got: Got) -> None:
        """Post the values of a form."""
        token = {"csrfmiddlewaretoken": [self._cookies.get("csrftoken", "")]}
        self._send("POST", path, token | values, got)

    def _log_in(self, then: Callable[[], None]) -> None:
        known = {"username": [self.username], "password": [PASSWORD]}

        self.get(LOGIN, lambda _: self.post(LOGIN, known, lambda _: then()))

    def _send(self, method: str, path: str, values: Any, got: Got) -> None:
        cookies = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        request = requests.Request(method, f"{OURS}{path}", {"Cookie": cookies}, data=values)
        self.wires.send(request, lambda reply: got(reply and self._read(reply)))

    def _read(self, reply: Reply) -> Page:
        named = {name.lower(): value for name, value in reply.headers}
        for name, value in reply.headers:
            if name.lower() == "set-cookie":
                self._cookies |= {key: one.value for key, one in SimpleCookie(value).items()}
        return Page(reply.status, named.get("location", ""), reply.body)

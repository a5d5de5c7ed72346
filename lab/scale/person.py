"""What a person does with the admin, over HTTP as a browser would."""

import re
from pathlib import Path

import requests

from tests.processes import Installation

NAME, PASSWORD = "scale", "a password of this run"
UPLOADS = "/admin/properties/import/"
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
TAG = re.compile(r"<[^>]+>")


class Person:
    """Somebody who may do everything, logged in."""

    def __init__(self, installation: Installation) -> None:
        who = {"DJANGO_SUPERUSER_PASSWORD": PASSWORD, "DJANGO_SUPERUSER_EMAIL": "a@example.com"}
        installation.environment |= who
        installation.manage("createsuperuser", "--noinput", "--username", NAME)
        self.address = f"http://127.0.0.1:{installation.web_port}"
        self.session = requests.Session()
        self._post("/admin/login/", {"username": NAME, "password": PASSWORD, "next": "/admin/"})

    def upload(self, workspace: int, path: Path) -> None:
        """Hand a file in, wherever its preview stands."""
        with path.open("rb") as file:
            self._post(f"{UPLOADS}add/", {"workspace": workspace}, {"file": (path.name, file)})

    def release(self, upload: int) -> None:
        self._post(UPLOADS, {"action": "release", "_selected_action": upload})

    def overview(self) -> str:
        """The words of the first page."""
        return " ".join(TAG.sub(" ", self._get("/admin/")).split())

    def _get(self, path: str) -> str:
        answer = self.session.get(self.address + path, timeout=30)
        answer.raise_for_status()
        return answer.text

    def _post(self, path: str, fields: dict, files: dict | None = None) -> None:
        token = TOKEN.search(self._get(path))[1]
        fields = {"csrfmiddlewaretoken": token, **fields}
        headers = {"Referer": self.address + path}
        answer = self.session.post(
            self.address + path, fields, files=files, headers=headers, timeout=60
        )
        answer.raise_for_status()
        assert "errornote" not in answer.text, TAG.sub(" ", answer.text)

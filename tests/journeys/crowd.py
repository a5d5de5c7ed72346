"""Everybody at once: logins, pages, exports and programs, all the time.

python -m tests.journeys.crowd setup N        a workspace with N properties; prints how to call it
python -m tests.journeys.crowd run URL HOW    calls until it is stopped; prints the answers by kind
"""

import json
import os
import signal
import sys
import threading
from collections import Counter
from contextlib import suppress
from itertools import count

import requests

KINDS = {"login": 16, "page": 4, "export": 2, "placement": 20, "workers": 4, "patch": 4}
PAGES = ("", "properties/property/", "orders/order/", "crm_sync/receivedevent/")
NAMES = 80_000  # nearly as many as a body may hold
PATIENCE = 120.0  # seconds


def setup(number: str) -> None:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from django.contrib.auth.models import User
    from django.test import Client
    from django.utils.timezone import now

    from crm_sync.api import tokens
    from crm_sync.models import Workspace
    from properties.models import Property
    from tests.api import EVERYTHING
    from tests.journeys.callers import SECRET

    workspace = Workspace.objects.create(
        slug="main",
        base_url=os.environ["SANDBOX_URL"],
        fixed_token=os.environ["PLATFORM_TOKEN"],
        auth_secret=SECRET,
    )
    Property.objects.bulk_create(
        Property(
            workspace=workspace,
            object_reference_id=f"P-{n}",
            platform_id=f"{n}",
            desired={"title": f"Flat {n}"},
        )
        for n in range(int(number))
    )
    browser = Client()
    browser.force_login(User.objects.create_superuser("boss", password="a-very-good-password"))
    _, token = tokens.issue(workspace, name="ERP", scopes=EVERYTHING, now=now())
    how = {"hook": workspace.callback_url, "token": token}
    print(json.dumps(how | {"session": browser.cookies["sessionid"].value}))


class Crowd:
    """Callers of one web; `answers` counts by kind what was begun, and each status."""

    def __init__(self, url: str, how: dict[str, str]) -> None:
        self.url, self.how = url, how
        self.answers: Counter[str] = Counter()

    def run(self) -> None:
        for kind, number in KINDS.items():
            for n in range(number):
                threading.Thread(target=self.call, args=(kind, n), daemon=True).start()

    def call(self, kind: str, mine: int) -> None:
        session = requests.Session()
        session.trust_env = False
        if kind in ("page", "export"):
            session.cookies["sessionid"] = self.how["session"]
        if kind in ("placement", "patch"):
            session.headers["Authorization"] = f"Bearer {self.how['token']}"
        for n in count():
            self.answers[f"{kind} begun"] += 1
            with suppress(requests.RequestException):
                answer = getattr(self, kind)(session, f"{mine}-{n}")
                self.answers[f"{kind} {answer.status_code}"] += 1

    def login(self, session: requests.Session, n: str) -> requests.Response:
        return self.submit(session, "/admin/login/", username=f"nobody-{n}", password="wrong")

    def page(self, session: requests.Session, n: str) -> requests.Response:
        page = PAGES[int(n.split("-", maxsplit=1)[0]) % len(PAGES)]
        return session.get(f"{self.url}/admin/{page}", timeout=PATIENCE)

    def export(self, session: requests.Session, n: str) -> requests.Response:
        chosen = {"action": "export_xlsx", "select_across": "1", "_selected_action": "1"}
        return self.submit(session, "/admin/properties/property/", **chosen)

    def placement(self, session: requests.Session, n: str) -> requests.Response:
        wish = {"user": "AGENT-1", "products": ["GROUND_PHOTO"]}
        path, key = "/api/v1/properties/P-1/placements", {"Idempotency-Key": n}
        return session.post(self.url + path, json=wish, headers=key, timeout=PATIENCE)

    def workers(self, session: requests.Session, n: str) -> requests.Response:
        return session.get(f"{self.url}/workersz", timeout=PATIENCE)

    def patch(self, session: requests.Session, n: str) -> requests.Response:
        names = {f"n{number}": 1 for number in range(NAMES)}
        return session.patch(f"{self.url}/api/v1/properties/P-2", json=names, timeout=PATIENCE)

    def submit(self, session: requests.Session, path: str, **form: str) -> requests.Response:
        if "csrftoken" not in session.cookies:
            session.get(f"{self.url}/admin/login/", timeout=PATIENCE)
        form["csrfmiddlewaretoken"] = session.cookies.get("csrftoken", "")
        headers = {"Referer": f"{self.url}{path}"}
        answer = session.post(
            self.url + path, form, headers=headers, timeout=PATIENCE, allow_redirects=False
        )
        return answer


def run(url: str, how: str) -> None:
    crowd = Crowd(url, json.loads(how))
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    crowd.run()
    stop.wait(300)
    print(json.dumps(crowd.answers))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])

"""Behind HTTPS: the production settings, where a redirect goes, and what a browser may load."""

import os
import subprocess
import sys
from uuid import uuid4

import pytest
from django.test import Client
from django.test.utils import override_settings

from config.logs import LineFormatter
from config.policy import POLICY
from crm_sync.models import Workspace
from tests.processes import ROOT

SECURE = {"X-Forwarded-Proto": "https"}
BEHIND_HTTPS = override_settings(
    SECURE_SSL_REDIRECT=True,
    SECURE_HSTS_SECONDS=3600,
    SECURE_PROXY_SSL_HEADER=("HTTP_X_FORWARDED_PROTO", "https"),
)


@pytest.mark.rule("S19")
def test_the_settings_of_production_bring_no_warning(tmp_path):
    """S19"""
    done = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=ROOT,
        env=os.environ | {"DATA_DIR": str(tmp_path / "d"), "PUBLIC_BASE_URL": "https://x.test"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "System check identified no issues (2 silenced).\n"


@BEHIND_HTTPS
def test_a_page_asked_for_without_https_leads_to_https(db):
    answer = Client(SERVER_NAME="localhost").get("/admin/login/")
    assert (answer.status_code, answer["Location"]) == (301, "https://localhost/admin/login/")
    there = Client(SERVER_NAME="localhost").get("/admin/login/", headers=SECURE)
    assert (there.status_code, there["Strict-Transport-Security"]) == (200, "max-age=3600")


def test_behind_https_a_cookie_belongs_to_this_very_host(tmp_path):
    names = "print(settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME)"
    done = subprocess.run(
        [sys.executable, "-c", f"from django.conf import settings; {names}"],
        cwd=ROOT,
        env=os.environ
        | {"DATA_DIR": str(tmp_path / "d"), "PUBLIC_BASE_URL": "https://x.test"}
        | {"DJANGO_SETTINGS_MODULE": "config.settings"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["__Host-sessionid", "__Host-csrftoken"]


def test_a_foreign_host_is_one_line_of_the_log(db, caplog):
    answer = Client(SERVER_NAME="evil.test", raise_request_exception=False).get("/admin/login/")
    assert answer.status_code == 400
    (record,) = [one for one in caplog.records if "evil.test" in one.getMessage()]
    assert "\n" not in LineFormatter().format(record)


@BEHIND_HTTPS
@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/workersz", "/metrics"])
def test_who_asks_how_we_are_is_never_led_elsewhere(db, path):
    assert Client(SERVER_NAME="localhost").get(path).status_code in (200, 404, 503)


@pytest.mark.rule("S19")
@BEHIND_HTTPS
@pytest.mark.parametrize("ending", ["", "/"])
def test_a_callback_is_never_led_elsewhere(db, ending):
    """It would be a lost event (S9)."""
    place = Workspace.objects.create(slug="main", base_url="https://x.test", auth_secret="s" * 24)
    path = f"/webhooks/{place.uuid}{ending}"
    answer = Client(SERVER_NAME="localhost").post(path, b"{}", content_type="application/json")
    assert answer.status_code == 401


@pytest.mark.rule("S18")
@pytest.mark.parametrize("path", ["/admin/login/", "/healthz", "/nowhere"])
def test_each_answer_says_what_a_browser_may_load(db, path):
    answer = Client(SERVER_NAME="localhost").get(path)
    assert answer["Content-Security-Policy"] == POLICY
    assert "default-src 'self'" in POLICY


@pytest.mark.rule("S18")
@pytest.mark.parametrize("method", ["post", "put", "get"])
def test_the_answer_to_a_callback_is_nothing_that_a_browser_shows_or_loads(db, method):
    ask = getattr(Client(SERVER_NAME="localhost"), method)
    answer = ask(f"/webhooks/{uuid4()}/")
    assert answer.status_code in (401, 404)
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"


@pytest.mark.parametrize("path", ["/admin/login/", "/healthz", "/nowhere", "/api/v1/properties"])
def test_each_answer_keeps_its_type_its_referrer_and_its_origin(db, path):
    answer = Client(SERVER_NAME="localhost").get(path, headers={"Origin": "https://x.test"})
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Referrer-Policy"] == "same-origin"
    assert [name for name in answer.headers if name.startswith("Access-Control-")] == []

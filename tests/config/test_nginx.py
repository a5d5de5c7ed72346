"""What the nginx block of docs/operations.md does, in front of the real web."""

import time

import pytest
import requests

from tests.journeys.callers import SECRET
from tests.processes import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.once]


def test_callbacks_arrive_through_the_documented_nginx_however_they_are_sent(front):
    query = f"{front.path}?token={SECRET}"
    assert front.call(query, b'{"n": 1}').status_code == 200
    assert front.call(query, iter([b'{"n"', b": 2}"])).status_code == 200  # chunked
    with front.connect() as slow:
        slow.sendall(front.head("Content-Length: 8"))
        for byte in b'{"n": 3}':
            slow.sendall(bytes([byte]))
            time.sleep(0.1)
        assert slow.recv(65536).startswith(b"HTTP/1.1 200")
    assert front.call(query, b"x" * 300_000).status_code == 413  # our own limit
    assert SECRET not in front.log()
    assert f"POST {front.path} 200" in front.log()


def test_a_browser_behind_it_is_known_to_come_by_https(front):
    """Whatever it says of that itself."""
    address = f"https://localhost:{front.port}/admin/login/"
    browser = requests.Session()
    browser.trust_env, browser.verify = False, str(front.certificate)
    page = browser.get(address, timeout=5, headers={"X-Forwarded-Proto": "http"})
    assert page.headers["Strict-Transport-Security"] == "max-age=60"  # said over https alone
    (token,) = [one for one in browser.cookies if one.name == "__Host-csrftoken"]
    assert token.secure
    form = {"username": "a", "password": "b", "csrfmiddlewaretoken": token.value}
    origin = {"Origin": f"https://localhost:{front.port}", "Referer": address}
    assert browser.post(address, form, headers=origin, timeout=5).status_code == 200


def test_callbacks_have_a_process_of_their_own_and_the_web_takes_them_while_it_is_away(front):
    query = f"{front.path}?token={SECRET}"
    front.installation.freeze("web")
    assert front.call(query, b'{"n": 1}').status_code == 200
    front.installation.thaw("web")
    front.installation.freeze("callbacks")
    assert front.call(query, b'{"n": 2}').status_code == 200
    front.installation.kill("callbacks")
    assert front.call(query, b'{"n": 3}').status_code == 200


def test_a_loop_of_logins_ends_at_nginx_and_other_pages_open(front):
    address = f"https://localhost:{front.port}"
    browser = requests.Session()
    browser.trust_env, browser.verify = False, str(front.certificate)
    codes = [browser.get(f"{address}/admin/login/", timeout=5).status_code for _ in range(60)]
    assert codes[:31] == [200] * 31  # a burst of thirty is an office in the morning
    assert codes[-1] == 429
    assert browser.get(f"{address}/healthz", timeout=5).status_code == 200


@pytest.mark.rule("S3")
def test_what_is_too_large_ends_at_nginx_and_no_log_has_the_secret_while_the_web_is_away(front):
    query = f"{front.path}?token={SECRET}"
    with front.connect() as large:
        large.sendall(front.head("Content-Length: 35000000"))
        assert large.recv(65536).startswith(b"HTTP/1.1 413")
    front.installation.stop()
    wait_until("502", lambda: front.call(query, b"{}").status_code == 502, limit=10)
    assert SECRET not in front.log()

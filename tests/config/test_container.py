"""The steps of the Containerfile in a clean folder, and what compose.yaml promises."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import requests

from tests.config.conftest import documented_block
from tests.config.test_deploy import COMPOSE, KINDS, services
from tests.processes import ROOT, free_port, wait_until

pytestmark = [pytest.mark.once]
CONTAINERFILE = (ROOT / "Containerfile").read_text()
PLACES = ("/srv/venv", "/srv/crm-sync", "/build", "/data")
Step = tuple[str, str]


def steps() -> list[Step]:
    """Return the instructions of the file, each with the rest of its line."""
    lines = [line for line in CONTAINERFILE.splitlines() if line and not line.startswith("#")]
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in lines)]


def of(*names: str) -> list[str]:
    return [rest for name, rest in steps() if name in names]


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """Do what a build does below a folder, with the packages that are installed already."""
    (tmp_path / "srv").mkdir()
    (tmp_path / "srv" / "venv").symlink_to(Path(sys.prefix))
    for rest in of("COPY"):
        *sources, target = rest.split()
        if sources[0].startswith("--from"):
            continue
        for source in sources:
            to = tmp_path / target.strip("/")
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, to, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                to.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / source, to)
    for command in of("RUN"):
        if re.search(r"-m venv|pip install|useradd|install --directory", command):
            continue
        done = subprocess.run(
            within(tmp_path, command),
            shell=True,
            cwd=tmp_path / "srv/crm-sync",
            env={"PATH": os.environ["PATH"], "SECRET_KEYS_AT_REST": "", "SECRET_KEY": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, ""), command
    (tmp_path / "data").mkdir(mode=0o700)
    return tmp_path


def within(folder: Path, text: str) -> str:
    for place in PLACES:
        text = re.sub(rf"(?<![\w/]){place}\b", f"{folder}{place}", text)
    return text


@pytest.mark.processes
def test_the_image_serves_with_only_its_data_folder_to_write_to(image):
    (line,) = [rest for rest in of("ENV") if "STATIC_ROOT" in rest]
    environment = dict(one.split("=", 1) for one in within(image, line).split())
    port = free_port()
    command = within(image, of("CMD")[-1]).replace("0.0.0.0:8000", f"127.0.0.1:{port}")
    app = image / "srv/crm-sync"
    before = sorted(app.rglob("*"))
    # It is built by root and runs as another user.
    assert [one for one in before if oct(one.stat().st_mode)[-1] not in "4567"] == []
    assert (app / "static/crm_sync").is_dir()
    assert not list(app.rglob("*.key"))  # no key and no database came into the image
    assert not list(app.rglob("*.sqlite3"))
    words = [word.strip('",') for word in shlex.split(command.strip("[]"))]
    with subprocess.Popen(words, cwd=app, env=environment, stderr=subprocess.DEVNULL) as web:
        try:
            url = f"http://127.0.0.1:{port}"
            wait_until("gunicorn answers", lambda: _answers(f"{url}/healthz"), limit=60)
            page = requests.get(f"{url}/static/crm_sync/follow.js", timeout=5)
            assert page.status_code == 200
        finally:
            web.terminate()
    assert sorted(app.rglob("*")) == before
    assert {one.name for one in (image / "data").iterdir()} >= {"secrets.key"}


def _answers(url: str) -> bool:
    try:
        return requests.get(url, timeout=2).status_code == 200
    except requests.RequestException:
        return False


def test_the_image_is_built_from_locked_packages_and_runs_as_nobody():
    assert of("ARG") == ["PYTHON_IMAGE=python:3.11-slim"]
    assert of("FROM") == ["${PYTHON_IMAGE} AS build", "${PYTHON_IMAGE}"]
    assert "pip install --require-hashes" in CONTAINERFILE
    assert of("USER") == ["crm-sync"]
    assert steps().index(("USER", "crm-sync")) < len(steps()) - len(of("CMD"))
    assert "/healthz" in of("HEALTHCHECK")[0]
    kept = {
        line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"
    }
    copied = {source for rest in of("COPY") if "--from" not in rest for source in rest.split()[:-1]}
    assert kept == copied
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in ignored  # all else, such as .env and var/


def test_each_service_of_compose_is_limited_watched_and_started_again():
    found = services()
    assert set(found) == {*KINDS, "migrate", "proxy", "database", "broker"}
    for name, one in found.items():
        assert one["restart"] == ("no" if name == "migrate" else "always"), name
        assert one["read_only"] is True, name
        assert "/tmp" in one["tmpfs"], name
        assert one["security_opt"] == ["no-new-privileges:true"], name
        assert re.fullmatch(r"\d+[mg]", one["mem_limit"]), name
        assert one.get("healthcheck"), name
    for kind in KINDS:
        assert found[kind]["cap_drop"] == ["ALL"]
        assert found[kind]["depends_on"] == {
            "migrate": {"condition": "service_completed_successfully"}
        }
        assert "ports" not in found[kind]  # only the proxy is reached from outside
        assert "subnet" in COMPOSE.read_text().split("\nnetworks:")[1]
        assert "172.30.77.0/24" in found[kind]["environment"]["TRUSTED_PROXIES"]
    assert found["proxy"]["ports"] == ["443:443"]
    broker = found["broker"]["command"][-1].split()
    assert broker[broker.index("--appendonly") + 1] == "yes"
    assert broker[broker.index("--maxmemory-policy") + 1] == "noeviction"


def test_the_proxy_of_compose_reaches_neither_database_nor_broker():
    of = {name: set(one["networks"]) for name, one in services().items()}
    assert of["proxy"] == {"front"}
    assert {name for name, mine in of.items() if "front" in mine} == {"proxy", "web", "callbacks"}
    assert of["database"] == of["broker"] == {"back"}
    assert {"front", "back"} == of["web"] == of["callbacks"]
    assert "out" in of["worker"]
    assert re.search(r"^  back:.*\n    internal: true$", COMPOSE.read_text(), re.MULTILINE)


def test_each_image_of_compose_can_be_named_by_its_digest():
    named = {name: one["image"] for name, one in services().items() if name not in KINDS}
    assert named == {
        "migrate": "${CRM_SYNC_IMAGE:-crm-sync}",
        "proxy": "${NGINX_IMAGE:-nginx:1}",
        "database": "${POSTGRES_IMAGE:-postgres:15}",
        "broker": "${REDIS_IMAGE:-redis:7}",
    }
    assert services()["migrate"]["build"]["args"] == {
        "PYTHON_IMAGE": "${PYTHON_IMAGE:-python:3.11-slim}"
    }


@pytest.mark.processes
@pytest.mark.skipif(shutil.which("redis-server") is None, reason="there is no Redis")
def test_the_broker_of_compose_takes_nobody_without_the_password(tmp_path):
    one = services()["broker"]
    assert services()["worker"]["environment"]["CELERY_BROKER_URL"] == (
        "redis://:${REDIS_PASSWORD:?}@broker:6379/0"
    )
    port, password = free_port(), "a-password-of-the-broker"
    command = [word.replace("$$", "$") for word in one["command"]]
    command[-1] = command[-1].replace("--dir /data", f"--dir {tmp_path} --port {port}")
    environment = {"PATH": os.environ["PATH"], "REDISCLI_AUTH": password}

    def ping(**extra: str) -> str:
        probe = [*one["healthcheck"]["test"][1:], "-p", str(port)]
        probe.remove("ping")
        done = subprocess.run(
            [*probe, "ping"],
            env={"PATH": os.environ["PATH"], **extra},
            capture_output=True,
            text=True,
            check=False,
        )
        return f"{done.returncode} {done.stdout.strip()}{done.stderr.strip()}"

    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as broker:
        try:
            wait_until("Redis answers", lambda: ping(REDISCLI_AUTH=password) == "0 PONG", limit=20)
            assert "NOAUTH" in ping()
            assert ping()[0] == "1"
            arguments = Path(f"/proc/{broker.pid}/cmdline").read_bytes()
            assert password.encode() not in arguments
        finally:
            broker.terminate()


def test_each_name_that_compose_asks_for_is_told_in_its_head_or_in_the_docs():
    text = COMPOSE.read_text()
    docs = (ROOT / "docs/operations.md").read_text()
    for name in set(re.findall(r"\$\{(\w+)", text)):
        assert name in docs, name


def test_the_proxy_of_compose_is_the_nginx_of_the_docs():
    block = documented_block()
    for here, there in (
        ("127.0.0.1:8000", "web:8000"),
        ("127.0.0.1:8001", "callbacks:8000"),
        ("/etc/ssl/crm.", "/etc/ssl/crm-sync/crm."),
        ("/var/log/nginx/crm-sync.access.log", "/dev/stdout"),
        ("/var/log/nginx/crm-sync.error.log", "/dev/stderr"),
    ):
        assert here in block
        block = block.replace(here, there)
    assert (ROOT / "docs/deploy/nginx.conf").read_text() == block


def test_the_nginx_of_the_docs_takes_no_old_tls_and_its_log_says_when():
    block = documented_block()
    assert re.findall(r"^ *ssl_protocols (.+?);", block, re.MULTILINE) == ["TLSv1.2 TLSv1.3"]
    (form,) = re.findall(r"^log_format crm_sync '(.+)';$", block, re.MULTILINE)
    assert form.split()[0] == "$time_iso8601"

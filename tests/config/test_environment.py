"""A bad setting, a lost key and a database that is away end each start in one line."""

import os
import pwd
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import certifi
import environ
import pytest
from cryptography.fernet import Fernet
from honcho.environ import parse

from config.environment import REMOVED, Env
from tests.processes import ROOT

MANAGE = (sys.executable, "manage.py", "check")
# Nothing but the settings: half the time of a start.
LOAD = "from config.environment import end_in_one_line as e; e(); from config import settings"
SETTINGS = (sys.executable, "-c", LOAD)
STARTS = {
    "manage.py": MANAGE,
    "worker": (sys.executable, "-m", "celery", "-A", "config", "worker"),
    "beat": (sys.executable, "-m", "celery", "-A", "config", "beat"),
}
UNFIT = {
    "CALL_DEADLINE=soon": "CALL_DEADLINE is 'soon' and not a number. See .env.example.",
    "CALL_DEADLINE=": "CALL_DEADLINE is '' and not a number. See .env.example.",
    "CALL_DEADLINE=0": "CALL_DEADLINE is 0: it must be more than 0. See .env.example.",
    "SESSION_IDLE=-1": "SESSION_IDLE is -1: it must be 0 or more. See .env.example.",
    "KEEP_DAYS=users=30,files=-1": (
        "KEEP_DAYS holds 'files=-1': a name and days like events=90, with commas between them;"
        " 0 keeps all, 36500 is the most; names: events, calls, messages, imports, history, users,"
        " files. See .env.example."
    ),
    "KEEP_DAYS=history=36501": (
        "KEEP_DAYS holds 'history=36501': a name and days like events=90, with commas between them;"
        " 0 keeps all, 36500 is the most; names: events, calls, messages, imports, history, users,"
        " files. See .env.example."
    ),
    "KEEP_DAYS=orders=1": (
        "KEEP_DAYS holds 'orders=1': a name and days like events=90, with commas between them;"
        " 0 keeps all, 36500 is the most; names: events, calls, messages, imports, history, users,"
        " files. See .env.example."
    ),
    "OIDC_ISSUER=https://login.example.com": "OIDC_ISSUER needs OIDC_CLIENT_ID. See .env.example.",
    "OIDC_GROUPS=[1]": "OIDC_GROUPS is no JSON object of texts. See .env.example.",
    'OIDC_GROUPS={"a": 1}': "OIDC_GROUPS is no JSON object of texts. See .env.example.",
    'MATERIALS_STORAGE={"bucket_name": "canary"}': (
        "MATERIALS_STORAGE names no BACKEND. See .env.example."
    ),
    "MATERIALS_STORAGE={'key': 'canary'}": (
        "MATERIALS_STORAGE is not a JSON document. See .env.example."
    ),
    "USERS_KEEP_DAYS=30": (
        "USERS_KEEP_DAYS is no setting any more: remove it, and name users in KEEP_DAYS."
        " See .env.example."
    ),
    "SESSION_AGE=60": (
        "SESSION_AGE is no setting any more: its value is fixed, remove it. See .env.example."
    ),
    "DEBUG=ture": "DEBUG is 'ture' and not yes or no: true or false. See .env.example.",
    "TIME_ZONE=Mars/North": "TIME_ZONE is 'Mars/North' and not one that we know. See .env.example.",
    "LOG_LEVEL=LOUD": "LOG_LEVEL is 'LOUD' and not one that we know. See .env.example.",
    "DATABASE_URL=postgres://u:canary@h:port/x": (
        "DATABASE_URL is not an address that we know: .env.example shows one."
    ),
    "DATABASE_URL=mysql://u:canary@h/x": "DATABASE_URL must name a PostgreSQL or SQLite database.",
    "DATABASE_URL=": "DATABASE_URL is empty: remove it, or see .env.example.",
    "OUTGOING_INTERNAL_HOSTS=crm.lan, 10.1/16": (
        "OUTGOING_INTERNAL_HOSTS holds '10.1/16': hosts like crm.example.com:8443 and networks like"
        " 10.0.0.0/8, with commas between them. See .env.example."
    ),
    "DATA_DIR=": "DATA_DIR is empty: remove it, or name a folder. See .env.example.",
    "STATIC_ROOT=": "STATIC_ROOT is empty: remove it, or name a folder. See .env.example.",
    **{
        f"PUBLIC_BASE_URL={said}": (
            f"PUBLIC_BASE_URL is {said!r} and not an address like https://crm.example.com."
            " See .env.example."
        )
        for said in ("", "crm.example.com", "ftp://crm.example.com", "https://crm:99999")
    },
    "STATIC_ROOT=/dev/null/static": (
        "STATIC_ROOT /dev/null/static cannot be made: Not a directory. Set STATIC_ROOT to a folder"
        f" that {pwd.getpwuid(os.geteuid()).pw_name} may write to."
    ),
    "CA_BUNDLE=/nowhere/ca.pem": (
        "CA_BUNDLE is '/nowhere/ca.pem' and no file of certificates. See .env.example."
    ),
    "EMAIL_URL=pigeon://u:canary@h": (
        "EMAIL_URL is not an address that we know: .env.example shows one."
    ),
}

MOST = 42  # settings; a further one takes the place of one that nobody turns
# The lines of the example that set something, as they are once nobody comments them out.
EXAMPLE = re.findall(r"^#? ?([A-Z_]+=.*)$", (ROOT / ".env.example").read_text(), re.MULTILINE)


def start(folder: Path, command=SETTINGS, **settings: str) -> subprocess.CompletedProcess[str]:
    plain = {name: text for name, text in os.environ.items() if name not in {"DATABASE_URL"}}
    return subprocess.run(
        command,
        cwd=ROOT,
        env=plain | {"DATA_DIR": str(folder), "PYTHONDONTWRITEBYTECODE": "1"} | settings,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize(("said", "line"), UNFIT.items(), ids=UNFIT)
def test_a_setting_that_is_none_is_named_in_one_line(tmp_path, said, line):
    name, _, value = said.partition("=")
    ended = start(tmp_path / "data", **{name: value})
    assert (ended.returncode, ended.stderr) == (1, f"It cannot start: {line}\n")


def test_days_that_are_not_named_keep_their_default():
    env = Env()
    env.ENVIRON = {"KEEP_DAYS": "users=30,files=0"}
    assert env.days("KEEP_DAYS", {"events": 90, "users": 365, "files": 7}) == {
        "events": 90,
        "users": 30,
        "files": 0,
    }


@pytest.mark.parametrize("command", STARTS.values(), ids=STARTS)
def test_each_process_says_so(tmp_path, command):
    ended = start(tmp_path / "data", command, CALL_DEADLINE="soon")
    assert ended.returncode == 1
    assert ended.stderr == f"It cannot start: {UNFIT['CALL_DEADLINE=soon']}\n"


def test_the_web_says_so_and_does_not_start_worker_after_worker(tmp_path):
    web = (sys.executable, "-m", "gunicorn", "-c", "config/gunicorn.py", "-b", "127.0.0.1:0")
    ended = start(tmp_path / "data", (*web, "config.wsgi"), CALL_DEADLINE="soon")
    assert ended.returncode == 3
    assert ended.stderr.count(UNFIT["CALL_DEADLINE=soon"]) == 1
    assert "Traceback" not in ended.stderr


def test_a_database_that_is_away_is_one_line_without_its_password(tmp_path):
    command = (sys.executable, "manage.py", "migrate")
    url = "postgres://u:canary@127.0.0.1:1/x"
    ended = start(tmp_path / "data", command, DATABASE_URL=url)
    assert ended.returncode == 1
    assert re.fullmatch(
        r"The database does not answer \(connection failed: .*Connection refused\): is it running,"
        r" and is DATABASE_URL right\?\n",
        ended.stderr,
    )
    assert "canary" not in ended.stderr


@pytest.mark.rule("S5")
def test_a_lost_key_is_not_replaced(tmp_path):
    assert start(tmp_path / "data").returncode == 0
    key = tmp_path / "data" / "secrets.key"
    kept = key.read_text()
    key.unlink()
    ended = start(tmp_path / "data")
    assert (ended.returncode, key.exists()) == (1, False)
    assert ended.stderr.startswith(f"It cannot start: {key} is missing, and the stored tokens")
    assert start(tmp_path / "data", SECRET_KEYS_AT_REST=kept).returncode == 0
    key.write_text(kept)
    assert start(tmp_path / "data").returncode == 0


@pytest.mark.parametrize("name", ["secrets.key", "django.key"])
@pytest.mark.parametrize("content", [b"", b"\xff\x00\xfe"])
def test_a_key_file_without_text_ends_the_start(tmp_path, name, content):
    """As a copy that failed leaves it. With an empty `django.key` the web started, and no login."""
    assert start(tmp_path / "data").returncode == 0
    key = tmp_path / "data" / name
    key.write_bytes(content)
    ended = start(tmp_path / "data")
    line = f"It cannot start: {key} is empty or no text: put it back from your backup.\n"
    assert (ended.returncode, ended.stderr) == (1, line)


@pytest.mark.rule("S5")
def test_the_file_of_keys_holds_a_new_one_before_the_old_one(tmp_path):
    """As operations.md says to rotate it: what the old one encrypted is still readable."""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    new, old = (Fernet.generate_key().decode() for _ in range(2))
    (folder / "secrets.key").write_text(f"{new},{old}\n")
    look = "from config import settings; print(*settings.SECRET_KEYS_AT_REST)"
    assert start(folder, (sys.executable, "-c", look)).stdout.split() == [new, old]


@pytest.mark.parametrize("place", ["file", "variable"])
def test_a_key_that_is_none_ends_the_start_and_is_not_shown(tmp_path, place):
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    settings = {"SECRET_KEYS_AT_REST": f"{Fernet.generate_key().decode()},canary"}
    if place == "file":
        (folder / "secrets.key").write_text("canary")
    ended = start(folder, **(settings if place == "variable" else {}))
    assert ended.returncode == 1
    assert ended.stderr.startswith("It cannot start: SECRET_KEYS_AT_REST, or ")
    assert "canary" not in ended.stderr


def test_the_example_names_each_setting_and_no_other():
    read = "".join(path.read_text() for path in (ROOT / "config").glob("*.py"))
    names = set(re.findall(r'\benv\.\w+\(\s*"([A-Z_]+)', read))
    shown = list(map(name_of, EXAMPLE))
    assert sorted(names) == sorted({*shown})
    assert len(shown) == len(set(shown)) <= MOST
    assert REMOVED.keys().isdisjoint(shown)


def name_of(line: str) -> str:
    return line.partition("=")[0]


def value_of(line: str) -> str:
    """Return what a line of the example sets, without the quotes around it."""
    return line.partition("=")[2].removeprefix("'").removesuffix("'")


def by_the_settings(file: Path, name: str) -> str:
    class Apart(environ.Env):
        ENVIRON = {}  # of its own: the base reads into os.environ

    Apart.read_env(str(file))
    return Apart.ENVIRON[name]


def by_honcho(file: Path, name: str) -> str:
    return parse(file.read_text()).get(name, "")  # it leaves out what is empty


def by_a_shell(file: Path, name: str) -> str:
    """Read it as `manage` of docs/operations.md does."""
    command = ["sh", "-euc", f'. "{file}"; printf %s "${name}"']
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("read", [by_the_settings, by_honcho, by_a_shell])
def test_each_line_of_the_example_sets_what_it_says_whoever_reads_it(
    tmp_path, read: Callable[[Path, str], str]
):
    """Also systemd and compose, by their manuals: no comment behind a value, nothing to expand."""
    assert [line for line in EXAMPLE if re.search(r"\s#|[\\$]|\s$", line)] == []
    assert [line for line in EXAMPLE if re.search(r"""[\s"]""", line) and "='" not in line] == []
    file = tmp_path / "settings.env"
    found = {}
    for line in EXAMPLE:
        file.write_text(f"{line}\n")
        found[name_of(line)] = read(file, name_of(line))
    assert found == {name_of(line): value_of(line) for line in EXAMPLE}


def test_the_settings_take_each_value_of_the_example(tmp_path):
    shown = {name_of(line): value_of(line) for line in EXAMPLE}
    here = {"CA_BUNDLE": certifi.where(), "STATIC_ROOT": str(tmp_path / "static")}
    del shown["DATA_DIR"]
    ended = start(tmp_path / "data", **shown | here)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_blank_behind_a_comma_is_no_part_of_a_host(monkeypatch):
    monkeypatch.setenv("OUTGOING_INTERNAL_HOSTS", "crm.lan, 10.1.0.0/16")
    assert Env().list("OUTGOING_INTERNAL_HOSTS") == ["crm.lan", "10.1.0.0/16"]

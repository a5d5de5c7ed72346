"""The commands: one clear line, the right exit code, nothing half written (issue: "Bad input")."""

import json
import os
import subprocess
import sys
from datetime import timedelta
from io import BytesIO, StringIO, TextIOWrapper

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.utils import timezone

from crm_sync.models import Hold, Workspace
from crm_sync.platform.errors import AuthError, ErrorKind, Problem
from crm_sync.platform.problems import explain
from sandbox.interface.switches import SWITCHES
from tests.conftest import PLATFORM, TOKEN
from tests.crm_sync.sockets import free_port
from tests.problems import answered

FAILED, USAGE = 1, 2


@pytest.fixture(autouse=True)
def environment(monkeypatch, db) -> None:
    monkeypatch.setenv("GOOD_TOKEN", f" {TOKEN}\n")
    monkeypatch.setenv("WRONG_TOKEN", "canary-token")
    monkeypatch.setenv("ODD_TOKEN", "canary-€")
    monkeypatch.setenv("GOOD_SECRET", "secret")
    monkeypatch.setenv("WRONG_SECRET", "canary-secret")
    monkeypatch.setenv("EMPTY", "  ")
    monkeypatch.delenv("NOT_SET", raising=False)


def run(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out, stderr=out)
    return out.getvalue()


def failure(*words: str) -> tuple[int, str]:
    with pytest.raises(CommandError) as caught:
        run(*words)
    text = str(caught.value)
    assert "canary" not in text
    assert "\n" not in text
    return caught.value.returncode, text


# --- add_workspace

REFUSED = str(explain(answered("GET /v1", 401)))
TOKEN_WORDS = ("--token-env", "GOOD_TOKEN")
CLIENT_WORDS = ("--client-id", "client", "--client-secret-env", "GOOD_SECRET")


def add(*words: str, base_url: str = PLATFORM) -> tuple[str, ...]:
    return ("add_workspace", "main", "--base-url", base_url, *words)


@pytest.mark.parametrize("words", [TOKEN_WORDS, CLIENT_WORDS])
def test_a_workspace_is_added_when_the_platform_takes_its_credentials(box, words):
    lines = run(*add(*words, base_url=f"{PLATFORM}/")).splitlines()
    assert lines == [
        f"workspace main added, connected to {PLATFORM}",
        "next: manage.py configure_webhook main",
    ]
    workspace = Workspace.objects.get()
    assert (workspace.slug, workspace.base_url) == ("main", PLATFORM)
    assert next(workspace.client().users())["id"] == "101"


def test_adding_it_again_changes_address_and_credentials_and_nothing_else(box, workspace):
    before = Workspace.objects.get()
    Workspace.objects.update(problem="down", pauses=3)
    assert run(*add(*CLIENT_WORDS)).startswith("workspace main changed,")
    after = Workspace.objects.get()
    assert (after.fixed_token, after.client_id, after.client_secret) == ("", "client", "secret")
    assert (after.uuid, after.auth_secret) == (before.uuid, before.auth_secret)
    assert (after.problem, after.pauses) == ("", 0)


EITHER = "give either --token-env, or --client-id with --client-secret-env"
TOGETHER = "--client-id and --client-secret-env go together"
NOT_SET = "the environment variable NOT_SET is empty or not set"
BAD_USE = [
    ((), EITHER),
    ((*TOKEN_WORDS, *CLIENT_WORDS), EITHER),
    ((*TOKEN_WORDS, "--client-id", "x"), EITHER),
    (("--client-id", "client"), TOGETHER),
    (("--client-secret-env", "GOOD_SECRET"), TOGETHER),
    (("--token-env", "NOT_SET"), NOT_SET),
    (("--token-env", "EMPTY"), NOT_SET.replace("NOT_SET", "EMPTY")),
    (("--client-id", "client", "--client-secret-env", "NOT_SET"), NOT_SET),
]


@pytest.mark.parametrize(("words", "line"), BAD_USE)
def test_wrong_use_ends_with_2_and_writes_nothing(box, words, line):
    assert failure(*add(*words)) == (USAGE, line)
    assert not Workspace.objects.exists()
    assert list(box.calls) == []


ADDRESSES = [
    "ftp://x.test",
    "x.test",
    "",
    "http://",
    "http:///v1",
    "http://[::1",
    "http://x.test:99999",
    "http://x.test:0",
    "http://x .test",
    "http://x.test/#a",
    "http://x.test/" + "a" * 500,
]


@pytest.mark.parametrize("address", ADDRESSES, ids=lambda address: address[:20])
@pytest.mark.parametrize("check", [(), ("--no-check",)])
def test_a_bad_address_ends_with_2_and_writes_nothing(address, check):
    code, line = failure(*add(*TOKEN_WORDS, *check, base_url=address))
    assert (code, line) == (
        USAGE,
        f"--base-url {address.rstrip('/')!r}: the address is not an http(s) address",
    )
    assert not Workspace.objects.exists()


@pytest.mark.rule("S5")
@pytest.mark.parametrize(
    ("address", "line"),
    [
        ("https://u:hidden@x.test", "'https://…@x.test': the address holds a user name"),
        ("https://hidden@x.test/v1", "'https://…@x.test/v1': the address holds a user name"),
        ("http://u:hid@den@x.test?hidden", "'http://…@x.test?…': the address holds a user name"),
        ("https://x.test/v1?token=hidden", "'https://x.test/v1?…': the address holds a query"),
        ("https://u:hidden?@x.test", "'https://…@x.test': the address is not an http(s) address"),
        ("ftp://u:hidden@x.test", "'ftp://…@x.test': the address is not an http(s) address"),
        (
            "https://u:hidden@x.test:99999",
            "'https://…@x.test:99999': the address is not an http(s) address",
        ),
    ],
)
def test_an_address_with_a_password_ends_with_2_and_no_line_shows_it(address, line):
    assert failure(*add(*TOKEN_WORDS, base_url=address)) == (USAGE, f"--base-url {line}")
    with pytest.raises(ValidationError) as refused:
        Workspace(slug="main", base_url=address, fixed_token="canary").clean()
    assert "hidden" not in str(refused.value)
    with pytest.raises(AuthError) as unsent:
        Workspace(slug="main", base_url=address, fixed_token="canary").client()
    assert "hidden" not in str(unsent.value)


@pytest.mark.parametrize("slug", ["a b", "ü", "a/b", ""])
def test_a_bad_slug_ends_with_2_and_writes_nothing(slug):
    code, line = failure("add_workspace", slug, "--base-url", PLATFORM, *TOKEN_WORDS)
    assert (code, line) == (
        USAGE,
        f"{slug!r}: a name has letters, digits, hyphens and underscores only",
    )
    assert not Workspace.objects.exists()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ("--token-env", "WRONG_TOKEN"),
            f"{REFUSED} (GET /v1/users: 401 the token is invalid; Unauthorized)",
        ),
        (
            ("--client-id", "client", "--client-secret-env", "WRONG_SECRET"),
            f"{REFUSED} (POST /auth/token: 401 unknown client id or secret; Unauthorized)",
        ),
        (
            ("--token-env", "ODD_TOKEN"),
            "the token is empty or holds characters that no header can carry",
        ),
    ],
)
@pytest.mark.parametrize("known", [True, False])
def test_credentials_that_the_platform_refuses_end_with_1_and_write_nothing(
    box, words, line, known
):
    if known:
        Workspace.objects.create(slug="main", base_url="http://old.test", fixed_token="old")
    assert failure(*add(*words)) == (FAILED, f"{PLATFORM}: {line}")
    kept = list(Workspace.objects.values_list("base_url", flat=True))
    assert kept == (["http://old.test"] if known else [])


def test_a_platform_that_cannot_be_reached_ends_with_1_and_writes_nothing():
    address = f"http://127.0.0.1:{free_port()}"
    code, line = failure(*add(*TOKEN_WORDS, base_url=address))
    why = Problem(f"GET {address}/v1/users: cannot connect", ErrorKind.UNREACHABLE)
    said = explain(why, is_repeated=False)
    assert (code, line) == (FAILED, f"{address}: {said} ({said.details})")
    assert not Workspace.objects.exists()
    run(*add(*TOKEN_WORDS, "--no-check", base_url=address))
    assert Workspace.objects.get().base_url == address


def test_a_dry_run_asks_the_platform_and_writes_nothing(box):
    assert run(*add(*TOKEN_WORDS, "--dry-run")).startswith("workspace main would be added,")
    assert not Workspace.objects.exists()
    assert failure(*add("--token-env", "WRONG_TOKEN", "--dry-run"))[0] == FAILED


def test_the_result_is_one_json_document_without_secrets(box):
    text = run(*add(*TOKEN_WORDS, "--json"))
    workspace = Workspace.objects.get()
    assert json.loads(text) == {
        "workspace": "main",
        "callback_url": workspace.callback_url,
        "result": "added",
        "watch_only": False,
    }
    assert TOKEN not in text


def test_after_a_lost_key_the_credentials_can_be_entered_again(box, workspace, settings):
    settings.SECRET_KEYS_AT_REST = ["MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="]
    code, line = failure("configure_webhook", "main")
    assert code == FAILED
    assert line.startswith("workspace main: a stored secret cannot be decrypted")
    assert line.endswith("manage.py add_workspace main …")
    run(*add(*TOKEN_WORDS))
    run("configure_webhook", "main")
    assert Workspace.objects.get().auth_secret == box.workspace.webhook["authSecret"]


# --- configure_webhook


def test_an_unknown_workspace_ends_with_2_and_names_those_that_there_are():
    assert failure("configure_webhook", "nobody") == (
        USAGE,
        "no workspace 'nobody'; there is: none yet",
    )
    for slug in ("b", "a"):
        Workspace.objects.create(slug=slug, base_url="http://x.test")
    assert failure("configure_webhook", "nobody") == (
        USAGE,
        "no workspace 'nobody'; there is: a, b",
    )


@pytest.mark.rule("5.2 secret")
def test_configure_shows_what_the_platform_holds_and_never_the_secret(box, workspace):
    text = run("configure_webhook", "main", "--auth", "BEARER_TOKEN")
    held = box.workspace.webhook
    assert (held["authType"], held["method"]) == ("BEARER_TOKEN", "POST")
    assert f"url: {workspace.callback_url}" in text.splitlines()
    assert "hasAuthSecret: True" in text.splitlines()
    shown = json.loads(run("configure_webhook", "main", "--show", "--json"))
    assert shown["authType"] == "BEARER_TOKEN"
    assert held["authSecret"] not in text + json.dumps(shown)


@pytest.mark.rule("4.1 PATCH")
def test_the_webhook_is_disabled_enabled_rotated_and_deleted(box, workspace):
    run("configure_webhook", "main", "--disable")
    assert box.workspace.webhook["enabled"] is False
    run("configure_webhook", "main", "--enable")
    assert box.workspace.webhook["enabled"] is True
    old = box.workspace.webhook["authSecret"]
    text = run("configure_webhook", "main", "--rotate-secret")
    assert old != box.workspace.webhook["authSecret"]
    assert box.workspace.webhook["authSecret"] not in text
    assert run("configure_webhook", "main", "--delete") == "removed\n"
    assert box.workspace.webhook is None
    for option in ("--show", "--enable", "--delete"):
        assert failure("configure_webhook", "main", option) == (
            FAILED,
            "main: the platform has no webhook configured",
        )


def test_the_names_under_which_the_secret_travels_can_be_set(box, workspace):
    words = ("--auth", "QUERY_PARAMETER", "--parameter-name", "key")
    plan = json.loads(run("configure_webhook", "main", *words, "--dry-run", "--json"))
    assert plan["authParameterName"] == "key"
    assert box.workspace.webhook["authType"] == "HEADER"
    assert "authParameterName: key" in run("configure_webhook", "main", *words).splitlines()
    words = ("--auth", "HEADER", "--header-name", "X-Our-Key")
    assert "authHeaderName: X-Our-Key" in run("configure_webhook", "main", *words).splitlines()
    code, line = failure("configure_webhook", "main", "--header-name", "X_Key")
    assert (code, line) == (
        USAGE,
        "'X_Key' is not the name of a header: letters, digits and hyphens",
    )


@pytest.mark.rule("4.1 PUT")
def test_what_the_platform_holds_is_read_where_it_answers_without_a_body(box, workspace):
    box.switches["configured"] = "empty"
    for options in (["--disable"], ["--enable"], ["--auth", "BEARER_TOKEN"], ["--rotate-secret"]):
        lines = run("configure_webhook", "main", *options).splitlines()
        assert f"url: {workspace.callback_url}" in lines
        assert f"enabled: {options != ['--disable']}" in lines


@pytest.mark.rule("4.1 GET")
@pytest.mark.parametrize("told_by", SWITCHES["noWebhook"].positions)
def test_a_webhook_that_is_not_configured_is_said_so_however_the_platform_tells_it(
    box, workspace, told_by
):
    workspace.client().delete_webhook()
    box.switches["noWebhook"] = told_by
    line = "main: the platform has no webhook configured"
    assert failure("configure_webhook", "main", "--show") == (FAILED, line)


def test_none_ends_with_2_without_the_setting(box, workspace):
    held = dict(box.workspace.webhook)
    code, line = failure("configure_webhook", "main", "--auth", "NONE")
    assert (code, line.partition(":")[0]) == (
        USAGE,
        "authType NONE lets anybody who learns the address inject events",
    )
    assert (box.workspace.webhook, Workspace.objects.get().auth_type) == (held, "HEADER")


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"fixed_token": "canary"}, f"main: {REFUSED} (PUT /v1/webhooks: 401 the token is invalid"),
        ({"fixed_token": ""}, "main: The workspace has no credentials. An operator has to enter t"),
        ({"base_url": "http://127.0.0.1:1"}, "main: The platform cannot be reached. Try again in"),
    ],
)
def test_what_the_platform_does_not_take_ends_with_1_and_changes_nothing(
    box, workspace, change, line
):
    for name, value in change.items():
        setattr(workspace, name, value)
    workspace.save()
    held, secret = dict(box.workspace.webhook), workspace.auth_secret
    for words in (["--auth", "BEARER_TOKEN"], ["--rotate-secret"]):
        code, text = failure("configure_webhook", "main", *words)
        assert (code, text[: len(line)]) == (FAILED, line)
    after = Workspace.objects.get()
    assert (after.auth_type, after.valid_auth_secrets(after.created_at)) == ("HEADER", [secret])
    assert box.workspace.webhook == held


def test_configure_makes_no_call_while_the_workspace_is_paused(box, workspace):
    now = timezone.now()
    Workspace.objects.update(paused_until=now + timedelta(minutes=1))
    box.calls.clear()
    secret = Workspace.objects.get().auth_secret
    for word in ("--show", "--rotate-secret", "--delete"):
        code, text = failure("configure_webhook", "main", word)
        assert code == FAILED
        assert text.startswith("main: the workspace is paused: ")
    assert Workspace.objects.get().valid_auth_secrets(now) == [secret]
    assert not box.calls


@pytest.mark.parametrize(
    ("words", "step"),
    [
        ([], "configure"),
        (["--rotate-secret"], "rotate_secret"),
        (["--delete"], "delete"),
        (["--disable"], "disable"),
    ],
)
def test_a_dry_run_of_the_webhook_calls_nobody_and_changes_nothing(box, workspace, words, step):
    before = Workspace.objects.values().get()
    plan = json.loads(run("configure_webhook", "main", *words, "--dry-run", "--json"))
    assert plan == {
        "step": step,
        "url": workspace.callback_url,
        "method": "POST",
        "authType": "HEADER",
        "authHeaderName": "X-API-Key",
    }
    assert (list(box.calls), Workspace.objects.values().get()) == ([], before)


@pytest.mark.once
def test_a_database_that_is_not_ready_is_one_line_that_says_what_to_do(tmp_path):
    environment = os.environ | {"DATA_DIR": str(tmp_path), "DATABASE_URL": ""}
    environment.pop("DATABASE_URL")
    done = subprocess.run(
        [sys.executable, "manage.py", "configure_webhook", "main"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        "Failed: the database is not ready (no such table: crm_sync_workspace): is"
        " DATABASE_URL or DATA_DIR right, and has `manage.py migrate` been run?"
    ]


def test_a_callback_address_that_only_this_machine_reaches_is_refused(workspace, settings, box):
    settings.PUBLIC_BASE_URL = "http://127.0.0.1:8000"
    before = dict(box.workspace.webhook)
    with pytest.raises(CommandError) as caught:
        call_command("configure_webhook", "main")
    assert caught.value.returncode == USAGE
    assert str(caught.value) == (
        "PUBLIC_BASE_URL is http://127.0.0.1:8000, which only this machine reaches:"
        " set it to the https address that the platform can call"
    )
    assert box.workspace.webhook == before


@pytest.mark.parametrize("number", ["0", "-1", "x", "9" * 19])
@pytest.mark.parametrize(
    "words",
    [
        ("replay", "main", "--event"),
        ("drift", "main", "--sample"),
        ("undo_changes", "main", "--import"),
    ],
)
def test_a_number_that_no_row_has_ends_with_2(main, words, number):
    with pytest.raises(CommandError, match="is no number of this kind"):
        call_command(*words, number)


def test_a_moment_at_the_end_of_the_calendar_ends_with_2(main, settings):
    settings.TIME_ZONE = "Europe/Zurich"
    with pytest.raises(CommandError, match="at the end of the calendar") as caught:
        call_command("undo_changes", "main", "--since", "0001-01-01T00:00")
    assert caught.value.returncode == 2


@pytest.mark.parametrize("words", [("config", "export"), ("doctor", "main", "--json")])
def test_a_reader_that_leaves_ends_a_command_with_one_line(main, words):
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w", encoding="utf-8") as gone:
        with pytest.raises(CommandError) as caught:
            call_command(*words, stdout=gone)
        assert (caught.value.returncode, str(caught.value)) == (
            FAILED,
            "the reader of the output left before its end",
        )


@pytest.mark.parametrize("words", [("config", "export"), ("audit", "--json")])
def test_a_full_disk_behind_the_output_ends_a_command_with_one_line(main, words):
    with open("/dev/full", "w", encoding="utf-8") as full:
        with pytest.raises(CommandError) as caught:
            call_command(*words, stdout=full)
        assert (caught.value.returncode, str(caught.value)) == (
            FAILED,
            "nothing more can be written: the disk is full",
        )


@pytest.mark.parametrize(
    "words",
    [
        ("audit", "B\udcfcro"),
        ("doctor", "B\udcfcro"),
        ("pause", "main", "--reason", "B\udcfcro"),
        ("replay", "main", "--order", "B\udcfcro"),
    ],
)
def test_an_argument_that_is_no_text_ends_with_2_and_one_line(main, words):
    assert failure(*words) == (
        USAGE,
        "an argument is no text in UTF-8: the terminal has another encoding",
    )
    assert not Hold.objects.exists()


def test_a_character_that_the_output_cannot_hold_is_named_with_what_to_do(main):
    with pytest.raises(CommandError) as caught:
        call_command("doctor", "main", stdout=TextIOWrapper(BytesIO(), encoding="latin-1"))
    assert (caught.value.returncode, str(caught.value)) == (
        FAILED,
        "the output is latin-1 and cannot hold '\\u2192': set PYTHONUTF8=1",
    )


@pytest.mark.once
def test_the_doctor_of_one_workspace_says_all_it_can_while_the_database_is_away(tmp_path):
    away = {"DATA_DIR": str(tmp_path), "DATABASE_URL": f"postgres://u:p@127.0.0.1:{free_port()}/x"}
    done = subprocess.run(
        [sys.executable, "manage.py", "doctor", "main", "--json"],
        env=os.environ | away,
        capture_output=True,
        text=True,
        check=False,
    )
    verdicts = {one["name"]: one["verdict"] for one in json.loads(done.stdout)["checks"]}
    assert (verdicts["database"], verdicts["broker"]) == ("failed", "ok")
    assert verdicts["workspaces"] == "not checked"
    assert done.returncode == FAILED

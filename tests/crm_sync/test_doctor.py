"""The doctor: each broken part is found, and a platform that differs is told; it only reads."""

import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path

import pytest
from celery import current_app
from django.core.management import CommandError, call_command, load_command_class
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from crm_sync.doctor.connection import MOST
from crm_sync.models import Heartbeat, WebhookMonitor, Workspace
from sandbox.interface.switches import PLATFORMS
from tests.conftest import PLATFORM
from tests.crm_sync.admin_pages import let_processes_run
from tests.crm_sync.provider_server import serving
from tests.crm_sync.sockets import free_port
from tests.journeys.test_kinds import placed
from tests.platforms import Between
from tests.roles import snapshot

INTERFACE = Path(__file__).parents[2] / "docs" / "interface.md"
Checks = dict[tuple[str, str], dict]


@pytest.fixture(autouse=True)
def well(settings, db) -> Iterator[list[str]]:
    """Let nothing be wrong here; return what PostgreSQL says of its autovacuum."""
    let_processes_run(timezone.now())
    settings.SILENCED_SYSTEM_CHECKS = [
        *(f"security.W{number:03}" for number in range(1, 26)),
        "crm_sync.W001",
    ]
    autovacuum = ["on"]

    def say(execute, sql, *rest):
        return execute(sql.replace("current_setting('autovacuum')", f"'{autovacuum[0]}'"), *rest)

    with connection.execute_wrapper(say):
        yield autovacuum


def doctor(*words: str) -> tuple[int, Checks]:
    """Return the exit code, and the checks by whom they are about and their names."""
    out, code = StringIO(), 0
    try:
        call_command("doctor", *words, "--json", stdout=out)
    except CommandError as error:
        code = error.returncode
    print(out.getvalue())  # beside an assertion that fails
    found = json.loads(out.getvalue())["checks"]
    return code, {(one["about"], one["name"]): one for one in found}


def wrong(checks: Checks) -> dict[str, str]:
    """Return the names of what is not well."""
    verdicts = {name: one["verdict"] for (_, name), one in checks.items()}
    return {name: one for name, one in verdicts.items() if one not in ("ok", "not checked")}


DIFFERENT = {
    "rich": {},
    "strict": {"A5": "warning"},
    "brief": {},
    "odd": {"A1": "warning", "A7": "warning"},
}


@pytest.mark.parametrize("box", PLATFORMS, indirect=True)
def test_what_differs_on_each_kind_of_platform_is_told_by_reads_alone(
    box, workspace, drain_all, request
):
    kind = request.node.callspec.params["box"]
    placed(workspace, drain_all)
    while box.step():
        box.deliver()
        drain_all()
    box.calls.clear()
    before = snapshot()
    code, checks = doctor("main")
    assert (code, wrong(checks)) == (3 if DIFFERENT[kind] else 0, DIFFERENT[kind])
    assert snapshot() == before
    assert {method for method, *_ in box.calls} == {"GET"}
    assert 12 < len(box.calls) <= MOST
    mine = [name for (about, name) in checks if about == "main"]
    assert mine == list(dict.fromkeys(mine))
    numbers = set(re.findall(r"\*\*(A\d+)\*\*", INTERFACE.read_text(encoding="utf-8")))
    assert {name for name in mine if re.fullmatch(r"A\d+", name)} == numbers
    seen = {name for name in mine if checks["main", name]["verdict"] != "not checked"}
    assert seen >= {
        *("A1", "A2", "A4", "A5", "A6", "A7", "A8", "A9", "A14", "A22", "A26", "A27", "A28"),
        *("A35", "A36", "A37", "A38", "A41", "A43", "A44", "A51", "A52"),
        *("§2.1", "§2.2", "§2.3", "§2.4"),
    }


def test_names_values_and_shapes_that_the_catalog_lacks_are_named(box, workspace):
    there = box.workspace.properties["201"]
    there |= {
        "propertyType": "CASTLE_IN_THE_AIR",
        "zzField": {"deep": 1},
        "prices": {"rent": {"net": "1400", "zzFee": 3}},
        "conditions": ["UNKNOWN", "ZZ_NEW"],
        "title": "x" * 300,
    }
    code, checks = doctor()
    assert code == 3
    assert wrong(checks) == dict.fromkeys(("fields", "values", "shapes", "A9"), "warning")
    text = {name: checks["main", name]["found"] for name in ("fields", "values", "shapes", "A9")}
    assert text["fields"] == "Not in our catalog: `prices.rent.zzFee`, `zzField`."
    assert "`propertyType: “CASTLE_IN_THE_AIR” is not one of its values`" in text["values"]
    assert "`conditions[]: “ZZ_NEW” is not one of its values`" in text["values"]
    assert "`prices.rent.net: Write a number`" in text["shapes"]
    assert text["A9"] == "Longer ones are in `title`."
    assert checks["main", "A50"]["found"] == "These read as UNKNOWN: `conditions[]`."


def test_an_open_webhook_another_token_and_secrets_that_no_key_opens_are_found(
    box, workspace, settings
):
    box.workspace.webhook = None
    code, checks = doctor()
    assert (code, wrong(checks)) == (1, {"webhook": "failed"})
    assert checks["main", "webhook"]["remedy"] == "manage.py configure_webhook main"
    Workspace.objects.update(fixed_token="canary-wrong-token")
    code, checks = doctor()
    assert (code, wrong(checks)) == (1, {"token": "failed"})
    assert checks["main", "the rest"]["verdict"] == "not checked"
    assert "canary" not in json.dumps(list(checks.values()))
    settings.SECRET_KEYS_AT_REST = ["0" * 43 + "="]
    code, checks = doctor("main")
    assert (code, wrong(checks)) == (1, {"keys": "failed", "credentials": "failed"})
    assert "fixed_token" in checks["this installation", "keys"]["found"]


def test_a_webhook_that_somebody_changed_is_told_with_both_values(box, workspace):
    box.workspace.webhook["url"] = "https://elsewhere.test/"
    box.workspace.webhook["zzNew"] = 1
    code, checks = doctor()
    assert (code, wrong(checks)) == (1, {"webhook": "failed", "§2.1": "warning"})
    theirs = "url is https://elsewhere.test/, not http://crm.test/webhooks/"
    assert checks["main", "webhook"]["found"].startswith(theirs)


def test_a_disk_without_room_is_told(box, workspace, settings):
    settings.DATA_DIR = Path("/proc")  # it has none
    code, checks = doctor()
    assert (code, wrong(checks)) == (1, {"disk": "failed"})
    assert checks["this installation", "disk"]["found"] == "0 MiB are free in DATA_DIR /proc."


def test_attempts_that_did_not_reach_us_are_told_until_somebody_has_seen_them(box, workspace):
    why = "no answer: SSLError: certificate has expired"
    WebhookMonitor.objects.update(failed=11, last_failure=why)
    code, checks = doctor()
    assert (code, wrong(checks)) == (3, {"attempts": "warning"})
    told = f"Attempts that did not reach us: 11; the last: {why}."
    assert checks["main", "attempts"]["found"] == told


@pytest.mark.parametrize(
    ("minutes", "expected"), [(0, {}), (-5, {"clock": "warning"}), (20, {"clock": "failed"})]
)
def test_a_clock_that_is_off_is_told(box, workspace, minutes, expected):
    box.set_clock(datetime.now(UTC) + timedelta(minutes=minutes))
    code, checks = doctor()
    assert wrong(checks) == expected
    assert code == {0: 0, -5: 3, 20: 1}[minutes]


def test_a_platform_that_is_away_or_slow_holds_up_nothing_else(box, workspace):
    def away(environ):
        raise TimeoutError

    between = Between(box, PLATFORM)
    between.before = away
    code, checks = doctor()
    assert (code, wrong(checks)) == (1, {"platform": "failed"})
    assert checks["main", "the rest"]["verdict"] == "not checked"
    between.before = lambda _: ("429 Busy", [("X-RateLimit-Limit", "1")], b"")
    code, checks = doctor()
    assert (code, wrong(checks)) == (1, {"platform": "failed"})
    assert checks["main", "platform"]["found"].startswith("It answered 429: The platform takes no")


def test_broker_processes_two_beats_and_migrations_are_found(well, box, workspace):
    now = timezone.now()
    Heartbeat.objects.create(kind=Heartbeat.Kind.BEAT, name="beat@b", started_at=now, seen_at=now)
    Heartbeat.objects.filter(kind=Heartbeat.Kind.WORKER).update(seen_at=now - timedelta(minutes=5))
    MigrationRecorder.Migration.objects.filter(app="crm_sync").latest("pk").delete()
    before = current_app.conf.broker_write_url
    current_app.conf.broker_write_url = "redis://127.0.0.1:1/0"
    well[0] = "off"
    try:
        code, checks = doctor()
    finally:
        current_app.conf.broker_write_url = before
    is_postgresql = connection.vendor == "postgresql"
    found = {"migrations", "worker", "one beat", "broker"}
    found |= {"autovacuum"} if is_postgresql else set()
    assert (code, set(wrong(checks))) == (1, found)
    assert "`crm_sync 00" in checks["this installation", "migrations"]["found"]
    assert "`beat@b`" in checks["this installation", "one beat"]["found"]
    names = {name for about, name in checks if about == "this installation"}
    assert names >= {"settings", "database", "keys", "beat"}
    assert is_postgresql == ("connections" in names)


def test_people_get_lines_and_colors_on_a_terminal_alone(box, workspace):
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    out, terminal = StringIO(), Terminal()
    call_command("doctor", stdout=out)
    call_command("doctor", stdout=terminal)
    assert "ok           main: token: It is accepted." in out.getvalue().splitlines()
    assert "\x1b[" not in out.getvalue()
    assert "\x1b[32mok\x1b[0m" in terminal.getvalue()
    with pytest.raises(CommandError, match="no workspace 'other'; there is: main") as caught:
        call_command("doctor", "other", stdout=out)
    assert caught.value.returncode == 2


def test_checks_that_are_not_possible_for_one_reason_are_one_line(box, workspace):
    def printed(*words: str) -> list[str]:
        out = StringIO()
        call_command("doctor", *words, stdout=out)
        return [line for line in out.getvalue().splitlines() if line.startswith("not checked")]

    each = printed("--all")
    alone = [line for line in each if "Reads alone cannot show it." in line]
    folded = printed()
    assert len(alone) > 1
    assert len(folded) == len(
        {line.partition(" (we assume")[0].rpartition(": ")[2] for line in each}
    )
    names = ", ".join(line.split(": ")[1] for line in alone)
    assert f"not checked  main: {names}: Reads alone cannot show it." in folded


def test_warnings_alone_are_called_warnings(well, box, workspace, capsys):
    box.set_clock(datetime.now(UTC) - timedelta(minutes=5))
    with pytest.raises(SystemExit) as ended:
        load_command_class("crm_sync", "doctor").run_from_argv(["manage.py", "doctor", "main"])
    assert ended.value.code == 3
    assert re.fullmatch(r"Warnings: 1 of \d+ checks\n", capsys.readouterr().err)


def test_a_broker_through_which_no_message_comes_is_found(well, box, workspace):
    late = timezone.now() - timedelta(seconds=45)
    Heartbeat.objects.filter(kind=Heartbeat.Kind.TICK).update(seen_at=late)
    code, checks = doctor()
    found = checks["this installation", "messages through the broker"]
    assert (code, wrong(checks)) == (1, {"messages through the broker": "failed"})
    assert found["found"] == (
        "No message has come through the broker for 45 s."
        " Nothing that is due begins; nothing is lost."
    )


def test_a_provider_of_logins_is_asked_and_its_groups_are_compared(well, settings):
    assert ("this installation", "one login") not in doctor()[1]
    with serving() as there:
        settings.OIDC_ISSUER, settings.OIDC_CLIENT_ID = there.issuer, "crm-sync"
        settings.OIDC_INTERNAL_HOSTS = ["127.0.0.1"]
        assert one_login() == ("ok", "127.0.0.1 answers, and is the issuer of OIDC_ISSUER.")
        settings.OIDC_GROUPS = {"a": "Agents", "b": "Nobody"}
        assert one_login() == ("warning", "No such group: `Nobody`.")
        there.metadata = {"issuer": "https://elsewhere.example.com"}
        text = "127.0.0.1: it calls itself 'https://elsewhere.example.com', not OIDC_ISSUER."
        assert one_login() == ("failed", text)
        there.metadata, there.published = {}, []
        assert one_login() == ("failed", "127.0.0.1: it publishes no key that we can use.")
    verdict, text = one_login()
    assert (verdict, "Connection refused" in text or "connection failed" in text) == (
        "failed",
        True,
    )


@contextmanager
def mail_server(*answers: bytes) -> Iterator[int]:
    """Answer the lines of a mail program, one after the other; yields the port."""

    def talk(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as lines:
            connection.sendall(b"220 mail.test\r\n")
            for answer in answers:
                lines.readline()
                connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=talk, args=(listener,), daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(5)


KNOWS = b"250-mail.test\r\n250 AUTH PLAIN\r\n"
BYE = b"221 bye\r\n"
LOGINS = {
    "no login": ("", (KNOWS, BYE), "ok", "answers."),
    "a login": ("crm", (KNOWS, b"235 welcome\r\n", BYE), "ok", "answers and takes our login."),
    "a wrong one": (
        "crm",
        (KNOWS, b"535 5.7.8 who\x1b[31m are you\r\n", BYE),
        "failed",
        "takes no mail of ours: (535, b'5.7.8 who\\x1b[31m are you').",
    ),
}


@pytest.mark.parametrize(("user", "answers", "verdict", "text"), LOGINS.values(), ids=LOGINS)
def test_the_mail_server_is_asked_for_a_login_and_sent_nothing(
    well, settings, user, answers, verdict, text
):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = user, user and "secret word"
    with mail_server(*answers) as port:
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", port
        found = doctor()[1]["this installation", "mails"]
    assert (found["verdict"], found["found"]) == (
        verdict,
        f"The mail server (127.0.0.1:{port}) {text}",
    )
    assert bool(found["remedy"]) == (verdict == "failed")


def test_without_a_mail_server_the_doctor_says_so(well, settings):
    def mails() -> tuple[str, str]:
        found = doctor()[1]["this installation", "mails"]
        return found["verdict"], found["found"]

    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    assert mails() == ("not checked", "None is sent: EMAIL_URL names no mail server.")
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    assert mails() == ("ok", f"No server is asked: {settings.EMAIL_BACKEND} takes them.")
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", free_port()
    verdict, text = mails()
    assert (verdict, "Connection refused" in text) == ("failed", True)


def one_login() -> tuple[str, str]:
    found = doctor()[1]["this installation", "one login"]
    return found["verdict"], found["found"]

"""`manage.py config`: an installation as a file, and a file as an installation."""

import json
import re
from datetime import UTC, datetime, time
from io import StringIO
from pathlib import Path

import pytest
import yaml
from django.core.management import CommandError
from django_celery_beat.models import CrontabSchedule, IntervalSchedule, PeriodicTask

from crm_sync import connecting, hooks
from crm_sync.connecting import Given
from crm_sync.models import Hold, Subscription, Workspace, hold
from crm_sync.outgoing import outbox
from orders.models import UserList
from properties.domain import owner_change, owners
from properties.merge import Owner
from properties.models import Property, Recurring, Sender, Source
from tests.crm_sync.test_commands import run
from tests.processes import ROOT

pytestmark = pytest.mark.django_db
NOW = datetime(2027, 1, 31, 12, tzinfo=UTC)
CANARY = "canary-of-a-secret"
HOOK = "https://hooks.example/in?key=canary-of-an-address"
SIGNING = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
LEAST = """
version: 1
workspaces:
  - slug: main
    base_url: https://platform.example
    token: env:MAIN
"""


def failure(*words: str) -> tuple[int, list[str]]:
    with pytest.raises(CommandError) as caught:
        run(*words)
    assert "canary" not in str(caught.value)
    return caught.value.returncode, str(caught.value).splitlines()


def filled() -> None:
    """Make one row of each kind, as people and programs do."""
    given = Given("main", "https://platform.example", CANARY)
    main, _ = connecting.store(given, now=NOW)
    Workspace.objects.filter(pk=main.pk).update(
        conflict_policy="ask", max_under_way=3, callback_sources="192.0.2.0/24 198.51.100.7"
    )
    other = Given("büro"[:1] + "-2", "http://127.0.0.1:8900", "", "client", CANARY)
    connecting.store(other, now=NOW)
    owner_change.set_owner(main.pk, "prices.rent", Owner.THEIRS, now=NOW)
    owner_change.set_owner(main.pk, "address", Owner.NEVER, now=NOW)
    for name in ("no", "Küche", "Ku\u0308che: # \n 'x' \"y\""):
        sender = Sender.objects.create(
            workspace=main,
            name=name,
            missing="SET_STATE",
            missing_state="TAKEN",
            columns={"1e3": "address.locality", ": ": "reference"},
        )
    shared = {"workspace": main, "sender": sender, "due_at": NOW}
    Source.objects.create(**shared, address="sftp://feeds.example/out/", user="u", secret=CANARY)
    Source.objects.create(**shared, address="https://feeds.example/a?key=canary-of-an-address")
    daily = {"every_minutes": None, "daily_at": time(6, 30), "expect_hours": None}
    for _ in range(2):  # nothing forbids two that are equal
        Source.objects.create(**shared, address="file:/srv/feeds/", **daily, mail_to="a@x.test")
    with outbox.changing(main.pk):
        Subscription.objects.create(
            workspace=main, address=HOOK, kinds=["property.in_sync"], secret=SIGNING, due_at=NOW
        )
    at_four = CrontabSchedule.objects.create(minute="0", hour="4, 5", timezone="Europe/Zurich")
    task = PeriodicTask.objects.get(task="crm_sync.clear_deliveries")
    PeriodicTask.objects.filter(pk=task.pk).update(interval=None, crontab=at_four, enabled=False)


def emptied() -> None:
    """Leave what an installation has after `migrate`."""
    for model in (Source, Sender, Subscription, Hold, Recurring, UserList):
        model.objects.all().delete()
    Workspace.objects.all().delete()
    hourly = IntervalSchedule.objects.get(every=1, period="hours")
    PeriodicTask.objects.all().update(interval=hourly, crontab=None, enabled=True)
    CrontabSchedule.objects.all().delete()


def exported(folder: Path, name: str = "one.yaml") -> tuple[Path, list[str]]:
    file = folder / name
    printed = json.loads(run("config", "export", str(file), "--json"))
    assert printed["file"] == str(file)
    return file, printed["secrets"]


def given_secrets(monkeypatch, secrets: list[str]) -> None:
    """Set the variables to what `filled` has stored."""
    for reference in secrets:
        value = CANARY
        if "ADDRESS" in reference:
            value = HOOK if "SUBSCRIPTION" in reference else HOOK.replace("hooks", "feeds")
            value = value.replace("/in?", "/a?") if "SOURCE" in reference else value
        if "SUBSCRIPTION" in reference and "SECRET" in reference:
            value = SIGNING
        monkeypatch.setenv(reference.removeprefix("env:"), value)


@pytest.mark.rule("S5")
def test_an_export_holds_no_secret_and_says_where_apply_looks_for_each(tmp_path):
    filled()
    file, secrets = exported(tmp_path)
    text = file.read_text()
    assert "canary" not in text
    assert SIGNING not in text
    assert len(secrets) == len(set(secrets)) == 6
    assert secrets[:2] == ["env:CRM_B_2_CLIENT_SECRET", "env:CRM_MAIN_TOKEN"]
    assert all(f": {one}\n" in text for one in secrets)
    assert run("config", "export") == text
    document = json.loads(run("config", "export", "--json"))
    assert document["secrets"] == secrets
    assert document["configuration"] == yaml.safe_load(text)


def test_an_export_applied_to_an_empty_installation_is_exported_to_the_same_bytes(
    tmp_path, monkeypatch
):
    filled()
    first, secrets = exported(tmp_path)
    given_secrets(monkeypatch, secrets)
    emptied()
    run("config", "apply", str(first))
    second, again = exported(tmp_path, "two.yaml")
    assert second.read_bytes() == first.read_bytes()
    assert again == secrets

    made = list(Source.objects.order_by("pk").values_list("address", "is_enabled", "daily_at"))
    assert len(made) == 4
    assert Source.objects.exclude(secret="").get().secret == CANARY
    assert Workspace.objects.get(slug="main").fixed_token == CANARY
    assert Workspace.objects.get(slug="main").outgoing_kinds == ["property.in_sync"]
    assert owners.of_key(Workspace.objects.get(slug="main").pk)("address") is Owner.NEVER


def test_a_second_apply_changes_nothing(tmp_path, monkeypatch):
    filled()
    file, secrets = exported(tmp_path)
    given_secrets(monkeypatch, secrets)
    emptied()
    run("config", "apply", str(file))
    before = everything()
    assert run("config", "apply", str(file)) == "nothing to change\n"
    assert everything() == before


def everything() -> list[dict]:
    models = (Workspace, Hold, Sender, Source, Subscription, PeriodicTask, Recurring)
    return [row for model in models for row in model.objects.order_by("pk").values()]


@pytest.mark.rule("I34")
def test_a_new_workspace_on_a_live_platform_begins_in_watch_only(tmp_path, monkeypatch):
    monkeypatch.setenv("MAIN", CANARY)
    run("config", "apply", written(tmp_path, LEAST))
    made = Workspace.objects.get()
    assert hold.is_watched(made.pk, datetime.now(UTC))
    assert (made.auth_secret, made.credentials_at is None) == ("", False)
    assert Recurring.objects.filter(workspace=made).exists()


@pytest.mark.rule("I34")
def test_apply_leaves_a_workspace_that_has_gone_live_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("MAIN", CANARY)
    file = written(tmp_path, LEAST)
    run("config", "apply", file)
    Hold.objects.all().delete()
    monkeypatch.setenv("MAIN", "another-canary")
    assert run("config", "apply", file) == "workspace main: changed\n  token: … → …\n"
    made = Workspace.objects.get()
    assert (made.fixed_token, Hold.objects.count()) == ("another-canary", 0)


def written(folder: Path, text: str) -> str:
    file = folder / "given.yaml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_without_its_secrets_nothing_is_changed_and_each_is_named(tmp_path):
    absent = tmp_path / "absent"
    file = written(
        tmp_path,
        LEAST + f"  - {{slug: b, base_url: 'http://127.0.0.1:1', token: 'file:{absent}'}}\n",
    )
    text = "these secrets are missing, and nothing was changed: env:MAIN,"
    reason = f"file:{absent} (No such file or directory)"
    assert failure("config", "apply", file) == (1, [f"{file}: {text} {reason}"])
    assert not Workspace.objects.exists()


def test_other_credentials_of_a_workspace_replace_the_known_ones(tmp_path, monkeypatch):
    monkeypatch.setenv("MAIN", CANARY)
    run("config", "apply", written(tmp_path, LEAST))
    secret = "    client_id: a\n    client_secret: env:MAIN"
    file = written(tmp_path, LEAST.replace("    token: env:MAIN", secret))
    assert run("config", "apply", file).splitlines()[0] == "workspace main: changed"
    columns = ("fixed_token", "client_id", "client_secret")
    assert Workspace.objects.values_list(*columns).get() == ("", "a", CANARY)
    assert run("config", "apply", file) == "nothing to change\n"
    run("config", "apply", written(tmp_path, LEAST))
    assert Workspace.objects.values_list(*columns).get() == (CANARY, "", "")


def test_a_secret_comes_from_a_file_without_its_last_line_feed(tmp_path):
    secret = tmp_path / "token"
    secret.write_text(f"{CANARY}\n")
    run("config", "apply", written(tmp_path, LEAST.replace("env:MAIN", f"file:{secret}")))
    assert Workspace.objects.get().fixed_token == CANARY


def test_a_plan_says_what_would_be_made_changed_and_left(tmp_path, monkeypatch):
    filled()
    file, secrets = exported(tmp_path)
    given_secrets(monkeypatch, secrets)
    text = file.read_text().replace("max_under_way: 3", "max_under_way: 4")
    cut = yaml.safe_load(text)
    del cut["workspaces"][0]
    main = cut["workspaces"][0]
    main["senders"][0]["name"] = "new one"
    del main["sources"][0], cut["schedules"]
    changed = written(tmp_path, yaml.safe_dump(cut, sort_keys=False, allow_unicode=True))
    before = everything()
    planned = run("config", "apply", changed, "--dry-run")
    assert everything() == before
    assert planned.splitlines() == [
        "workspace main: would be changed",
        "  max_under_way: 3 → 4",
        "main: sender new one: would be made",
        "left as it is, not in the file: main: sender no",
        "left as it is, not in the file: main: source sftp://feeds.example/out/ of"
        " Ku\\u0308che: # \\n 'x' \"y\"",
        "left as it is, not in the file: workspace b-2",
        "left as it is, not in the file: schedule Received events: remove bytes that have had"
        " their time",
    ]
    document = json.loads(run("config", "apply", changed, "--json"))
    assert document["result"] == "applied"
    assert [step["path"] for step in document["steps"]] == [
        "workspaces[0]",
        "workspaces[0].senders[0]",
    ]
    assert document["steps"][0]["changes"] == {"max_under_way": {"before": 3, "after": 4}}
    assert len(document["left"]) == 4
    assert Workspace.objects.get(slug="main").max_under_way == 4
    assert Sender.objects.count() == 4


SENDER = "    senders: [{name: a}]\n"
SOURCE = SENDER + "    sources: [{sender: a, address: 'https://x.test/f'%s}]\n"
HELD = "    subscriptions: [{address: %s, kinds: %s}]\n"
HOURLY = "schedules: [{name: a, every: 1 hours%s}]\n"
TASK = "schedules: [{name: a, task: crm_sync.clear_deliveries, %s}]\n"
KINDS = ", ".join(one.name for one in hooks.plugged().message_kinds)
UNFIT = [
    ("    colour: red\n", 2, "workspaces[0].colour: is unknown; expected one of slug, base_url"),
    ("    slug: second\n", 2, "line 7, column 5: 'slug' is here twice"),
    ("    max_under_way: many\n", 2, "workspaces[0].max_under_way: is 'many'; expected a whole"),
    ("    max_under_way: 0\n", 1, "workspaces[0].max_under_way: expected a whole number from 1 to"),
    ("    read_before_write: perhaps\n", 2, "workspaces[0].read_before_write: is 'perhaps'; exp"),
    ("    conflict_policy: dice\n", 2, "workspaces[0].conflict_policy: is 'dice'; expected one o"),
    ("    client_secret: canary\n", 2, "workspaces[0].client_secret: expected env:NAME or file:/"),
    ("    client_id: a\n", 1, "workspaces[0].token: expected either a token, or client_id and cl"),
    (
        "    callback_sources: [192.0.2.1 192.0.2.2]\n",
        1,
        "workspaces[0].callback_sources: expected one",
    ),
    ('    callback_sources: ["\\0"]\n', 2, "line 7, column 24: a NUL or half a character"),
    (
        '    senders: [{name: a, columns: {"\\ud800": b}}]\n',
        2,
        "line 7, column 35: a NUL or half a ch",
    ),
    (
        "  - {slug: b, base_url: 'https://x.test/', token: env:MAIN}\n",
        1,
        "workspaces[1].base_url: expe",
    ),
    (
        "  - {slug: '', base_url: 'http://[::1]:1', token: env:MAIN, senders: [{name: a}]}\n",
        1,
        "workspaces[1].slug: a name has letters",
    ),
    (
        "schedules: [{name: a, task: b, every: 01 minutes}]\n",
        1,
        "schedules[0].every: expected a num",
    ),
    (
        SOURCE % ", daily_at: 06:30+01:00",
        2,
        "workspaces[0].sources[0].daily_at: is '06:30+01:00'; e",
    ),
    ("    callback_sources: [x]\n", 1, "workspaces[0].callback_sources: x is neither an address"),
    ("    auth_type: NONE\n", 1, "workspaces[0].auth_type: NONE needs the setting CALLBACK_ALLOW_"),
    ("    auth_header_name: Host\n", 1, "workspaces[0].auth_header_name: the header Host of a cal"),
    ("    owners: [{field: x, owner: ours}]\n", 1, "workspaces[0].owners[0].field: expected a fie"),
    ("    owners: [{field: address, owner: me}]\n", 2, "workspaces[0].owners[0].owner: is 'me'; e"),
    (
        "    owners: [{field: address}]\n",
        1,
        "workspaces[0].owners[0].owner: is missing; expected a",
    ),
    ("    senders: {a: b}\n", 2, "workspaces[0].senders: expected a list, with one sender behind"),
    ("    senders: [a]\n", 2, "workspaces[0].senders[0]: expected a sender, with its name and mor"),
    ("    senders: [{language: de}]\n", 2, "workspaces[0].senders[0].name: is missing; expected a"),
    (
        "    senders: [{name: a, language: deu}]\n",
        1,
        "workspaces[0].senders[0].language: Ensure th",
    ),
    ("    senders: [{name: a, flags: {a: {}}}]\n", 2, "workspaces[0].senders[0].flags: expected a"),
    ("    senders: [{name: a, missing: SET_STATE}]\n", 1, "workspaces[0].senders[0].missing_state"),
    (SOURCE % ", every_minutes: 0", 1, "workspaces[0].sources[0].every_minutes: Ensure this value"),
    (SOURCE % ", daily_at: 06:30", 1, "workspaces[0].sources[0].daily_at: expected either every_m"),
    (
        SOURCE % ", daily_at: noon",
        2,
        "workspaces[0].sources[0].daily_at: is 'noon'; expected a tim",
    ),
    (SOURCE % ", mail_to: [me]", 1, "workspaces[0].sources[0].mail_to: holds 'me', which is not a"),
    (SOURCE % ", sign_in: HEADER", 1, "workspaces[0].sources[0].header: Enter a name such as X-Ap"),
    (SOURCE.replace("sender: a", "sender: b") % "", 1, "workspaces[0].sources[0].sender: is 'b', "),
    (
        SOURCE.replace("https:", "smtp:") % "",
        1,
        "workspaces[0].sources[0].address: the address beg",
    ),
    (
        "    senders: [{name: a}, {name: a}]\n",
        1,
        "workspaces[0].senders[1]: is the same sender as w",
    ),
    (HELD % ("'http://x.test'", "[test]"), 1, "workspaces[0].subscriptions[0].address: "),
    (HELD % ("'https://x.test'", "[test]"), 1, "workspaces[0].subscriptions[0].kinds: holds 'tes"),
    ("  - {slug: main, base_url: 'https://x.test', token: env:MAIN}\n", 1, "workspaces[1]: is the"),
    ("schedules: [{name: a, task: b}]\n", 1, "schedules[0].every: expected either every, such as"),
    (
        "schedules: [{name: a, task: b, every: 1 fortnight}]\n",
        1,
        "schedules[0].every: expected a n",
    ),
    ("schedules: [{name: a, task: b, crontab: '* *'}]\n", 1, "schedules[0].crontab: expected five"),
    ("schedules: [{name: a, task: b, crontab: '99 * * * *'}]\n", 1, "schedules[0].crontab: "),
    (
        HOURLY % ", task: b",
        1,
        "schedules[0].task: is no task of this installation; expected one of",
    ),
    (TASK % "crontab: '0 4 31 2 *'", 1, "schedules[0].crontab: expected a day that comes"),
    (TASK % "every: 2000000000 days", 1, "schedules[0].every: expected a time that comes"),
    (TASK % "every: 9999999 days", 1, "schedules[0].every: expected a time that comes"),
    (
        TASK % "every: 1 days, expire_seconds: 5, expires: 2027-01-31T06:30:00+00:00",
        1,
        "schedules[0].expires: expected either expires or expire_seconds",
    ),
    (
        TASK % "every: 1 days, start_time: 0001-01-01T00:00:00+14:00",
        2,
        "schedules[0].start_time: is '0001-01-01T00:00:00+14:00'; expected a moment such as",
    ),
    (TASK % f"every: 1 days, args: '{'[' * 9999}'", 1, "schedules[0].args: expected JSON: a list"),
    (TASK % "every: 1 days, args: '[NaN]'", 1, "schedules[0].args: expected JSON: a list"),
    ("jobs: []\n", 2, "jobs: is unknown; expected one of version, workspaces, schedules"),
]


@pytest.mark.parametrize(("more", "code", "said"), UNFIT)
def test_a_fault_is_named_with_its_path_and_nothing_is_changed(
    more, code, said, tmp_path, monkeypatch
):
    monkeypatch.setenv("MAIN", CANARY)
    file = written(tmp_path, LEAST + more)
    found, lines = failure("config", "apply", file)
    assert found == code
    assert lines[0].startswith(f"{file}: {said}")
    assert lines[-1] == ("nothing was changed" if len(lines) > 1 else lines[0])
    assert not Workspace.objects.exists()


def test_all_faults_of_a_file_are_named_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("MAIN", CANARY)
    more = "    senders: [{name: a, language: D}, {name: b, language: deu}]\n"
    file = written(tmp_path, LEAST + more)
    _, lines = failure("config", "apply", file)
    assert [line.split(": ")[1] for line in lines[:-1]] == [
        "workspaces[0].senders[0].language",
        "workspaces[0].senders[0].language",
        "workspaces[0].senders[1].language",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", "line 1, column 5: expected the node content, but found '<stream end>'"),
        ("- a", "expected version, and lists such as workspaces"),
        ("version: 2", "version: expected 1, which this version can read"),
        ("", "expected version, and lists such as workspaces"),
        ("version: 1\n? [a]\n: b", "line 2, column 3: a name is a text"),
        ("[" * 9999, "it is nested too deeply"),
    ],
)
def test_a_file_that_is_none_is_refused_in_one_line(text, said, tmp_path):
    file = written(tmp_path, text)
    code, lines = failure("config", "apply", file)
    assert (code, lines[0]) == (2, f"{file}: {said}")


def test_a_file_that_is_not_there_or_is_there_already_is_refused(tmp_path):
    absent = str(tmp_path / "absent.yaml")
    assert failure("config", "apply", absent) == (2, [f"{absent}: No such file or directory"])
    there = written(tmp_path, LEAST)
    assert failure("config", "export", there) == (2, [f"{there}: File exists"])
    assert Path(there).read_text() == LEAST


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ("base_url: https://other.example", "base_url: is another platform than here: `add_wo"),
        ("auth_type: BEARER_TOKEN", "auth_type: is HEADER here: `configure_webhook` changes it o"),
    ],
)
def test_what_the_platform_has_to_change_too_is_refused_on_a_known_workspace(
    changed, said, tmp_path, monkeypatch
):
    monkeypatch.setenv("MAIN", CANARY)
    run("config", "apply", written(tmp_path, LEAST))
    before = everything()
    name = changed.partition(":")[0]
    lines = [line for line in LEAST.splitlines() if name not in line]
    file = written(tmp_path, "\n".join([*lines, f"    {changed}"]))
    code, found = failure("config", "apply", file)
    assert (code, found[0][: len(file) + 110]) == (1, found[0])
    assert found[0].startswith(f"{file}: workspaces[0].{said}")
    assert everything() == before


def test_the_first_import_of_a_new_source_waits_for_a_person(tmp_path, monkeypatch):
    monkeypatch.setenv("MAIN", CANARY)
    run("config", "apply", written(tmp_path, LEAST + SOURCE % ""))
    made = Source.objects.get()
    assert (made.every_minutes, made.expect_hours, made.is_enabled) == (60, 72, True)
    assert abs(made.set_at - datetime.now(UTC)).total_seconds() < 60
    assert made.due_at is not None


def test_a_file_may_come_from_the_standard_input(monkeypatch):
    monkeypatch.setenv("MAIN", CANARY)
    monkeypatch.setattr("sys.stdin", StringIO(LEAST))
    assert run("config", "apply", "-") == "workspace main: made\n"


def test_a_text_means_what_it_looks_like(tmp_path, monkeypatch):
    monkeypatch.setenv("MAIN", CANARY)
    names = ["no", "1e3", "06:30", "null", "0x10", "=", "2027-01-31"]
    more = "    senders:\n" + "".join(f"      - name: {name}\n" for name in names)
    run("config", "apply", written(tmp_path, LEAST + more))
    assert list(Sender.objects.order_by("pk").values_list("name", flat=True)) == names


def test_no_property_is_touched(tmp_path, monkeypatch):
    filled()
    main = Workspace.objects.get(slug="main")
    Property.objects.create(workspace=main, desired={"objectReferenceId": "A"})
    before = list(Property.objects.values())
    file, secrets = exported(tmp_path)
    given_secrets(monkeypatch, secrets)
    run("config", "apply", str(file))
    assert list(Property.objects.values()) == before


def test_the_example_of_the_docs_is_applied(tmp_path, monkeypatch):
    page = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    example = page.split("```yaml\n")[1].split("```")[0]
    secret = tmp_path / "feed"
    secret.write_text(CANARY)
    for name in re.findall(r"env:(\w+)", example):
        value = HOOK if name.endswith("ADDRESS") else SIGNING if "SUBSCR" in name else CANARY
        monkeypatch.setenv(name, value)
    file = written(tmp_path, example.replace("/run/secrets/feed", str(secret)))
    lines = run("config", "apply", file).splitlines()
    assert lines[:5] == [
        "workspace main: made",
        "main: subscription hooks.example: made",
        "main: rule of prices.rent: made",
        "main: sender office: made",
        "main: source sftp://feeds.example.com/out/ of office: made",
    ]
    assert run("config", "apply", file).splitlines()[-1] == "nothing to change"

"""What the documentation starts is what the Procfile starts, and it is started again."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from django.core.management import get_commands

from examples.supervisor import commands

ROOT = Path(__file__).resolve().parent.parent.parent
DEPLOY = ROOT / "docs" / "deploy"
UNITS = sorted(DEPLOY.glob("*.service"))
COMPOSE = DEPLOY / "compose.yaml"
KINDS = ("web", "callbacks", "worker", "beat")
# What an installation chooses for itself.
CHOSEN = ("--bind", "--workers", "--loglevel", "--hostname")


def essence(command: str) -> list[str]:
    """Return the words of a command without the options that are a matter of choice."""
    words = shlex.split(command)
    words[0] = Path(words[0]).name
    kept = []
    while words:
        word = words.pop(0)
        if word in CHOSEN:
            words.pop(0)
        else:
            kept.append(word)
    return kept


PROCFILE = {name: essence(command) for name, command in commands(ROOT / "Procfile").items()}


def settings(unit: Path) -> dict[str, str]:
    lines = [line.partition("=") for line in unit.read_text().splitlines() if "=" in line]
    return {name: value for name, _, value in lines}


def test_the_procfile_has_a_web_callbacks_a_worker_and_a_beat_of_its_own():
    assert tuple(PROCFILE) == KINDS
    assert PROCFILE["callbacks"] == PROCFILE["web"]  # the same program, on a port of its own
    assert "--beat" not in PROCFILE["worker"]


def test_the_demo_runs_the_same_and_a_sandbox_and_the_journey():
    demo = commands(ROOT / "examples" / "Procfile")
    assert tuple(demo) == ("web", "worker", "beat", "sandbox", "journey")  # no proxy parts calls
    assert [essence(demo[kind]) for kind in ("worker", "beat")] == [
        PROCFILE["worker"],
        PROCFILE["beat"],
    ]


def test_the_units_start_what_the_procfile_does_and_start_it_again():
    found = {re.split(r"[-.@]", unit.name)[2]: settings(unit) for unit in UNITS}
    started = {name: essence(unit["ExecStart"]) for name, unit in found.items()}
    assert started == PROCFILE
    assert {unit["Restart"] for unit in found.values()} == {"always"}
    assert {unit["StartLimitIntervalSec"] for unit in found.values()} == {"0"}


def test_the_target_wants_every_unit():
    wanted = settings(DEPLOY / "crm-sync.target")["Wants"].split()
    names = {re.sub(r"@\d+", "@", name) for name in wanted}
    assert names == {unit.name for unit in UNITS}


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd")
def test_systemd_understands_the_units(tmp_path: Path):
    for unit in [*UNITS, DEPLOY / "crm-sync.target"]:
        text = re.sub(r"/opt/crm-sync/\.venv/bin/\w+", shutil.which("true"), unit.read_text())
        name = unit.name.replace("@.", "@1.")
        (tmp_path / name).write_text(text)
    (tmp_path / "crm-sync-worker@2.service").write_text(
        (tmp_path / "crm-sync-worker@1.service").read_text()
    )
    units = sorted(str(path) for path in tmp_path.iterdir())
    command = ["systemd-analyze", "verify", "--recursive-errors=no", *units]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_is_exposed_below_three(unit: Path):
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=29", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_each_unit_is_kept_from_the_machine_in_the_same_way():
    names = ("StateDirectory", "Protect", "Private", "Restrict", "SystemCall", "Capability")
    kept = {
        tuple(line for line in unit.read_text().splitlines() if line.startswith(names))
        for unit in UNITS
    }
    (lines,) = kept
    assert {"ProtectSystem=strict", "StateDirectory=crm-sync", "PrivateTmp=true"} <= set(lines)


def test_the_page_keeps_a_backup_and_its_keys_apart():
    page = (ROOT / "docs" / "operations.md").read_text()
    part = page.split("\n## Backup and restore\n")[1].split("\n## ")[0]
    keys = set(re.findall(r"(/\S+)/\S*\.key\b", part)) - {"/data"}
    database = set(re.findall(r"(/backup\S*)/(?:crm-sync\.dump|db\.sqlite3)", part))
    assert (keys & {"/backup-keys"}, database) == ({"/backup-keys"}, {"/backup"})
    assert not [one for one in keys if one.startswith("/backup/")]


def services() -> dict[str, dict]:
    """Read the compose file with the YAML of whichever Python has one."""
    reading = "import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin)))"
    for python in ("python", "python3", "/usr/bin/python3"):
        if shutil.which(python) is None:
            continue
        done = subprocess.run(
            [python, "-c", reading],
            input=COMPOSE.read_text(),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            return json.loads(done.stdout)["services"]
        assert "No module named 'yaml'" in done.stderr, done.stderr
    pytest.skip("no Python here reads YAML")


def test_the_compose_file_starts_what_the_procfile_does():
    text = COMPOSE.read_text()
    found = dict(
        re.findall(r"^  (\w+):\n    <<: \*process\n    command: (.+)$", text, re.MULTILINE)
    )
    assert {kind: essence(found[kind]) for kind in KINDS} == PROCFILE


def test_the_compose_file_is_yaml_and_starts_again_what_dies():
    found = services()
    lasting = {name: one["restart"] for name, one in found.items() if name != "migrate"}
    assert lasting == dict.fromkeys((*KINDS, "proxy", "database", "broker"), "always")
    assert {kind: essence(found[kind]["command"]) for kind in KINDS} == PROCFILE
    for kind in ("web", "callbacks"):
        assert "/readyz" in found[kind]["healthcheck"]["test"][-1]


def test_the_page_takes_the_block_of_nginx_whole_and_with_the_name_of_the_machine(tmp_path: Path):
    page = (ROOT / "docs" / "operations.md").read_text()
    command = re.search(r"^sed -n '/\^# The path.*?\n.*?> (\S+)", page, re.MULTILINE)
    written = tmp_path / "crm-sync.conf"
    line = f"name=mine.test; {command[0].replace(command[1], str(written))}"
    subprocess.run(["bash", "-c", line], cwd=ROOT, check=True)
    block = re.search(r"```nginx\n(.*?)```", page, re.DOTALL)[1]
    assert written.read_text() == block.replace("crm.example.com", "mine.test")


def test_the_page_names_commands_and_services_that_there_are():
    page = (ROOT / "docs" / "operations.md").read_text()
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    typed = "".join(text for language, text in blocks if not language)
    commands = set(re.findall(r"\bmanage(?:\.py)? ([a-z_]+)", typed))
    assert commands - set(get_commands()) == set()
    named = set(re.findall(r"\bcrm (?:exec|run)(?: -\S+)* (\w+)", typed))
    stopped = {
        name for names in re.findall(r"\bcrm stop ([a-z ]+)", typed) for name in names.split()
    }
    services = set(re.findall(r"^  (\w+):$", COMPOSE.read_text(), re.MULTILINE))
    assert (named | stopped) - services == set()
    assert {"migrate", "restored"} <= commands
    assert named == {"web", "database", "migrate"}


def test_the_page_lists_each_command_of_ours():
    page = (ROOT / "docs" / "operations.md").read_text()
    table = page.split("\n## Commands\n")[1].split("\n## ")[0]
    ours = {
        name for name, app in get_commands().items() if app in {"crm_sync", "orders", "properties"}
    }
    assert set(re.findall(r"(?<=`)[a-z_]+(?=[ `])", table)) & set(get_commands()) == ours


def test_no_process_of_the_demo_gets_a_secret_as_an_argument():
    # Others see a command line, and a secret that begins with "-" is taken for an option.
    lines = (ROOT / "examples" / "Procfile").read_text()
    assert not re.search(r"\$\w*(TOKEN|PASSWORD|SECRET)", lines)

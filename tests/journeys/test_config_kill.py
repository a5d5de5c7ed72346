"""kill -9 of `config apply`: all of a file is applied or nothing, and the next apply does it."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.crm_sync.test_commands import run
from tests.journeys.applying import STANDS
from tests.journeys.rows import everything
from tests.processes import Installation, wait_until

WORKSPACES, EACH = 12, 4
SECRETS = {"MAIN_TOKEN": "a-token", "FEED": "a-password", "SIGNING": "whsec_" + "MDEy" * 10}
SECRETS |= {f"HOOK_{n}": f"https://hooks.example/{n}?key=a-key" for n in range(EACH)}
KINDS = ["property.in_sync", "material.ready"]
FIRST = {"limit": 3, "kinds": KINDS[:1], "owner": "theirs", "language": "de", "user": "u", "n": 2}
NEXT = {"limit": 5, "kinds": KINDS, "owner": "never", "language": "fr", "user": "v", "n": 3}


def written(folder: Path, values: dict[str, Any]) -> str:
    """Write a file with many rows, each of which has one of these values."""
    feeds, some, user = "sftp://feeds.example", range(EACH), {"user": values["user"]}
    lists = {
        "subscriptions": [
            {"address": f"env:HOOK_{n}", "kinds": values["kinds"], "secret": "env:SIGNING"}
            for n in some
        ],
        "owners": [{"field": f, "owner": values["owner"]} for f in ("prices.rent", "address")],
        "senders": [{"name": f"Küche {n}", "language": values["language"]} for n in some],
        "sources": [
            {"sender": f"Küche {n}", "address": f"{feeds}/{n}/", **user, "secret": "env:FEED"}
            for n in some
        ],
        "targets": [
            {"name": f"Zürich {n}", "kind": "SFTP", "address": f"{feeds}/in/{n}/", **user}
            for n in some
        ],
    }
    of_each = {"token": "env:MAIN_TOKEN", "max_under_way": values["limit"], **lists}
    document = {
        "version": 1,
        "workspaces": [
            {"slug": f"w-{n}", "base_url": f"https://platform.example/{n}", **of_each}
            for n in range(WORKSPACES)
        ],
        "schedules": [
            {"name": "x", "task": "crm_sync.clear_deliveries", "every": f"{values['n']} hours"}
        ],
    }
    file = folder / f"{values['n']}.yaml"
    file.write_text(json.dumps(document, ensure_ascii=False))
    return str(file)


@pytest.mark.processes
@pytest.mark.parametrize("values", [FIRST, NEXT], ids=["new rows", "known rows"])
def test_a_file_whose_apply_is_killed_is_applied_whole_or_not_at_all(
    tmp_path: Path, database_url: str, monkeypatch, values: dict[str, Any]
):
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    first, file = written(tmp_path, FIRST), written(tmp_path, values)
    for one in (first, file):
        run("config", "apply", one)
    whole = run("config", "export")  # what comes of it where nothing is killed
    installation = Installation(tmp_path, database_url)

    def start(name: str, moment: object) -> None:
        (tmp_path / f"{name}.log").unlink(missing_ok=True)
        installation.start(name, "tests.journeys.applying", file, str(moment))

    def stands(name: str) -> None:
        log = tmp_path / f"{name}.log"
        wait_until(f"{name} stands", lambda: STANDS in log.read_text(), limit=30)

    try:
        if file != first:
            installation.manage("config", "apply", first)
        before = everything(database_url)
        writes = int(installation.run("-m", "tests.journeys.applying", file, "0").split()[-1])
        assert writes > WORKSPACES * EACH
        for moment in (1, writes // 2, writes):
            start("one", moment)
            stands("one")
            installation.kill("one")
            assert everything(database_url) == before
        start("one", writes // 2)
        stands("one")
        start("other", "after the commit")
        time.sleep(2)  # it comes to what the first one has locked
        installation.kill("one")
        stands("other")
        installation.kill("other")
        applied = everything(database_url)
        assert applied != before
        assert installation.manage("config", "apply", file) == "nothing to change\n"
        assert everything(database_url) == applied
        assert installation.manage("config", "export") == whole
    finally:
        installation.stop()

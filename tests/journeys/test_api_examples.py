"""The programs of examples/ call a real installation: web, worker and sandbox (docs/api.md)."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.api import EVERYTHING
from tests.processes import ROOT, Installation

pytestmark = [pytest.mark.processes, pytest.mark.once]
MAKE = (
    "import django; django.setup()\n"
    "from django.utils import timezone\n"
    "from crm_sync.api import tokens\n"
    "from crm_sync.models import Workspace\n"
    "home = Workspace.objects.get(slug='main')\n"
    f"print(tokens.issue(home, name='ERP', scopes={EVERYTHING!r}, now=timezone.now())[1])"
)


@pytest.fixture
def running(tmp_path: Path, database_url: str) -> Iterator[Installation]:
    made = Installation(tmp_path, database_url, DJANGO_SETTINGS_MODULE="config.settings")
    try:
        made.start_sandbox()
        made.start_web()
        made.manage(
            "add_workspace", "main", "--base-url", made.sandbox, "--token-env", "PLATFORM_TOKEN"
        )
        made.start_loop("worker")
        yield made
    finally:
        made.stop()


def test_both_example_programs_do_what_they_say(running):
    token = running.run("-c", MAKE).strip().splitlines()[-1]
    where = f"http://127.0.0.1:{running.web_port}/api/v1"
    environment = os.environ | {"CRM_API": where, "CRM_TOKEN": token}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )

    client = (sys.executable, "examples/api_client.py", "MH 2001", "--user", "AGENT-1")
    first = run(*client, "--product", "GROUND_PHOTO")
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout.startswith("MH 2001: IN_SYNC\norder ")
    (order,) = running.state()["orders"]
    shown = [f"  listed: order {order}", "  first change: property.in_sync"]
    assert first.stdout.splitlines()[2:] == shown
    assert run(*client, "--product", "GROUND_PHOTO").stdout == first.stdout
    assert len(running.state()["orders"]) == 1
    wrong = run(*client, "--product", "CASTLE")
    assert (wrong.returncode, wrong.stderr.partition(":")[0]) == (1, "422 key_reused")

    assert shutil.which("curl")
    done = run("sh", "examples/api.sh", "MH-2002")
    assert (done.returncode, done.stderr) == (0, "")
    said = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert [one.get("revision") for one in said[:2]] == [1, 2]
    assert [one["by"] for one in said[2]["items"]] == ["API: ERP", "API: ERP"]
    log = "".join(path.read_text() for path in running.folder.glob("*.log"))
    assert token not in log
    # A chunked body has no length, and a limit all the same; a large one with a length comes in.
    where, headers = f"{where}/properties/X", {"Authorization": f"Bearer {token}"}
    kind = {"Content-Type": "application/json"}
    huge = iter([b"[" + b" " * (2**18 - 1), b"]"])
    refused = requests.put(where, data=huge, headers=headers | kind, timeout=30)
    assert (refused.status_code, refused.json()["code"]) == (413, "too_large")
    large = {"description": "x" * 2**19}
    assert requests.put(where, json=large, headers=headers, timeout=30).status_code == 201

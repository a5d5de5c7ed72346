"""The first requests for the description of the API come at one moment, in a new process."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.processes import ROOT

PROGRAM = """
import json, threading
import django; django.setup()
from django.test import Client
found, barrier = [], threading.Barrier(8)
def ask():
    barrier.wait()
    client = Client(raise_request_exception=False, SERVER_NAME="localhost")
    found.append(client.get("/api/v1/schema/").status_code)
threads = [threading.Thread(target=ask) for _ in range(8)]
for one in threads: one.start()
for one in threads: one.join()
print(json.dumps(found))
"""


def test_whoever_asks_first_and_together_is_answered(tmp_path: Path):
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATA_DIR": str(tmp_path),
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert json.loads(done.stdout.splitlines()[-1]) == [200] * 8

"""The fixtures for integrators, and the example in docs/integrating.md, run as it stands there."""

import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from crm_sync.models import ReceivedEvent, Workspace
from crm_sync.webhook import sample_events
from tests.processes import ROOT


@pytest.mark.parametrize("kind", sample_events.KINDS)
@pytest.mark.parametrize("auth_type", ["HEADER", "BEARER_TOKEN", "QUERY_PARAMETER"])
def test_an_event_of_each_kind_is_applied(platform_workspace, platform_event, kind, auth_type):
    Workspace.objects.update(auth_type=auth_type)
    platform_workspace.refresh_from_db()
    received = platform_event(kind)
    assert (received.state, received.kind, received.source) == ("APPLIED", kind, "CALLBACK")
    assert ReceivedEvent.objects.get() == received


@pytest.mark.parametrize("auth_type", ["HEADER", "BEARER_TOKEN", "QUERY_PARAMETER"])
def test_a_secret_of_any_script_is_taken(platform_workspace, platform_event, auth_type):
    Workspace.objects.update(auth_type=auth_type, auth_secret="sécret-ключ-🔑")
    platform_workspace.refresh_from_db()
    assert platform_event("VISUALS_READY").state == "APPLIED"


def test_an_event_says_what_the_test_says_and_when(platform_event):
    at = datetime(2026, 1, 31, 10, tzinfo=UTC)
    received = platform_event("APPOINTMENT_DATE_UPDATED", at=at, scheduledAt=None, assignmentId="7")
    assert (received.occurred_at, received.effect) == (
        at,
        "order TRIAL-ORDER, assignment 7: appointment cleared",
    )
    again = platform_event("APPOINTMENT_DATE_UPDATED", at=at, scheduledAt=None, assignmentId="7")
    assert (again.state, again.effect) == (
        "DUPLICATE",
        f"the same as received event {received.pk}",
    )


def test_it_goes_to_the_workspace_that_is_named(platform_event):
    other = Workspace.objects.create(slug="other", base_url="http://x.test", auth_secret="s")
    assert platform_event("VISUALS_READY", workspace=other).workspace == other


def test_a_callback_that_is_refused_fails_the_test(platform_workspace, platform_event):
    platform_workspace.auth_secret = "another"
    with pytest.raises(AssertionError) as refused:
        platform_event("VISUALS_READY")
    assert str(refused.value).startswith('the callback was refused: b\'{"error":"not authenticated')
    with pytest.raises(sample_events.NoSuchKind):
        platform_event("ORDER_ARCHIVED")


def test_the_example_of_the_docs_runs(tmp_path: Path):
    text = (ROOT / "docs" / "integrating.md").read_text()
    files = re.findall(r"```python\n# (\w+\.py)\n(.*?)```", text, re.DOTALL)
    assert [name for name, _ in files] == ["conftest.py", "test_reports.py"]
    for name, code in files:
        (tmp_path / name).write_text(code)
    words = ("-q", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml"))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=ROOT,
        env=os.environ
        | {"DATABASE_URL": f"sqlite:///{tmp_path / 'db'}"},  # not the one in use here
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout

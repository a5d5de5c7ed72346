"""What must hold in the end, by the sandbox's state, the database and the audit."""

import json
import re
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from typing import Any

from crm_sync.sentence import Sentence
from tests.journeys.judge import differing
from tests.journeys.rows import ask
from tests.processes import ROOT, Installation

Document = dict[str, Any]
SHOWN = 5
HOLDERS = ("properties_property", "crm_sync_receivedevent", "crm_sync_slot")
UNSEEN = "Platform changed it after the preview"
ENTRY = re.compile(r"^(?=\d{4}-\d\d-\d\d )", re.MULTILINE)  # of a log
# Words that nobody should read there, but what Celery says of a broker that went away.
EXPECTED = "Couldn't ack"
BAD = ("Traceback", "database is locked", "too many connections", "MemoryError", "CRITICAL")


def properties(url: str, workspace: int, there: dict[str, Document]) -> list[str]:
    """Every field of every property is equal on both sides, and there is each once."""
    columns = "object_reference_id, platform_id, desired, problem"
    query = f"select {columns} from properties_property where workspace_id = {workspace}"
    rows = ask(url, query)
    wrong = []
    for reference, key, desired, problem in rows:
        if _document(problem):
            wrong.append(f"{reference} has a problem: {problem}")
        ours = _document(desired)
        if "id" in ours:  # a platform of the kind `odd` writes it as a number
            ours["id"] = str(ours["id"])
        if found := differing(ours, there.get(key, {})):
            wrong.append(f"{reference}: {'; '.join(found)}")
    references = Counter(one.get("objectReferenceId") for one in there.values())
    wrong += [f"{name} is there {n} times" for name, n in references.items() if name and n > 1]
    known = {key for _, key, _, _ in rows}
    wrong += [f"{key} is there and not here" for key in there.keys() - known]
    return wrong


def imports(url: str, workspace: int) -> list[str]:
    """Every record was imported, or refused for what the platform changed after the preview."""
    query = f"select name, state, report from properties_import where workspace_id = {workspace}"
    wrong = []
    for name, state, report in ask(url, query):
        refused = _document(report).get("refused", [])
        told = [(of, Sentence.of(text)) for _, of, texts in refused for text in texts]
        reasons = [(of, text) for of, text in told if UNSEEN not in text]
        wrong += [f"{name} ended {state}: {of}: {text}" for of, text in reasons]
        if state != "DONE" and not refused:
            wrong.append(f"{name} ended {state}: it refused no record")
    return wrong


def held(url: str, at: datetime) -> list[str]:
    """Nothing that was held at a moment is held by those who have ended since.

    What a worker that was killed held stays marked until somebody needs it: its lease is over.
    """
    until = f"lease_until > '{at.astimezone(UTC).isoformat(' ')}'"
    counts = {table: ask(url, f"select count(*) from {table} where {until}") for table in HOLDERS}
    return [
        f"{rows[0][0]} rows of {table} are held" for table, rows in counts.items() if rows[0][0]
    ]


def orders(url: str, workspace: int, state: Document) -> list[str]:
    """Every order and assignment stands as on the platform."""
    wrong = []
    kinds = (
        ("orders", "select platform_id, status, '' from orders_order"),
        (
            "assignments",
            "select platform_id, status, cast(estimated_delivery_date as text)"
            " from orders_assignment",
        ),
    )
    for kind, query in kinds:
        there = state[kind]
        here = {row[0]: row[1:] for row in ask(url, f"{query} where workspace_id = {workspace}")}
        wrong += [f"{kind} {key} is not here" for key in there.keys() - here.keys()]
        wrong += [f"{kind} {key} is not there" for key in here.keys() - there.keys()]
        for key in here.keys() & there.keys():
            theirs = (there[key]["status"], there[key].get("estimatedDeliveryAt") or "")
            ours = (here[key][0], here[key][1] or "")
            if ours != theirs:
                wrong.append(f"{kind} {key}: {ours} here, {theirs} there")
    return wrong


def events(url: str, workspace: int, kind: str, emitted: int) -> list[str]:
    """Each event of the kind had its effect once; a copy is a duplicate."""
    query = (
        "select count(*), count(distinct canonical_digest) from crm_sync_receivedevent"
        f" where workspace_id = {workspace} and kind = '{kind}' and state in ('APPLIED', 'STALE')"
    )
    count, distinct = ask(url, query)[0]
    wrong = []
    if distinct != emitted:
        wrong.append(f"{emitted} events {kind} were sent, {distinct} were applied")
    if count != distinct:
        wrong.append(f"{count - distinct} events {kind} were applied twice")
    return wrong


def audit(installation: Installation) -> list[str]:
    command = [sys.executable, "manage.py", "audit"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=installation.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return [] if done.returncode == 0 else [f"audit: {done.stdout}{done.stderr}"]


def logs(installation: Installation) -> list[str]:
    """What each process said first that nobody should read."""
    wrong = []
    for path in sorted(installation.folder.glob("*.log")):
        for entry in ENTRY.split(path.read_text(errors="replace")):
            if any(word in entry for word in BAD) and EXPECTED not in entry:
                wrong.append(f"{path.stem}: {entry.strip()}")
                break
    return wrong


def shortened(wrong: list[str]) -> list[str]:
    """The first few, and how many more."""
    more = [f"and {len(wrong) - SHOWN} more"] if len(wrong) > SHOWN else []
    return wrong[:SHOWN] + more


def _document(value: Any) -> Document:
    return json.loads(value) if isinstance(value, str) else value

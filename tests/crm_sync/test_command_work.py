"""manage.py work: the same turns with no broker at all (I12)."""

import json
from io import StringIO

import pytest
from django.core.management import call_command

from crm_sync.models import ReceivedEvent
from tests.crm_sync.test_events import PAYLOADS


def run(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


@pytest.mark.rule("I12")
def test_it_does_what_is_due_and_says_so(box, workspace):
    ReceivedEvent.objects.create(
        workspace=workspace, digest="1", body=b"?", due_at=workspace.created_at
    )
    body = json.dumps(PAYLOADS["MARKETING_MATERIALS_READY"] | {"event": "NEW"}).encode()
    ReceivedEvent.objects.create(
        workspace=workspace, digest="2", body=body, due_at=workspace.created_at
    )
    assert run("work") == "received_events: QUARANTINED 2\n"
    assert run("work") == "nothing is due\n"
    assert json.loads(run("work", "--json")) == {"done": []}
